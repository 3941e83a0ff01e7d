import type { Log } from '../log/log.js'
import type { DeliveryMeter } from '../measure/delivery-table.js'
import { advanceClock, lastNotified } from '../subscription/clocks.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds } from '../time.js'
import type { Backlog } from './backlog.js'
import type { Books } from './books.js'
import type { DeliveryState, KnownState, Recipient } from './message.js'
import { type QueueParts, RecipientQueue } from './recipient-queue.js'
import { headersOf, messageSize, tooLong } from './request.js'
import type { NumberedNotice, Source, SourceNumber } from './source.js'

export interface RecipientParts {
  /** Nothing is sent: a notice counts as accepted when it is read. */
  readonly simulated: boolean
  /** Bytes of a notification as it is sent, head and body. */
  readonly maxSize: number
  readonly queueParts: QueueParts
  readonly backlog: Backlog
  readonly books: Books
  readonly meter: DeliveryMeter
  readonly log: Log
  readonly simulate: () => void
  /** See `DeliveryParts`. */
  readonly brokerId: string
}

/** Notices that are kept although nobody knows their subscription yet. */
const mostStrange = 10_000
/** Ended subscriptions that are remembered, so that what was not yet read of them is not kept. */
const mostEnded = 10_000
/** What a notification is longer than its record on disk, at most: names of headers, and what they always say. */
const headSpare_bytes = 1024

/** The subscriptions of either kind as the courier knows them. */
export class Recipients {
  readonly #parts: RecipientParts
  readonly #known = new Map<SubscriptionId, Recipient>()
  /** Of those that have had something to be sent, which most never have, and of those that are held. */
  readonly #queues = new Map<SubscriptionId, RecipientQueue>()
  /** Whose notices came before they were known themselves. */
  readonly #strangers = new Set<RecipientQueue>()
  readonly #ended = new Set<SubscriptionId>()
  /** Notices of which an attempt was made before the start. */
  #tried = new Set<string>()
  #started = false

  constructor(parts: RecipientParts) {
    this.#parts = parts
  }

