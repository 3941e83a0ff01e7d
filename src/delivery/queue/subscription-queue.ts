import { type Provisional, verdictOn } from '../../model/subscription/decisions.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { streamReference } from '../../model/subscription/targets.js'
import { type Milliseconds, now } from '../../time.js'
import type { InspectedQueue, Recipient } from './courier-protocol.js'
import type { Arrived, KeyQueue, QueuedNotice, ReadNotice } from './notice-list.js'
import { isSuperseded, NoticeOrder, type OrderParts } from './notice-order.js'
import type { OutboxNumber } from './outboxes.js'
import type { Failed } from './outgoing.js'
import { type NoticeWindow, type TakenNotice, UnreadNotices } from './unread-notices.js'

/** The clocks and timers of a delivery queue. */
export interface QueueClock {
  readonly now: () => Milliseconds
  /** Steady milliseconds, for how long something has waited. */
  readonly steady_ms: () => number
  /** Calls back after a delay; gives what cancels that. */
  readonly later: (delay_ms: number, act: () => void) => () => void
}

export const systemClock: QueueClock = {
  now,
  steady_ms: () => performance.now(),
  later: (delay_ms, act) => {
    const timer = setTimeout(act, delay_ms).unref()
    return () => clearTimeout(timer)
  },
}

export interface SubscriptionQueueParts extends OrderParts {
  /** Shared by all subscriptions. */
  readonly window: NoticeWindow
  /** Reads a notice of an outbox again; undefined when it cannot be read. */
  readonly reread: (outbox: OutboxNumber, number: NoticeNumber) => ReadNotice | undefined
  /** Whether an attempt at a notice was made. */
  readonly isTried: (id: SubscriptionId, outbox: OutboxNumber, number: NoticeNumber) => boolean
  /** How long to pause after this many failures in a row. */
  readonly pause_ms: (failures: number, retryAfter_ms: number) => number
  readonly clock: QueueClock
  /** Something may be sent now that could not be sent before. */
  readonly ready: (queue: SubscriptionQueue) => void
  /** Some of its notices wait until an outbox is open. */
  readonly shut: (queue: SubscriptionQueue, outbox: OutboxNumber) => void
}

/**
 * The notices of one subscription: their order, and the pauses after failures [subscriptions 5.4]. When the receiver is in
 * trouble the subscription pauses; when it refuses a notice only the ordering key does. After a pause of the subscription
 * one notice is tried, the probe, and the others follow when it is accepted.
 *
 * What waits is in memory up to what the window leaves to one, the oldest first; of the others the numbers are kept, and they are read again
 * when there is room:
 *
 *     add ──▶ unread ── there is room, none of the outbox waits, or nothing that was read can go ──▶ in the order
 *         └──────────── there is room, and nothing of the outbox is unread ──────────────────────────────▲
 *
 * What was sent to listeners is in memory until it is confirmed, up to a share of the subscription, and beyond it while there is room
 * for all subscriptions. When a listener leaves, what finds no room in the window is unread again.
 */
export class SubscriptionQueue {
  readonly id: SubscriptionId
  /** Undefined before the subscription is known, and after its end. */
  recipient: Recipient | undefined
  /** Its notices arrived before the subscription was known. */
  isUnknown = false
  /** Begins nothing until the subscription is put. */
  onHold = false
  /** Notices that wait or are under way, and their bytes. */
  depth = 0
  bytes = 0
  /** The subscription has ended: the outcome of an attempt under way is ignored. */
  ended = false
  /** A drop was warned of since the last acceptance. */
  dropWarned = false
  readonly watermark = new Watermark()
  readonly order: NoticeOrder
  readonly #unread = new UnreadNotices()
  /** Cancels the reading of more after others had their turn. */
  #readingOn: (() => void) | undefined
  /** How many of those that were sent to listeners should arrive soon, to make room for others. */
  #toShed = 0
  /** Some of those unread were made while a change was undecided. */
  #hasProvisionalUnread = false
  readonly #parts: SubscriptionQueueParts
  readonly #resume = (): void => this.#parts.ready(this)
  /** Attempts in a row that met trouble. */
  #failures = 0
  #pause: { readonly until: Milliseconds; readonly end: () => void } | undefined
  /** A pause has begun since the last acceptance: one notice goes alone. */
  #probing = false
  #probe: QueuedNotice | undefined
  /**
   * Incremented with each pause and each change of the subscription: a failure of an attempt that began in an earlier epoch does not
   * count as one more in a row.
   */
  #epoch = 0

