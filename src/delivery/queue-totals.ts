import type { Log } from '../log/log.js'
import type { DeliveryMeter } from '../measure/delivery-figures.js'
import type { QueuedNotice } from './notice-list.js'
import type { ReceiverLimits } from './receiver-turns.js'
import { type SubscriptionQueue, Watermark } from './subscription-queue.js'

/** How much may wait, and how long [subscriptions 5.5]. */
export interface QueueLimits extends ReceiverLimits {
  readonly retention_ms: number
  /** Notifications that wait per subscription. */
  readonly queueMax: number
  /** In all. Each notice that waits takes memory, however small it is, so that their number is bounded too. */
  readonly bytesMax: number
  readonly noticesMax: number
}

export interface TotalsParts {
  readonly limits: QueueLimits
  readonly meter: DeliveryMeter
  readonly log: Log
}

type Counted = Pick<QueuedNotice, 'source' | 'size_bytes'>

/** The number and the bytes of the notices that wait or are under way, over all subscriptions and by outbox. */
export class QueueTotals {
  readonly #parts: TotalsParts
  /** The queues that are not empty. */
  readonly #filled = new Set<SubscriptionQueue>()
  readonly #bySource: { depth: number; bytes: number }[]
  readonly #watermark = new Watermark()
  #depth = 0
  #bytes = 0

  constructor(parts: TotalsParts, sources: number) {
    this.#parts = parts
    this.#bySource = Array.from({ length: sources }, () => ({ depth: 0, bytes: 0 }))
  }

  /** The queues that are not empty; those that become empty meanwhile are left out. */
  get filled(): Iterable<SubscriptionQueue> {
    return this.#filled
  }

  /** A notice has joined a queue. */
  added(queue: SubscriptionQueue, notice: Counted): void {
    this.#filled.add(queue)
    this.#count(notice, 1)
  }

  /** A notice has left a queue. */
  removed(queue: SubscriptionQueue, notice: Counted): void {
    if (queue.depth === 0) this.#filled.delete(queue)
    this.#count(notice, -1)
  }

  /** A subscription has ended, with these notices in its queue. */
  ended(queue: SubscriptionQueue, notices: readonly Counted[]): void {
    this.#filled.delete(queue)
    for (const notice of notices) this.#count(notice, -1)
  }

  /** Why something has to be dropped; undefined while no more waits than is allowed. */
  get excess(): string | undefined {
    const { bytesMax, noticesMax } = this.#parts.limits
    if (this.#bytes <= bytesMax && this.#depth <= noticesMax) return undefined
    return `${this.#depth} wait in all, of ${this.#bytes} bytes`
  }

  /** The subscription with the most bytes of those that have a notice which is not under way. */
  largest(): SubscriptionQueue | undefined {
    let largest: SubscriptionQueue | undefined
    for (const queue of this.#filled) {
      if (queue.bytes > (largest?.bytes ?? 0) && queue.order.oldest('waiting') !== undefined) largest = queue
    }
    return largest
  }

  /** Warns once when the queue of a subscription is nearly full. */
  warnOfQueue({ id, depth, watermark }: SubscriptionQueue): void {
    if (!watermark.passed(depth, this.#parts.limits.queueMax)) return
    const message = `the queue of subscription ${id} is nearly full: ${depth} notifications wait`
    this.#parts.log.warn('notif:queue', message, { waiting: depth })
  }

  /** Warns once when the space for all is nearly full. */
  warnOfAll(): void {
    const { bytesMax, noticesMax } = this.#parts.limits
    if (!this.#watermark.passed(Math.max(this.#bytes / bytesMax, this.#depth / noticesMax), 1)) return
    const message = `the space for notifications is nearly full: ${this.#depth} wait, of ${this.#bytes} bytes`
    this.#parts.log.warn('notif:queue', message, { waiting: this.#depth, bytes: this.#bytes })
  }

  #count({ source, size_bytes }: Counted, sign: 1 | -1): void {
    this.#depth += sign
    this.#bytes += sign * size_bytes
    const own = this.#bySource[source]
    if (own === undefined) return
    own.depth += sign
    own.bytes += sign * size_bytes
    this.#parts.meter.queue(source, own.depth, own.bytes)
  }
}
