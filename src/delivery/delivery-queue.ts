import type { AttemptResult } from '../measure/delivery-table.js'
import { advanceClock, lastNotified } from '../subscription/clocks.js'
import type { DeliveryStats, NoticeAck, NumberedNotice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds, Nanoseconds } from '../time.js'
import { DeliveryRecords } from './delivery-records.js'
import type { DeliveryState, KnownState, Recipient } from './message.js'
import type { QueuedNotice } from './notice-order.js'
import type { Accepted, Failed } from './outcome.js'
import { QueueTotals, type TotalsParts } from './queue-totals.js'
import { type BegunAttempt, ReceiverTurns } from './receiver-turns.js'
import { Recipients } from './recipients.js'
import type { SourceNumber } from './source.js'
import type { SubscriptionQueue, SubscriptionQueueParts } from './subscription-queue.js'

export interface DeliveryQueueParts extends Omit<SubscriptionQueueParts, 'ready'>, TotalsParts {
  /** Nothing is sent: a notice counts as accepted when it arrives. */
  readonly simulated: boolean
  /** A notice was counted as accepted without being sent. */
  readonly countSimulated: () => void
  /** Why a notice is too long to be sent to a recipient; undefined of any other notice. */
  readonly tooLong: (recipient: Recipient, source: SourceNumber, numbered: NumberedNotice) => string | undefined
  /** `next` may give something. */
  readonly ready: () => void
  /** `acks` may give something for this outbox. */
  readonly ackPending: (source: SourceNumber) => void
}

/**
 * All notices that wait or are under way, and what has become of others until that is on disk [subscriptions 5].
 *
 *     add ──▶ waiting ── next ──▶ under way ── accepted ───▶ accepted ───┐
 *              │   ▲                │ │  └──── unsendable ──▶ dropped ────┤
 *              │   └─── failed ─────┘ └─────── missing ─────▶ ended ──────┤
 *              │        (a pause)                                         │
 *              ├── a limit: add, check, sweep ──────────────▶ dropped ────┼─ acks ──▶ in a batch ── acked ──▶ on disk
 *              ├── add of a newer tick ─────────────────────▶ superseded ─┤
 *              ├── add, put while deliveries are simulated ─▶ accepted ───┤
 *              └── expire, sweep, end ──────────────────────▶ ended ──────┘
 *
 * A notice that is under way is not taken away by a limit; when its subscription expires or a newer tick is added it leaves
 * once its attempt has failed. Only `end` takes it away, and the end of its attempt then changes nothing.
 *
 * The parts: `SubscriptionQueue` has the order and the pauses of one subscription, with one notice of each ordering key under
 * way; `ReceiverTurns` shares the attempts among receivers; `QueueTotals` has the sums that limits are about;
 * `DeliveryRecords` has the delivery stats and the pending acks. Only the methods here change several of them.
 */
export class DeliveryQueue {
  readonly #parts: DeliveryQueueParts
  readonly #recipients: Recipients
  readonly #turns: ReceiverTurns
  readonly #totals: QueueTotals
  readonly #records: DeliveryRecords
  /** The queues with a barrier, which may be free when more of the outboxes is known. */
  readonly #barred = new Set<SubscriptionQueue>()
  /** Notices, by outbox and number, of which an attempt was made before the start. */
  #tried = new Set<string>()
  #started = false

  constructor(parts: DeliveryQueueParts) {
    this.#parts = parts
    const sources = parts.coordinator + 1
    this.#recipients = new Recipients({ ...parts, ready: (queue) => this.#offer(queue) }, parts.log)
    this.#turns = new ReceiverTurns(parts.limits)
    this.#totals = new QueueTotals(parts, sources)
    this.#records = new DeliveryRecords(sources, parts.ackPending)
  }