  constructor(id: SubscriptionId, parts: SubscriptionQueueParts) {
    this.id = id
    this.#parts = parts
    this.order = new NoticeOrder(id, parts, {
      released: () => parts.ready(this),
      shut: (outbox) => parts.shut(this, outbox),
    })
  }

  /** Adds a notice behind all others; returns the tick that it supersedes. */
  add(arrived: Arrived): QueuedNotice | undefined {
    const { outbox, numbered, since_ms } = arrived
    const { number, size_bytes, notice } = numbered
    this.depth += 1
    this.bytes += size_bytes
    if (this.#isLeftUnread(outbox, notice)) {
      this.#unread.add({ outbox, number, made: notice.made }, { size_bytes, since_ms })
      if (notice.provisional !== undefined) this.#hasProvisionalUnread = true
      this.#refill(outbox)
      return undefined
    }
    this.#parts.window.held += 1
    return this.order.add(arrived)
  }

  /** Barriers and ticks are few, and are held: others are held back by them, or superseded. */
  #isLeftUnread(outbox: OutboxNumber, { orderingKey, after }: Arrived['numbered']['notice']): boolean {
    if (after !== undefined || orderingKey.kind === 'tick' || orderingKey.kind === 'initial') return false
    return this.#unread.first(outbox) !== undefined || !this.#hasRoom
  }

  /** Notices in the window: not only on disk, and not sent to listeners. */
  get #held(): number {
    return this.depth - this.#unread.size - this.order.streamed
  }

  get #hasRoom(): boolean {
    const { window } = this.#parts
    return window.hasRoom && this.#held < window.mostOfOne
  }

  /** Reads what there is room for; at least one of each outbox waits here while any does, so that its oldest is known. */
  #refill(outbox: OutboxNumber): void {
    for (let first = this.#unread.first(outbox); first !== undefined; first = this.#unread.first(outbox)) {
      if (!this.#hasRoom && this.order.hasWaitingBefore(outbox, first)) return
      this.#readNext(outbox)
    }
  }

  #refillAll(): void {
    for (const outbox of this.#unread.outboxes) this.#refill(outbox)
  }

  /** Nothing that was read can go, as its keys pause or have one under way: reads on for another key while the window has room. */
  #readOn(): void {
    const { window, clock, ready } = this.#parts
    let read = 0
    for (const outbox of this.#unread.outboxes) {
      while (!this.order.hasReady && this.#unread.first(outbox) !== undefined) {
        if (!window.hasRoom && this.#held >= window.share) return
        if (read === readAtOnce) {
          this.#readingOn ??= clock.later(0, () => {
            this.#readingOn = undefined
            ready(this)
          })
          return
        }
        this.#readNext(outbox)
        read += 1
      }
    }
  }

  #readNext(outbox: OutboxNumber): void {
    const { reread, window, isTried, clock } = this.#parts
    const number = this.#unread.first(outbox)
    if (number === undefined) return
    const read = reread(outbox, number)
    const found = read && { size_bytes: read.numbered.size_bytes, since_ms: read.since_ms }
    const next = this.#unread.shift(outbox, found)
    if (next === undefined) return
    // One that cannot be read is found out when it is to be sent.
    const numbered = read?.numbered ?? unreadable(next)
    const since_ms = read === undefined ? clock.steady_ms() : next.since_ms
    const tried = isTried(this.id, outbox, number)
    window.held += 1
    this.order.add({ outbox, numbered: { ...numbered, size_bytes: next.size_bytes }, since_ms, tried })
  }

  /** Whether there may be something to send now; reads on where what was read cannot go. */
  mayBegin(): boolean {
    if (this.#pause !== undefined || !this.isOpen) return false
    if (this.#probing && this.#probe !== undefined) return false
    if (!this.order.hasReady && !this.order.isStreamed) this.#readOn()
    return this.order.hasReady
  }

  /** Whether its subscription wants notifications now. */
  get isOpen(): boolean {
    if (this.recipient === undefined || this.onHold || this.recipient.terms?.paused) return false
    return this.recipient.expires > this.#parts.clock.now()
  }

  /** Whether what waits is not for the courier to send now: the subscription is inactive, or its listeners take it. */
  get isWithheld(): boolean {
    return this.order.isStreamed || this.recipient?.terms?.paused === true
  }

  /** The next notice to send, which is under way from now on. */
  begin(): QueuedNotice | undefined {
    const notice = this.#next()
    if (notice === undefined) return undefined
    this.#refill(notice.outbox)
    notice.epoch = this.#epoch
    if (this.#probing) this.#probe = notice
    return notice
  }

  #next(): QueuedNotice | undefined {
    // What is ready may turn out to have nothing to send.
    while (this.mayBegin()) {
      const notice = this.order.begin()
      if (notice !== undefined) return notice
    }
    return undefined
  }

  /** The next notice for a listener that may go, see `NoticeOrder`, if there is room for one more that is not confirmed. */
  stream(mayGo: (notice: QueuedNotice) => boolean): QueuedNotice | undefined {
    const { window } = this.#parts
    this.#toShed = 0
    if (this.order.streamed >= window.streamShare && !window.hasStreamRoom) {
      if (this.#held > 0) this.#crowd()
      return undefined
    }
    const notice = this.order.stream(mayGo)
    if (notice === undefined) return undefined
    window.held -= 1
    window.streamed += 1
    this.#refill(notice.outbox)
    return notice
  }

  /** There is no room for what listeners could be sent. */
  #crowd(): void {
    const { window } = this.#parts
    // A part of what it has, so that those with most make most room; half of its share, so that several can be sent at once.
    this.#toShed = Math.max(this.order.streamed >> 2, (window.streamShare + 1) >> 1)
    window.crowded.add(this.#resume)
  }

  /** Whether something waits for room that those may give which a listener was sent and need not confirm. */
  get isCrowded(): boolean {
    return this.#toShed > 0
  }

  /** What a listener was sent and has not confirmed waits again; what is too much for the window is only on disk again. */
  putBackStreamed(notices: readonly QueuedNotice[]): void {
    const { window, coordinator } = this.#parts
    window.streamed -= notices.length
    window.held += notices.length
    this.order.putBackStreamed(notices)
    for (const outbox of new Set(notices.map((notice) => notice.outbox))) {
      // The notices of the coordinator are few, and are held.
      if (outbox === coordinator || window.excess === 0) continue
      const taken = this.order.takeLast(outbox, window.excess)
      window.held -= taken.length
      this.#unread.putBefore(outbox, taken)
      if (taken.some(({ provisional }) => provisional !== undefined)) this.#hasProvisionalUnread = true
      this.#refill(outbox)
    }
  }

  /** A notice that was under way was accepted: it leaves, and failures are forgotten. */
  accepted(notice: QueuedNotice): void {
    this.#failures = 0
    notice.keyQueue.failures = 0
    if (notice.epoch === this.#epoch) this.#probing = false
    this.remove(notice)
    this.#parts.ready(this)
  }

  /** An attempt failed: the notice waits again, first of its key, and a pause begins. True when it is to be dropped now. */
  failed(notice: QueuedNotice, { kind, retryAfter_ms = 0 }: Failed): boolean {
    const { keyQueue, epoch } = notice
    const newer = keyQueue.waiting.first
    const drops = notice.dropOnFailure || (newer !== undefined && isSuperseded(notice, newer.made))
    if (this.#probe === notice) this.#probe = undefined
    this.order.putBack(notice)
    const current = epoch === this.#epoch
    if (kind === 'trouble' && current) this.#pauseAll(retryAfter_ms)
    if (kind === 'refused' && (current || this.#pause !== undefined)) this.#pauseKey(keyQueue, retryAfter_ms)
    // Behind the other keys: the first one after the pause should not always be the same.
    this.order.offer(keyQueue)
    this.#parts.ready(this)
    return drops
  }

  /** A notice leaves for good: it was under way, or it is the first of its key that waits. */
  remove(notice: QueuedNotice): void {
    this.depth -= 1
    this.bytes -= notice.size_bytes
    const wasStreamed = notice.state === 'streamed'
    if (wasStreamed) {
      this.#parts.window.streamed -= 1
      this.#toShed = Math.max(0, this.#toShed - 1)
    } else this.#parts.window.held -= 1
    if (this.#probe === notice) this.#probe = undefined
    this.order.remove(notice)
    this.#refill(notice.outbox)
    if (this.#unread.size > 0 || wasStreamed) this.#parts.ready(this)
  }

  /** Removes the notices of an outbox; gives how many there were, and their bytes. */
  forget(outbox: OutboxNumber): { readonly depth: number; readonly bytes: number } {
    const unread = this.#unread.forget(outbox)
    const forgotten = this.order.forget(outbox)
    this.#parts.window.held -= forgotten.length
    const depth = unread.depth + forgotten.length
    const bytes = forgotten.reduce((sum, { size_bytes }) => sum + size_bytes, unread.bytes)
    this.depth -= depth
    this.bytes -= bytes
    if (this.#probe?.state === 'left') this.#probe = undefined
    this.#parts.ready(this)
    return { depth, bytes }
  }

  /** Removes what is on disk only. */
  takeUnread(): Generator<TakenNotice> {
    return this.#taking(this.#unread.takeAll())
  }

  /** Removes what is on disk only of an outbox, up to a number. */
  takeUnreadUpTo(outbox: OutboxNumber, number: NoticeNumber): Generator<TakenNotice> {
    return this.#taking(this.#unread.takeUpTo(outbox, number))
  }

  *#taking(unread: Iterable<TakenNotice>): Generator<TakenNotice> {
    for (const notice of unread) {
      this.depth -= 1
      this.bytes -= notice.size_bytes
      yield notice
    }
  }

  /** The subscription is new or was changed: failures are forgotten, what waits starts at once. */
  put(recipient: Recipient): void {
    this.recipient = recipient
    this.order.isStreamed = recipient.reference === streamReference
    this.onHold = false
    this.#failures = 0
    this.#epoch += 1
    this.#probing = false
    this.#endPauses()
    this.#parts.ready(this)
  }

  verdictOn(provisional: Provisional | undefined): ReturnType<typeof verdictOn> {
    if (provisional === undefined) return 'valid'
    return this.recipient === undefined ? 'undecided' : verdictOn(provisional, this.recipient.decisions, this.onHold)
  }

  /** Removes and returns the notices that are void, now that more was decided. */
  takeVoid(): readonly QueuedNotice[] {
    if (this.#hasProvisionalUnread) {
      this.#hasProvisionalUnread = false
      for (const outbox of this.#unread.outboxes)
        while (this.#unread.first(outbox) !== undefined) this.#readNext(outbox)
    }
    const taken = this.order.takeWaiting(({ provisional }) => this.verdictOn(provisional) === 'void')
    for (const { size_bytes } of taken) this.bytes -= size_bytes
    this.depth -= taken.length
    this.#parts.window.held -= taken.length
    this.#refillAll()
    return taken
  }

  end(): void {
    const { window } = this.#parts
    window.held -= this.#held
    window.streamed -= this.order.streamed
    window.crowded.delete(this.#resume)
    this.#readingOn?.()
    this.ended = true
    this.recipient = undefined
    this.#pause?.end()
    for (const { endPause } of this.order.keyQueues) endPause?.()
  }

  get state(): InspectedQueue['state'] {
    if (this.onHold) return 'on hold'
    if (this.recipient?.terms?.paused) return 'inactive'
    if (this.#pause !== undefined) return 'pausing after a failure'
    return this.depth === 0 ? 'idle' : 'sending'
  }

  /** When the pause of the subscription ends, if it pauses. */
  get nextAttempt(): Milliseconds | undefined {
    return this.#pause?.until
  }

  #pauseAll(retryAfter_ms: number): void {
    this.#failures += 1
    this.#epoch += 1
    this.#probing = true
    const { clock, pause_ms } = this.#parts
    const delay_ms = pause_ms(this.#failures, retryAfter_ms)
    const until = (clock.now() + Math.round(delay_ms)) as Milliseconds
    const end = clock.later(delay_ms, () => {
      this.#pause = undefined
      this.#parts.ready(this)
    })
    this.#pause = { until, end }
  }

  #pauseKey(keyQueue: KeyQueue, retryAfter_ms: number): void {
    keyQueue.failures += 1
    const delay_ms = this.#parts.pause_ms(keyQueue.failures, retryAfter_ms)
    keyQueue.endPause = this.#parts.clock.later(delay_ms, () => {
      keyQueue.endPause = undefined
      this.order.offer(keyQueue)
      this.order.forgetIdle(keyQueue)
      this.#parts.ready(this)
    })
  }

  #endPauses(): void {
    this.#pause?.end()
    this.#pause = undefined
    for (const keyQueue of this.order.keyQueues) {
      keyQueue.failures = 0
      keyQueue.endPause?.()
      keyQueue.endPause = undefined
      this.order.offer(keyQueue)
    }
  }
}

/** Notices that are read without letting others run: some milliseconds. */
const readAtOnce = 256

/** Stands for the head of a notice that cannot be read: it waits alone. */
function unreadable({ outbox, number, made, size_bytes }: TakenNotice): ReadNotice['numbered'] {
  const orderingKey = { kind: 'entity', key: `unreadable ${outbox} ${number}` } as const
  return { number, size_bytes, body_bytes: undefined, notice: { orderingKey, made } }
}

/** The bounds of the pauses between attempts [subscriptions 5.4]. */
interface PauseLimits {
  readonly min_ms: number
  readonly max_ms: number
}

/** How far a pause is varied at random, either way. */
const spread = 0.2

/**
 * The pause after the n-th failure in a row: doubling from the shortest to the longest, varied at random so that many
 * subscriptions do not come back at once; a receiver may ask for a longer one, up to the longest [subscriptions 5.4].
 * `chance` is in [0, 1).
 */
export function pauseAfter(failures: number, limits: PauseLimits, retryAfter_ms: number, chance: number): number {
  const doubled = Math.min(limits.max_ms, limits.min_ms * 2 ** (failures - 1))
  const varied = doubled * (1 - spread + 2 * spread * chance)
  return Math.max(varied, Math.min(retryAfter_ms, limits.max_ms))
}

/** Tells once that something is nearly full, and again only after it was less than half full. */
export class Watermark {
  #told = false

  /** Whether it is to be told now: more than 80 % of the limit is taken. */
  passed(taken: number, limit: number): boolean {
    if (taken * 2 < limit) this.#told = false
    if (this.#told || taken * 5 <= limit * 4) return false
    this.#told = true
    return true
  }
}
