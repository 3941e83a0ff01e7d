import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Nanoseconds } from '../../time.js'
import { mostTaking_ms } from '../../time-limit.js'
import { Fifo, type QueuedNotice } from '../queue/notice-list.js'
import type { OutboxNumber } from '../queue/outboxes.js'
import { type LargeNotices, onTheWay, type StreamLimits } from './stream-limits.js'
import type { StreamPosition } from './stream-position.js'

/** An event that can be sent, and what is said when it was. */
export interface ReadyEvent {
  readonly text: string
  /** It was handed to the client: it is logged and counted as an attempt. */
  readonly sent: (duration: Nanoseconds) => void
}

export interface NoticeStreamParts {
  readonly subscription: SubscriptionId
  /** By which it is told apart from all others since the start of the thread. */
  readonly serial: number
  readonly group: string | undefined
  readonly isExplicit: boolean
  readonly limits: StreamLimits
  readonly large: LargeNotices<NoticeStream>
  readonly steady_ms: () => number
  /** Whether more could be sent if some of what was sent before had arrived: all streams together have too much. */
  readonly isCrowded: () => boolean
  /** How many notices were sent on all streams, with the one that is sent now. */
  readonly ordinal: () => number
  /** The event of a notice; nothing when it can not be sent, in which case it has left. */
  readonly event: (notice: QueuedNotice, stream: NoticeStream) => ReadyEvent | undefined
  /** Sends events, of this many notices. */
  readonly post: (text: string, notices: number) => void
  /** A notice counts as arrived; `waited` from when it was made until it was sent. */
  readonly arrived: (notice: QueuedNotice, waited: Nanoseconds) => void
  /** Those that wait for the room of large notices may have it now. */
  readonly roomFreed: () => void
}

interface Posted extends Pick<ReadyEvent, 'sent'> {
  readonly notice: QueuedNotice
  readonly posted_ms: number
}

/** There may be very many of them: nothing is kept of what was sent but the notice. */
interface Taken {
  readonly notice: QueuedNotice
  /** When the client was handed it. */
  readonly taken_ms: number
}

/** Notices that may be meant for a stream before it can be sent them: as long as others of its group wait for them. */
const mostAhead = 128
/** While a client does not take what is next for so long, nothing that it was sent before counts as arrived. */
const stalled_ms = 5000

/**
 * The notices that were sent on one stream, in order, until they count as arrived: confirmed, or sent for long enough on a
 * stream that is still read.
 *
 *     assign ──▶ ahead ── event ──▶ posted ── took ──▶ taken ── confirmed, expired ──▶ arrived
 *                   └────────────────┴──────────────────┴────── close ──▶ they wait again
 *
 * Each goes on in a step of its own, see `step`: there may be very many of them.
 */
export class NoticeStream {
  /** For each outbox the number of the last notice that was sent; in a group of the last one only. */
  readonly position = new Map<OutboxNumber, NoticeNumber>()
  readonly #parts: NoticeStreamParts
  readonly #ahead = new Fifo<QueuedNotice>()
  readonly #posted = new Fifo<Posted>()
  readonly #taken = new Fifo<Taken>()
  #posted_bytes = 0
  #bytes = 0
  #confirmed: StreamPosition | undefined
  /** The first notices of those posted which the client was handed. */
  #handed = 0
  /** The events that are posted next, and of how many notices they are. */
  #text = ''
  #unposted = 0

  constructor(parts: NoticeStreamParts) {
    this.#parts = parts
  }

  get serial(): number {
    return this.#parts.serial
  }

  get group(): string | undefined {
    return this.#parts.group
  }

