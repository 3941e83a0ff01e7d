import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Log } from '../../observe/log/log.js'
import type { DeliveryMeter } from '../../observe/measure/delivery-figures.js'
import type { Recipient } from './courier-protocol.js'
import type { QueuedNotice } from './notice-list.js'
import type { OutboxNumber } from './outboxes.js'
import type { ReceiverLimits } from './receiver-turns.js'
import { SubscriptionQueue, type SubscriptionQueueParts, Watermark } from './subscription-queue.js'
import { NoticeWindow, type WindowLimits } from './unread-notices.js'

/** How much may wait, and how long [subscriptions 5.5]. */
export interface QueueLimits extends ReceiverLimits {
  readonly retention_ms: number
  /** Notifications that wait per subscription. */
  readonly queueMax: number
  /** In all. Each notice that waits takes memory, however small it is, so that their number is bounded too. */
  readonly bytesMax: number
  readonly noticesMax: number
  /** How many of them are in memory. */
  readonly window: WindowLimits
}

export interface RecipientsParts extends Omit<SubscriptionQueueParts, 'window'> {
  readonly limits: QueueLimits
  readonly meter: DeliveryMeter
  readonly log: Log
}

/** A notice of a subscription that has ended. */
export type EndedNotice = Pick<QueuedNotice, 'outbox' | 'number'>

/** Notices that are kept although their subscription is not known yet. */
const mostUnknown = 10_000
/** Ended subscriptions that are remembered, so that notices of them which arrive later are not kept. */
const mostEnded = 10_000

/**
 * The subscriptions of either kind as the courier knows them, with the queues of those that need one, and the sums of what waits or
 * is under way in these: over all, and by outbox.
 */
export class Recipients {
  readonly #parts: RecipientsParts
  readonly #known = new Map<SubscriptionId, Recipient>()
  /** Most subscriptions never have one: it is made for the first notice, or for a hold. */
  readonly #queues = new Map<SubscriptionId, SubscriptionQueue>()
  /** The queues that are not empty. */
  readonly #filled = new Set<SubscriptionQueue>()
  readonly #ended = new Set<SubscriptionId>()
  readonly #byOutbox: { depth: number; bytes: number; unread: number }[]
  readonly #watermark = new Watermark()
  readonly #queueParts: SubscriptionQueueParts
  #depth = 0
  #bytes = 0
  /** Notices in the queues that are withheld. */
  #withheld = 0
  /** Waiting notices of subscriptions that are not known yet. */
  #unknownDepth = 0
  /** The drop of such notices was warned of; reset when fewer than half of `mostUnknown` wait. */
  #isUnknownWarned = false

  constructor(parts: RecipientsParts) {
    this.#parts = parts
    this.#queueParts = { ...parts, window: new NoticeWindow(parts.limits.window) }
    this.#byOutbox = Array.from({ length: parts.coordinator + 1 }, () => ({ depth: 0, bytes: 0, unread: 0 }))
  }

  get known(): ReadonlyMap<SubscriptionId, Recipient> {
    return this.#known
  }

  /** Notices in memory. */
  get held(): number {
    const { held, streamed } = this.#queueParts.window
    return held + streamed
  }

  /** Resumes the streams that found no room, if there is some now. */
  resumeStreams(): void {
    this.#queueParts.window.resumeStreams()
  }

  queue(id: SubscriptionId): SubscriptionQueue | undefined {
    return this.#queues.get(id)
  }

  /** The queues that are not empty, those first that are it for longest; those that become empty meanwhile are left out. */
  get filled(): ReadonlySet<SubscriptionQueue> {
    return this.#filled
  }

  /** Notices of inactive subscriptions, and of those with listeners. */
  get withheld(): number {
    return this.#withheld
  }

