import type { Log } from '../log/log.js'
import type { AttemptResult, DeliveryMeter } from '../measure/delivery-figures.js'
import type { Nanoseconds } from '../time.js'
import type { DeliveryRecords } from './delivery-records.js'
import type { QueuedNotice } from './notice-list.js'
import type { SourceNumber } from './outboxes.js'
import type { Recipients } from './recipients.js'
import type { SubscriptionQueue } from './subscription-queue.js'

export interface DepartureParts {
  readonly meter: DeliveryMeter
  readonly log: Log
  /** A notice was counted as accepted without being sent. */
  readonly countSimulated: () => void
}

/** How notices leave the delivery queue: with each one the totals, the delivery stats and the pending acks change. */
export class Departures {
  readonly #parts: DepartureParts
  readonly #recipients: Recipients
  readonly #records: DeliveryRecords

  constructor(parts: DepartureParts, recipients: Recipients, records: DeliveryRecords) {
    this.#parts = parts
    this.#recipients = recipients
    this.#records = records
  }

  /** A subscription has expired: what waits leaves, and what is under way does unless it is accepted. */
  expire(queue: SubscriptionQueue): void {
    this.removeWaiting(queue, 'ended')
    for (const notice of queue.order.notices()) notice.dropOnFailure = true
  }

  /** Drops the oldest notice that waits, for a reason; false when none waits. */
  dropOldest(queue: SubscriptionQueue, reason: string): boolean {
    const oldest = queue.order.oldest('waiting')
    if (oldest === undefined) return false
    this.warnOfDrop(queue, reason)
    this.remove(queue, oldest, 'dropped')
    return true
  }

  /** Drops the oldest of the largest queues until no more waits in all than is allowed; warns when it is nearly as much. */
  dropExcess(): void {
    let largest: SubscriptionQueue | undefined
    for (let excess = this.#recipients.excess; excess !== undefined; excess = this.#recipients.excess) {
      if (largest !== undefined && this.dropOldest(largest, excess)) continue
      largest = this.#recipients.largest()
      if (largest === undefined) break
    }
    this.#recipients.warnOfAll()
  }

  /** All that waits leaves. */
  removeWaiting(queue: SubscriptionQueue, result: 'ended' | 'simulated'): void {
    for (let first = queue.order.oldest('waiting'); first !== undefined; first = queue.order.oldest('waiting')) {
      this.remove(queue, first, result)
      if (result === 'simulated') this.#parts.countSimulated()
    }
  }

  /** A notice is taken out of its queue. */
  remove(queue: SubscriptionQueue, notice: QueuedNotice, result: Exclude<AttemptResult, 'accepted'>): void {
    queue.remove(notice)
    this.departed(queue, notice, result)
  }

  /** A notice is no longer in the queue of its subscription. */
  departed(queue: SubscriptionQueue, notice: QueuedNotice, result: AttemptResult, waited?: Nanoseconds): void {
    this.#recipients.removed(queue, notice)
    this.left(queue, notice, result, waited)
  }

  /** A notice leaves its outbox; it may never have been in a queue. */
  left(
    queue: SubscriptionQueue,
    notice: Pick<QueuedNotice, 'source' | 'number' | 'made'>,
    result: AttemptResult,
    waited?: Nanoseconds,
  ): void {
    this.#parts.meter.left(result, waited)
    if (result === 'simulated') this.#records.simulated(queue.id, notice)
    else this.#records.left(queue.id, notice, result === 'dropped')
    this.trace(queue, result === 'dropped' ? 'rejected by' : 'taken from', notice.source, notice.number)
  }

  /** A notice is void: nothing is to tell of it. It may never have been in a queue. */
  voided(queue: SubscriptionQueue, notice: Pick<QueuedNotice, 'source' | 'number'>): void {
    this.#parts.meter.left('ended')
    this.#records.voided(queue.id, notice)
    this.trace(queue, 'void in', notice.source, notice.number)
  }

  /** Those that are void now leave their queue. */
  removeVoid(queue: SubscriptionQueue): void {
    for (const notice of queue.takeVoid()) {
      this.#recipients.removed(queue, notice)
      this.voided(queue, notice)
    }
  }

  /** Every drop is counted, and warned of once per subscription until a delivery succeeds. */
  warnOfDrop(queue: SubscriptionQueue, reason: string): void {
    if (queue.dropWarned) return
    queue.dropWarned = true
    const message = `notifications of subscription ${queue.id} are dropped: ${reason}`
    this.#parts.log.warn('notif:drop', message, { subscription: queue.id })
  }

  /** A notice was put into a queue or has left it. */
  trace(queue: SubscriptionQueue, done: string, source: SourceNumber, number: number): void {
    const { log } = this.#parts
    if (!log.isTraced('notify.queue')) return
    log.trace('notify.queue', `notification ${source}-${number} ${done} the queue of ${queue.id}: ${queue.depth} wait`)
  }
}