  /** Whether it takes another notice. */
  get hasRoom(): boolean {
    const { isExplicit, limits } = this.#parts
    if (this.#ahead.size >= mostAhead) return false
    return !isExplicit || (this.#size < limits.kept && this.#bytes < limits.kept_bytes)
  }

  /** Whether its client has taken too little of a large notice for too long: it holds room that others may wait for. */
  get isSlow(): boolean {
    const { first } = this.#posted
    if (first === undefined || this.#posted_bytes <= onTheWay.bytes) return false
    return this.#parts.steady_ms() - first.posted_ms > mostTaking_ms(this.#posted_bytes)
  }

  get #size(): number {
    return this.#ahead.size + this.#posted.size + this.#taken.size
  }

  /** Takes a notice behind those before it, which steps send. */
  assign(notice: QueuedNotice): void {
    this.#bytes += notice.size_bytes
    this.#ahead.push(notice)
  }

  /** The client was handed this many more notices, which steps note. */
  took(notices: number): void {
    this.#handed += notices
  }

  /** The client has everything up to a position, which arrives in steps; what it was not handed yet arrives when it is. */
  confirm(upTo: StreamPosition): void {
    this.#confirmed = upTo
  }

  /** Has one notice go on, what was sent first before others; false when none can. Afterwards `post` is called. */
  step(): boolean {
    return this.#take() || this.arrive() || this.#send()
  }

  /** Hands over what steps have sent. */
  post(): void {
    if (this.#unposted > 0) this.#parts.post(this.#text, this.#unposted)
    this.#text = ''
    this.#unposted = 0
  }

  /** Sends what is next if it may be on the way to the client. */
  #send(): boolean {
    const next = this.#ahead.first
    if (next === undefined || !this.#maySend(next)) return false
    this.#ahead.shift()
    if (this.group !== undefined) this.position.clear()
    this.position.set(next.outbox, next.number)
    next.stream = this.serial
    next.ordinal = this.#parts.ordinal()
    const event = this.#parts.event(next, this)
    if (event === undefined) this.#forget(next)
    else {
      this.#text += event.text
      this.#unposted += 1
      this.#posted_bytes += next.sent_bytes
      this.#posted.push({ notice: next, posted_ms: this.#parts.steady_ms(), sent: event.sent })
    }
    return true
  }

  #maySend({ sent_bytes }: QueuedNotice): boolean {
    if (this.#posted.size >= onTheWay.notices || this.#posted_bytes >= onTheWay.bytes) return false
    return this.#parts.large.take(this, sent_bytes)
  }

  #forget(notice: QueuedNotice): void {
    this.#bytes -= notice.size_bytes
    this.#giveRoom(notice)
  }

  #giveRoom({ sent_bytes }: QueuedNotice): void {
    const { large, roomFreed } = this.#parts
    large.give(sent_bytes)
    if (large.waiting.size > 0) roomFreed()
  }

  #take(): boolean {
    const sent = this.#handed > 0 ? this.#posted.shift() : undefined
    if (sent === undefined) {
      this.#handed = 0
      return false
    }
    this.#handed -= 1
    const { notice, posted_ms } = sent
    const now_ms = this.#parts.steady_ms()
    this.#posted_bytes -= notice.sent_bytes
    this.#giveRoom(notice)
    sent.sent(nanoseconds(now_ms - posted_ms))
    this.#taken.push({ notice, taken_ms: now_ms })
    return true
  }

  /** Has the notice that was sent first arrive if it can; false when it cannot. */
  arrive(): boolean {
    const { first } = this.#taken
    if (first === undefined || !this.#mayArrive(first)) return false
    const { notice, taken_ms } = first
    this.#taken.shift()
    this.#bytes -= notice.size_bytes
    this.#parts.arrived(notice, nanoseconds(taken_ms - notice.since_ms))
    return true
  }

  /** Whether a notice can arrive, as time passes. */
  get isDue(): boolean {
    const { first } = this.#taken
    return first !== undefined && this.#mayArrive(first)
  }

  /** What is confirmed arrives, what was sent for long enough, and what is too much to be kept. */
  #mayArrive({ notice, taken_ms }: Taken): boolean {
    if (this.#confirmed !== undefined && isCovered(notice, this.#confirmed)) return true
    const { isExplicit, limits, steady_ms, isCrowded } = this.#parts
    if (isExplicit) return false
    if (this.#size > limits.kept || this.#bytes > limits.kept_bytes) return true
    if (this.#ahead.size === 0 && isCrowded()) return true
    const now_ms = steady_ms()
    const isStalled = now_ms - (this.#posted.first?.posted_ms ?? now_ms) >= stalled_ms
    return !isStalled && now_ms - taken_ms >= limits.kept_ms
  }

  /** It is over: gives what has not arrived. */
  close(): readonly QueuedNotice[] {
    const left: QueuedNotice[] = []
    while (this.#take()); // What the client was handed counts as sent.
    this.#parts.large.leave(this)
    this.#parts.roomFreed()
    for (let sent = this.#taken.shift(); sent !== undefined; sent = this.#taken.shift()) left.push(sent.notice)
    for (let sent = this.#posted.shift(); sent !== undefined; sent = this.#posted.shift()) {
      this.#giveRoom(sent.notice)
      left.push(sent.notice)
    }
    for (let notice = this.#ahead.shift(); notice !== undefined; notice = this.#ahead.shift()) left.push(notice)
    return left
  }
}

/** Whether a notice is one of those that a possible position says were sent, of those that were sent on its stream. */
export function isCovered({ outbox, number, ordinal }: QueuedNotice, { ofGroup, sent }: StreamPosition): boolean {
  if (ofGroup === undefined) return number <= (sent.get(outbox) ?? -1)
  const [bound = -1] = ofGroup.values()
  return ordinal <= bound
}

function nanoseconds(duration_ms: number): Nanoseconds {
  return BigInt(Math.round(Math.max(0, duration_ms) * 1e6))
}