  /** The queue that a notice joins; undefined if its subscription has ended, or is unknown and `keepsUnknown` is false or there is no room. */
  queueOfNotice(id: SubscriptionId, keepsUnknown: boolean): SubscriptionQueue | undefined {
    if (this.#queues.has(id) || this.#known.has(id)) return this.#queueOf(id)
    if (!keepsUnknown || this.#ended.has(id) || !this.#hasRoomForUnknown()) return undefined
    const queue = this.#queueOf(id)
    queue.isUnknown = true
    return queue
  }

  /** Takes a new or changed subscription; returns its queue if it has one. */
  put(recipient: Recipient): SubscriptionQueue | undefined {
    this.#known.set(recipient.id, recipient)
    const queue = this.#queues.get(recipient.id)
    if (queue === undefined) return undefined
    this.#noLongerUnknown(queue)
    if (queue.isWithheld) this.#withheld -= queue.depth
    queue.put(recipient)
    if (queue.isWithheld) this.#withheld += queue.depth
    return queue
  }

  hold(id: SubscriptionId): void {
    const queue = this.#queueOf(id)
    this.#noLongerUnknown(queue)
    queue.onHold = true
  }

  /** Ends a subscription; gives the notices of its queue, which leave the sums one by one as they are read. */
  end(id: SubscriptionId): Iterable<EndedNotice> {
    this.#known.delete(id)
    this.#ended.add(id)
    if (this.#ended.size > mostEnded) {
      for (const oldest of this.#ended) {
        this.#ended.delete(oldest)
        break
      }
    }
    const queue = this.#queues.get(id)
    if (queue === undefined) return []
    this.#noLongerUnknown(queue)
    this.#queues.delete(id)
    this.#filled.delete(queue)
    if (queue.isWithheld) this.#withheld -= queue.depth
    queue.end()
    return this.#leaving(queue)
  }

  *#leaving(queue: SubscriptionQueue): Generator<EndedNotice> {
    for (const notices of [queue.order.notices(), queue.takeUnread()]) {
      for (const notice of notices) {
        this.#count(notice.outbox, -1, -notice.size_bytes)
        yield notice
      }
    }
  }

  /** Whether a subscription has ended here lately. */
  hasEnded(id: SubscriptionId): boolean {
    return this.#ended.has(id)
  }

  /** Forgets a queue that has nothing to send, and nothing to remember. */
  forgetIdle({ id, depth, dropWarned, onHold }: SubscriptionQueue): void {
    if (depth === 0 && !dropWarned && !onHold) this.#queues.delete(id)
  }

  /** A notice has joined a queue. */
  added(queue: SubscriptionQueue, outbox: OutboxNumber, size_bytes: number): void {
    this.#filled.add(queue)
    if (queue.isUnknown) this.#unknownDepth += 1
    if (queue.isWithheld) this.#withheld += 1
    this.#count(outbox, 1, size_bytes)
  }

  /** A notice has left a queue. */
  removed(queue: SubscriptionQueue, { outbox, size_bytes }: Pick<QueuedNotice, 'outbox' | 'size_bytes'>): void {
    this.forgotten(queue, outbox, { depth: 1, bytes: size_bytes })
  }

  /** So many notices of an outbox, of these bytes, have left a queue. */
  forgotten(
    queue: SubscriptionQueue,
    outbox: OutboxNumber,
    { depth, bytes }: Readonly<Record<'depth' | 'bytes', number>>,
  ) {
    if (queue.depth === 0) this.#filled.delete(queue)
    if (queue.isUnknown) this.#unknownDepth -= depth
    if (queue.isWithheld) this.#withheld -= depth
    this.#count(outbox, -depth, -bytes)
  }

  /** How much of what an outbox held at its beginning is not read yet: it counts as waiting, of a size that is not known. */
  unread(outbox: OutboxNumber, notices: number): void {
    const own = this.#byOutbox[outbox]
    if (own === undefined) return
    own.unread = notices
    this.#parts.meter.queue(outbox, own.depth + notices, own.bytes)
    this.#parts.meter.unread(this.#byOutbox.reduce((sum, { unread }) => sum + unread, 0))
  }

  /** Why something has to be dropped; undefined while no more waits than is allowed. */
  get excess(): string | undefined {
    const { bytesMax, noticesMax } = this.#parts.limits
    if (this.#bytes <= bytesMax && this.#depth <= noticesMax) return undefined
    return `${this.#depth} wait in all, of ${this.#bytes} bytes`
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

  #count(outbox: OutboxNumber, depth: number, bytes: number): void {
    this.#depth += depth
    this.#bytes += bytes
    const own = this.#byOutbox[outbox]
    if (own === undefined) return
    own.depth += depth
    own.bytes += bytes
    this.#parts.meter.queue(outbox, own.depth + own.unread, own.bytes)
  }

  #queueOf(id: SubscriptionId): SubscriptionQueue {
    let queue = this.#queues.get(id)
    if (queue === undefined) {
      queue = new SubscriptionQueue(id, this.#queueParts)
      this.#queues.set(id, queue)
      const recipient = this.#known.get(id)
      if (recipient !== undefined) queue.put(recipient)
    }
    return queue
  }

  #noLongerUnknown(queue: SubscriptionQueue): void {
    if (queue.isUnknown) this.#unknownDepth -= queue.depth
    queue.isUnknown = false
  }

  #hasRoomForUnknown(): boolean {
    const waiting = this.#unknownDepth
    if (waiting * 2 < mostUnknown) this.#isUnknownWarned = false
    if (waiting < mostUnknown) return true
    if (!this.#isUnknownWarned) {
      this.#isUnknownWarned = true
      this.#parts.log.warn('notif:drop', 'notifications of unknown subscriptions are dropped', { waiting })
    }
    return false
  }
}