  /** The accounts that an outbox holds at the start; those of nobody are removed. */
  learn(source: SourceNumber, accounts: ReturnType<Source['accounts']>): void {
    const { books } = this.#parts
    for (const [id, account] of accounts) {
      books.found(id, source, account)
      if (this.#known.has(id)) for (const number of account.tried) this.#tried.add(`${source}-${number}`)
      else books.end(id, [])
    }
  }

  /** Everything is known that was there before: sets the clocks to the last notice of each subscription. */
  started(): void {
    this.#started = true
    this.#tried = new Set()
    const { books } = this.#parts
    for (const [id, { clock }] of this.#known) {
      const queue = this.#queues.get(id)
      // Most have never been notified.
      if (queue === undefined && !books.hasAny(id)) continue
      let latest: number = books.merged(id).lastNotification ?? 0
      for (const { made } of queue?.lineup.entries() ?? []) latest = Math.max(latest, made)
      advanceClock(clock, latest)
    }
  }

  /** A notice from an outbox: joins the queue of its subscription, or is settled away when that has ended. */
  take(source: SourceNumber, numbered: NumberedNotice, since_ms: number): void {
    const { books, backlog, meter, simulated, queueParts } = this.#parts
    const { number, notice } = numbered
    const id = notice.subscription
    const known = this.#queueOfKnown(id)
    if (this.#started) meter.stored(1)
    if (known === undefined && (!this.#started || this.#ended.has(id) || !this.#hasRoomForStrangers())) {
      if (this.#started) meter.left('ended')
      books.end(id, [{ source, number }])
      return
    }
    const queue = known ?? this.#stranger(id)
    const { recipient } = queue
    const size = recipient === undefined ? 0 : this.#excessive(recipient, source, numbered)
    if (size > 0) {
      backlog.reject(queue, source, numbered, tooLong(size))
      return
    }
    backlog.add(queue, { source, numbered, since_ms, tried: this.#tried.has(`${source}-${number}`) })
    if (simulated && recipient !== undefined) this.#simulate(queue)
    else queueParts.wake(queue)
  }

  put(recipient: Recipient): void {
    this.#known.set(recipient.id, recipient)
    const queue = this.#queues.get(recipient.id)
    if (queue === undefined) return
    this.#strangers.delete(queue)
    queue.put(recipient)
    if (this.#parts.simulated) this.#simulate(queue)
    // One that was only held has had nothing to be sent.
    if (queue.depth === 0 && !queue.dropWarned) this.#queues.delete(recipient.id)
  }

  hold(id: SubscriptionId): void {
    const queue = this.#queueOf(id)
    this.#strangers.delete(queue)
    queue.held = true
  }

  /** From now on nothing of it is begun; what waits leaves the disk. */
  remove(id: SubscriptionId): void {
    const queue = this.#queues.get(id)
    if (queue === undefined) this.#parts.books.end(id, [])
    else this.#parts.backlog.end(queue)
    this.#known.delete(id)
    this.#queues.delete(id)
    if (queue !== undefined) this.#strangers.delete(queue)
    this.#ended.add(id)
    if (this.#ended.size <= mostEnded) return
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest)
      break
    }
  }

  /** What waits is dropped, and so is what is under way unless it is accepted. */
  expire(id: SubscriptionId): void {
    const queue = this.#queues.get(id)
    if (queue !== undefined) this.#parts.backlog.dropAll(queue)
  }

  /** How the deliveries go of those that are asked for and known; of all without ids [subscriptions 5.7]. */
  states(ids: readonly SubscriptionId[] | undefined): readonly KnownState[] {
    return [...(ids ?? this.#known.keys())].flatMap((id) => {
      const recipient = this.#known.get(id)
      return recipient === undefined ? [] : [{ id, delivery: this.#state(recipient) }]
    })
  }

  #state({ id, clock }: Recipient): DeliveryState {
    const queue = this.#queues.get(id)
    const nextAttempt = queue?.nextAttempt
    const oldest = queue?.lineup.oldest
    const { lastNotification = 0, ...account } = this.#parts.books.merged(id)
    const latest = Math.max(lastNotification, lastNotified(clock))
    return {
      ...account,
      ...(latest > 0 && { lastNotification: latest as Milliseconds }),
      queueDepth: queue?.depth ?? 0,
      queueBytes: queue?.bytes ?? 0,
      ...(oldest !== undefined && { oldestQueued: oldest.made }),
      ...(nextAttempt !== undefined && { nextAttempt }),
    }
  }

  #queueOf(id: SubscriptionId): RecipientQueue {
    let queue = this.#queues.get(id)
    if (queue === undefined) {
      queue = new RecipientQueue(id, this.#parts.queueParts)
      this.#queues.set(id, queue)
      const recipient = this.#known.get(id)
      if (recipient !== undefined) queue.put(recipient)
    }
    return queue
  }

  /** The queue of somebody who was put or held, or whose notices have come before that. */
  #queueOfKnown(id: SubscriptionId): RecipientQueue | undefined {
    return this.#queues.get(id) ?? (this.#known.has(id) ? this.#queueOf(id) : undefined)
  }

  #stranger(id: SubscriptionId): RecipientQueue {
    const queue = this.#queueOf(id)
    this.#strangers.add(queue)
    return queue
  }

  #hasRoomForStrangers(): boolean {
    let notices = 0
    for (const { depth } of this.#strangers) notices += depth
    if (notices < mostStrange) return true
    this.#parts.log.warn('notif:drop', 'notifications of unknown subscriptions are dropped', { waiting: notices })
    return false
  }

  /** The bytes of a notification that is too long to be sent; 0 of any other. */
  #excessive({ reference }: Recipient, source: SourceNumber, numbered: NumberedNotice): number {
    const { maxSize } = this.#parts
    const { number, notice, size_bytes, body_bytes } = numbered
    if (body_bytes === undefined || size_bytes + reference.length + headSpare_bytes <= maxSize) return 0
    const size = messageSize(reference, headersOf(notice, source, number, this.#parts.brokerId), body_bytes)
    return size > maxSize ? size : 0
  }

  #simulate(queue: RecipientQueue): void {
    for (let entry = queue.lineup.oldestWaiting; entry !== undefined; entry = queue.lineup.oldestWaiting) {
      this.#parts.backlog.drop(queue, entry, 'simulated')
      this.#parts.simulate()
    }
  }
}
