import { type Provisional, verdictOn } from '../../model/subscription/decisions.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { streamReference } from '../../model/subscription/targets.js'
import { type Milliseconds, now } from '../../time.js'
import type { InspectedQueue, Recipient } from './courier-protocol.js'
import type { Arrived, KeyQueue, QueuedNotice } from './notice-list.js'
import { isSuperseded, NoticeOrder, type OrderParts } from './notice-order.js'
import type { OutboxNumber } from './outboxes.js'
import type { Failed } from './outgoing.js'

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
  /** How long to pause after this many failures in a row. */
  readonly pause_ms: (failures: number, retryAfter_ms: number) => number
  readonly clock: QueueClock
  /** Something may be sent now that could not be sent before. */
  readonly ready: (queue: SubscriptionQueue) => void
}

/**
 * The notices of one subscription: their order, and the pauses after failures [subscriptions 5.4]. When the receiver is in
 * trouble the subscription pauses; when it refuses a notice only the ordering key does. After a pause of the subscription
 * one notice is tried, the probe, and the others follow when it is accepted.
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
  readonly #parts: SubscriptionQueueParts
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
    this.order = new NoticeOrder(id, parts, () => parts.ready(this))
  }

  /** Adds a notice behind all others; returns the tick that it supersedes. */
  add(arrived: Arrived): QueuedNotice | undefined {
    this.depth += 1
    this.bytes += arrived.numbered.size_bytes
    return this.order.add(arrived)
  }

  /** Whether there may be something to send now. */
  get mayBegin(): boolean {
    if (!this.order.hasReady || this.#pause !== undefined) return false
    if (this.#probing && this.#probe !== undefined) return false
    return this.isOpen
  }

  /** Whether its subscription wants notifications now. */
  get isOpen(): boolean {
    if (this.recipient === undefined || this.onHold || this.recipient.terms?.paused) return false
    return this.recipient.expires > this.#parts.clock.now()
  }

  /** The next notice to send, which is under way from now on. */
  begin(): QueuedNotice | undefined {
    const notice = this.mayBegin ? this.order.begin() : undefined
    if (notice === undefined) return undefined
    notice.epoch = this.#epoch
    if (this.#probing) this.#probe = notice
    return notice
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
    if (this.#probe === notice) this.#probe = undefined
    this.order.remove(notice)
  }

  /** Removes and returns the notices of an outbox. */
  forget(outbox: OutboxNumber): readonly QueuedNotice[] {
    const forgotten = this.order.forget(outbox)
    for (const { size_bytes } of forgotten) this.bytes -= size_bytes
    this.depth -= forgotten.length
    if (this.#probe?.state === 'left') this.#probe = undefined
    this.#parts.ready(this)
    return forgotten
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
    const taken = this.order.takeWaiting(({ provisional }) => this.verdictOn(provisional) === 'void')
    for (const { size_bytes } of taken) this.bytes -= size_bytes
    this.depth -= taken.length
    return taken
  }

  end(): void {
    this.ended = true
    this.recipient = undefined
    this.#endPauses()
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