  /** The stats that an outbox holds at the start, after all subscriptions were put; those of unknown ones are removed. */
  restore(source: SourceNumber, stored: Iterable<readonly [SubscriptionId, DeliveryStats]>): void {
    for (const [id, stats] of stored) {
      this.#records.restore(id, source, stats)
      if (this.#recipients.known.has(id)) for (const number of stats.tried) this.#tried.add(`${source}-${number}`)
      else this.#records.ended(id, [])
    }
  }

  /** All that waits at the start was added: sets the clocks to the last notice of each subscription. */
  started(): void {
    this.#started = true
    this.#tried = new Set()
    for (const [id, { clock }] of this.#recipients.known) {
      const queue = this.#recipients.queue(id)
      // Most have never been notified.
      if (queue === undefined && !this.#records.has(id)) continue
      let latest: number = this.#records.merged(id).lastNotification ?? 0
      for (const { made } of queue?.order.notices() ?? []) latest = Math.max(latest, made)
      advanceClock(clock, latest)
    }
  }

  /** A subscription is new or was changed: pauses end, and so does a hold. */
  put(recipient: Recipient): void {
    const queue = this.#recipients.put(recipient)
    if (queue === undefined) return
    if (this.#parts.simulated) this.#removeWaiting(queue, 'simulated')
    this.#recipients.forgetIdle(queue)
  }

  /** Nothing of a subscription is begun until it is put; it need not be known yet. */
  hold(id: SubscriptionId): void {
    this.#recipients.hold(id)
  }

  /** A subscription has ended: all its notices leave, and its stats with them. */
  end(id: SubscriptionId): void {
    const queue = this.#recipients.end(id)
    const notices = [...(queue?.order.notices() ?? [])]
    if (queue !== undefined) {
      this.#totals.ended(queue, notices)
      this.#barred.delete(queue)
      queue.end()
    }
    for (const _ of notices) this.#parts.meter.left('ended')
    this.#records.ended(id, notices)
  }

  /** A subscription has expired: what waits leaves, and what is under way does unless it is accepted. */
  expire(id: SubscriptionId): void {
    const queue = this.#recipients.queue(id)
    if (queue !== undefined) this.#expire(queue)
  }

  /** A notice of an outbox has arrived; they come by their numbers. `since_ms` is when it was made, by the steady clock. */
  add(source: SourceNumber, numbered: NumberedNotice, since_ms: number): void {
    const { meter, simulated, limits } = this.#parts
    const { number, notice } = numbered
    if (this.#started) meter.stored(1)
    const queue = this.#recipients.queueOfNotice(notice.subscription, this.#started)
    if (queue === undefined) {
      if (this.#started) meter.left('ended')
      this.#records.ended(notice.subscription, [{ source, number }])
      return
    }
    const reason = queue.recipient && this.#parts.tooLong(queue.recipient, source, numbered)
    if (reason !== undefined) {
      this.#warnOfDrop(queue, reason)
      this.#left(queue, { source, number, made: notice.made }, 'dropped')
      return
    }
    const tried = this.#tried.size > 0 && this.#tried.has(`${source}-${number}`)
    const superseded = queue.add({ source, numbered, since_ms, tried })
    this.#totals.added(queue, { source, size_bytes: numbered.size_bytes })
    if (notice.after !== undefined) this.#barred.add(queue)
    this.#trace(queue, 'put into', source, number)
    if (superseded !== undefined) this.#remove(queue, superseded, 'ended')
    if (queue.depth > limits.queueMax) this.#dropOldest(queue, `${queue.depth} are waiting`)
    this.#totals.warnOfQueue(queue)
    if (simulated && queue.recipient !== undefined) this.#removeWaiting(queue, 'simulated')
    else this.#offer(queue)
  }

  /** Begins the next attempt, if anything can be sent now. It ends with one of the four methods that follow. */
  next(): BegunAttempt | undefined {
    return this.#turns.next()
  }

  /** The receiver has accepted the notice. */
  accepted(attempt: BegunAttempt, outcome: Accepted): void {
    this.#free(attempt)
    const { queue, notice } = attempt
    if (queue.ended) return
    const { clock } = this.#parts
    this.#records.attempted(queue.id, notice, outcome, clock.now())
    queue.dropWarned = false
    queue.done(notice)
    this.#departed(queue, notice, 'accepted', BigInt(Math.round((clock.steady_ms() - notice.since_ms) * 1e6)))
  }

  /** The attempt has failed: the notice waits again, unless its subscription has expired or a newer tick waits. */
  failed(attempt: BegunAttempt, outcome: Failed): void {
    this.#free(attempt)
    const { queue, notice } = attempt
    if (queue.ended) return
    this.#records.attempted(queue.id, notice, outcome, this.#parts.clock.now())
    if (queue.failed(notice, outcome)) this.#remove(queue, notice, 'ended')
  }

  /** Nothing was sent, because the notice can not be. */
  unsendable(attempt: BegunAttempt, reason: string): void {
    this.#free(attempt)
    const { queue, notice } = attempt
    if (queue.ended) return
    this.#warnOfDrop(queue, reason)
    queue.done(notice)
    this.#departed(queue, notice, 'dropped')
  }

  /** Nothing was sent, because the notice is not in its outbox any more. */
  missing(attempt: BegunAttempt): void {
    this.#free(attempt)
    const { queue, notice } = attempt
    if (queue.ended) return
    queue.done(notice)
    this.#departed(queue, notice, 'ended')
  }

  /** More of the outboxes is known: barriers may be free, and more may wait than is allowed. */
  check(): void {
    for (const queue of this.#barred) {
      if (queue.order.hasBarrier) queue.order.recheck()
      else this.#barred.delete(queue)
    }
    let largest: SubscriptionQueue | undefined
    for (let excess = this.#totals.excess; excess !== undefined; excess = this.#totals.excess) {
      if (largest !== undefined && this.#dropOldest(largest, excess)) continue
      largest = this.#totals.largest()
      if (largest === undefined) break
    }
    this.#totals.warnOfAll()
  }

  /** Drops what has waited too long, and what belongs to subscriptions that have expired; to be called often. */
  sweep(): void {
    const { clock, limits, meter } = this.#parts
    const at = clock.now()
    const at_ms = clock.steady_ms()
    const madeBy_ms = at_ms - limits.retention_ms
    const reason = `not accepted within ${limits.retention_ms / 1000} s`
    let oldest_ms: number | undefined
    for (const queue of this.#totals.filled) {
      if (queue.recipient !== undefined && queue.recipient.expires <= at) this.#expire(queue)
      while ((queue.order.oldest('waiting')?.since_ms ?? Number.POSITIVE_INFINITY) <= madeBy_ms) {
        this.#dropOldest(queue, reason)
      }
      const own_ms = queue.order.oldest('all')?.since_ms
      if (own_ms !== undefined) oldest_ms = Math.min(oldest_ms ?? own_ms, own_ms)
    }
    // As a date of the clock that whoever shows its age reads as well.
    meter.oldest(oldest_ms === undefined ? undefined : (Math.round(at - (at_ms - oldest_ms)) as Milliseconds))
  }

  /** Whether nothing is under way and nothing can be begun. */
  get isIdle(): boolean {
    return this.#turns.isIdle
  }

  /** How the deliveries go of these subscriptions, as far as they are known; of all without ids [subscriptions 5.7]. */
  states(ids: Iterable<SubscriptionId> = this.#recipients.known.keys()): readonly KnownState[] {
    return [...ids].flatMap((id) => {
      const recipient = this.#recipients.known.get(id)
      return recipient === undefined ? [] : [{ id, delivery: this.#state(recipient) }]
    })
  }

  /** The next batch of acks of an outbox, to be stored there; undefined while another one is, or if there is none. */
  acks(source: SourceNumber): readonly NoticeAck[] | undefined {
    return this.#records.acks(source)
  }

  /** The batch of an outbox is on disk; whether it has more acks. */
  acked(source: SourceNumber): boolean {
    return this.#records.acked(source)
  }

  /** Resolves when all acks are on disk: those of a subscription, or all. */
  allAcked(id?: SubscriptionId): Promise<void> {
    return this.#records.allAcked(id)
  }

  #state({ id, clock }: Recipient): DeliveryState {
    const queue = this.#recipients.queue(id)
    const nextAttempt = queue?.nextAttempt
    const oldest = queue?.order.oldest('all')
    const { lastNotification = 0, ...stats } = this.#records.merged(id)
    const latest = Math.max(lastNotification, lastNotified(clock))
    return {
      ...stats,
      ...(latest > 0 && { lastNotification: latest as Milliseconds }),
      queueDepth: queue?.depth ?? 0,
      queueBytes: queue?.bytes ?? 0,
      ...(oldest !== undefined && { oldestQueued: oldest.made }),
      ...(nextAttempt !== undefined && { nextAttempt }),
    }
  }

  #offer(queue: SubscriptionQueue): void {
    if (this.#turns.add(queue)) this.#parts.ready()
  }

  /** The attempt has ended, so that another one may begin. */
  #free(attempt: BegunAttempt): void {
    this.#turns.ended(attempt)
    this.#parts.ready()
  }

  #expire(queue: SubscriptionQueue): void {
    this.#removeWaiting(queue, 'ended')
    for (const notice of queue.order.notices()) notice.dropOnFailure = true
  }

  #dropOldest(queue: SubscriptionQueue, reason: string): boolean {
    const oldest = queue.order.oldest('waiting')
    if (oldest === undefined) return false
    this.#warnOfDrop(queue, reason)
    this.#remove(queue, oldest, 'dropped')
    return true
  }

  #removeWaiting(queue: SubscriptionQueue, result: 'ended' | 'simulated'): void {
    for (let first = queue.order.oldest('waiting'); first !== undefined; first = queue.order.oldest('waiting')) {
      this.#remove(queue, first, result)
      if (result === 'simulated') this.#parts.countSimulated()
    }
  }

  #remove(queue: SubscriptionQueue, notice: QueuedNotice, result: Exclude<AttemptResult, 'accepted'>): void {
    queue.remove(notice)
    this.#departed(queue, notice, result)
  }

  /** A notice is no longer in the queue of its subscription. */
  #departed(queue: SubscriptionQueue, notice: QueuedNotice, result: AttemptResult, waited?: Nanoseconds): void {
    this.#totals.removed(queue, notice)
    this.#left(queue, notice, result, waited)
  }

  #left(
    queue: SubscriptionQueue,
    notice: Pick<QueuedNotice, 'source' | 'number' | 'made'>,
    result: AttemptResult,
    waited?: Nanoseconds,
  ): void {
    this.#parts.meter.left(result, waited)
    if (result === 'simulated') this.#records.simulated(queue.id, notice)
    else this.#records.left(queue.id, notice, result === 'dropped')
    this.#trace(queue, result === 'dropped' ? 'rejected by' : 'taken from', notice.source, notice.number)
  }

  /** Every drop is counted, and warned of once per subscription until a delivery succeeds. */
  #warnOfDrop(queue: SubscriptionQueue, reason: string): void {
    if (queue.dropWarned) return
    queue.dropWarned = true
    const message = `notifications of subscription ${queue.id} are dropped: ${reason}`
    this.#parts.log.warn('notif:drop', message, { subscription: queue.id })
  }

  #trace(queue: SubscriptionQueue, done: string, source: SourceNumber, number: number): void {
    const { log } = this.#parts
    if (!log.isTraced('notify.queue')) return
    log.trace('notify.queue', `notification ${source}-${number} ${done} the queue of ${queue.id}: ${queue.depth} wait`)
  }
}
