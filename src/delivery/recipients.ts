import type { Log } from '../log/log.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Recipient } from './message.js'
import { SubscriptionQueue, type SubscriptionQueueParts } from './subscription-queue.js'

/** Notices that are kept although their subscription is not known yet. */
const mostUnknown = 10_000
/** Ended subscriptions that are remembered, so that notices of them which arrive later are not kept. */
const mostEnded = 10_000

/** The subscriptions of either kind as the courier knows them, with the queues of those that need one. */
export class Recipients {
  readonly #parts: SubscriptionQueueParts
  readonly #log: Log
  readonly #known = new Map<SubscriptionId, Recipient>()
  /** Of subscriptions that have had something to be sent, which most never have, and of those on hold. */
  readonly #queues = new Map<SubscriptionId, SubscriptionQueue>()
  /** Queues whose notices arrived before their subscription was known. */
  readonly #unknown = new Set<SubscriptionQueue>()
  readonly #ended = new Set<SubscriptionId>()

  constructor(parts: SubscriptionQueueParts, log: Log) {
    this.#parts = parts
    this.#log = log
  }

  /** All that are known. */
  get known(): ReadonlyMap<SubscriptionId, Recipient> {
    return this.#known
  }

  /** The queue of a subscription, if it has one. */
  queue(id: SubscriptionId): SubscriptionQueue | undefined {
    return this.#queues.get(id)
  }

  /** The queue that a notice joins. Undefined when its subscription has ended or, unless unknown ones are kept, is not known. */
  queueOfNotice(id: SubscriptionId, keepsUnknown: boolean): SubscriptionQueue | undefined {
    if (this.#queues.has(id) || this.#known.has(id)) return this.#queueOf(id)
    if (!keepsUnknown || this.#ended.has(id) || !this.#hasRoomForUnknown()) return undefined
    const queue = this.#queueOf(id)
    this.#unknown.add(queue)
    return queue
  }

  /** A new or changed subscription; gives its queue if it has one. */
  put(recipient: Recipient): SubscriptionQueue | undefined {
    this.#known.set(recipient.id, recipient)
    const queue = this.#queues.get(recipient.id)
    if (queue === undefined) return undefined
    this.#unknown.delete(queue)
    queue.put(recipient)
    return queue
  }

  hold(id: SubscriptionId): void {
    const queue = this.#queueOf(id)
    this.#unknown.delete(queue)
    queue.onHold = true
  }

  /** A subscription has ended; gives the queue that it had. */
  end(id: SubscriptionId): SubscriptionQueue | undefined {
    const queue = this.#queues.get(id)
    this.#known.delete(id)
    this.#queues.delete(id)
    if (queue !== undefined) this.#unknown.delete(queue)
    this.#ended.add(id)
    if (this.#ended.size > mostEnded) {
      for (const oldest of this.#ended) {
        this.#ended.delete(oldest)
        break
      }
    }
    return queue
  }

  /** Whether a subscription has ended here lately. */
  hasEnded(id: SubscriptionId): boolean {
    return this.#ended.has(id)
  }

  /** Forgets a queue that has nothing to send, and nothing to remember. */
  forgetIdle({ id, depth, dropWarned, onHold }: SubscriptionQueue): void {
    if (depth === 0 && !dropWarned && !onHold) this.#queues.delete(id)
  }

  #queueOf(id: SubscriptionId): SubscriptionQueue {
    let queue = this.#queues.get(id)
    if (queue === undefined) {
      queue = new SubscriptionQueue(id, this.#parts)
      this.#queues.set(id, queue)
      const recipient = this.#known.get(id)
      if (recipient !== undefined) queue.put(recipient)
    }
    return queue
  }

  #hasRoomForUnknown(): boolean {
    let notices = 0
    for (const { depth } of this.#unknown) notices += depth
    if (notices < mostUnknown) return true
    this.#log.warn('notif:drop', 'notifications of unknown subscriptions are dropped', { waiting: notices })
    return false
  }
}
