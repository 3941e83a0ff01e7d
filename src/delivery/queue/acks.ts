import type { DeliveryStats, NoticeAck, NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { QueueClock } from './subscription-queue.js'

/** What is to be stored of one subscription. */
interface PendingAck {
  readonly gone: NoticeNumber[]
  /** Called when all of it is on disk. */
  readonly stored: (() => void)[]
}

/** The acks that are stored in one transaction. */
interface Batch {
  readonly acks: readonly NoticeAck[]
  /** Called when all of it is on disk. */
  readonly stored: (() => void)[]
}

interface OutboxAcksParts {
  readonly statsOf: (id: SubscriptionId) => DeliveryStats | undefined
  /** Asks the owner of the outbox to store a batch; `done` hears whether it is on disk. */
  readonly ack: (acks: readonly NoticeAck[], done: (isStored: boolean) => void) => void
  readonly later: QueueClock['later']
}

/** Notices that leave in one batch: it is one turn of the partition, which updates wait for. Each may be of a group of its own. */
const goneAtOnce = 400

/**
 * How long acks are gathered, from the first of them on, whatever is under way: a flush of the log may wait for 50 ms more, and all of it
 * takes 100 ms at most [subscriptions 5.7].
 */
const gather_ms = 20
/** As soon as this many are pending they are stored without waiting for more. */
const gather_most = 128
/** Before a batch that was refused is offered again, at first and at most. */
const again_ms = 50
const againMost_ms = 2000

/**
 * The acks of one outbox until they are on disk. One batch is under way at a time.
 *
 *     note ──▶ pending ── gathered, flush ──▶ under way ── stored ──▶ on disk
 *                                              ▲      │
 *                                              └──────┘ refused: offered again after a pause
 */
export class OutboxAcks {
  readonly #parts: OutboxAcksParts
  #pending = new Map<SubscriptionId, PendingAck>()
  /**
   * Subscriptions of which a whole batch leaves: it has the stats of the moment in which it was full. Those of later notices count more than
   * leaves in it, and would be stored without them when the courier dies after it.
   */
  #full: Batch[] = []
  /** Acks noted since the last batch was begun. */
  #noted = 0
  #underWay: Batch | undefined
  #whenEmpty: (() => void)[] = []
  /** Cancels the timer that ends the gathering of the next batch; there until that one is begun. */
  #cancelGathering: (() => void) | undefined
  #isGathered = false
  /** Cancels the timer until the refused batch is offered again. */
  #cancelAgain: (() => void) | undefined
  /** Offers the batch that was refused, whose timer runs. */
  #offerAgain: (() => void) | undefined
  #isFlushing = false
  #isClosed = false

  constructor(parts: OutboxAcksParts) {
    this.#parts = parts
  }

  /** The stats of a subscription have changed, and the notice leaves if there is one. */
  note(id: SubscriptionId, gone?: NoticeNumber): void {
    let pending = this.#pending.get(id)
    if (pending === undefined) {
      pending = { gone: [], stored: [] }
      this.#pending.set(id, pending)
    }
    if (gone !== undefined) pending.gone.push(gone)
    if (pending.gone.length === goneAtOnce) {
      this.#pending.delete(id)
      this.#full.push(this.#batchOf([[id, pending]]))
    }
    this.#noted += 1
    this.#gather()
  }

  /** Acks that wait, and batches: 0 when everything is on disk, and less with each batch that is stored. */
  get size(): number {
    return this.#pending.size + this.#batches.length
  }

  /** Resolves when everything that was noted of a subscription is on disk. */
  stored(id: SubscriptionId): Promise<void> {
    const last = this.#batches.findLast(({ acks }) => acks.some(({ subscription }) => subscription === id))
    const waiting = this.#pending.get(id) ?? last
    return waiting === undefined ? Promise.resolve() : new Promise((resolve) => waiting.stored.push(resolve))
  }

  /** Resolves when nothing is left to be stored. */
  empty(): Promise<void> {
    if (this.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Stores what is pending in one batch after the other, without gathering more; one that was refused is offered again at once. */
  flush(): void {
    this.#isFlushing = this.#isMore
    if (this.#offerAgain === undefined) this.#gather()
    else this.#offerAgain()
  }

  /** Gives up what is not on disk, since the outbox is another node's now; resolves those who wait. */
  forget(): void {
    const forgotten = [...this.#batches, ...this.#pending.values()]
    this.#stopRefused()
    this.#pending = new Map()
    this.#full = []
    this.#stopGathering()
    this.#underWay = undefined
    this.#isFlushing = false
    for (const { stored } of forgotten) for (const tell of stored) tell()
    for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  /** Gives up what is not on disk. */
  close(): void {
    this.#isClosed = true
    this.#stopRefused()
    this.#stopGathering()
  }

  /** In their order, the one under way first. */
  get #batches(): readonly Batch[] {
    return this.#underWay === undefined ? this.#full : [this.#underWay, ...this.#full]
  }

  get #isMore(): boolean {
    return this.#pending.size > 0 || this.#full.length > 0
  }

  /** Begins the next batch as soon as it is gathered and none is under way. */
  #gather(): void {
    if (!this.#isMore || this.#isClosed) return
    const isDue = this.#isFlushing || this.#isGathered || this.#noted >= gather_most
    if (isDue && this.#underWay === undefined) this.#begin()
    else
      this.#cancelGathering ??= this.#parts.later(gather_ms, () => {
        this.#isGathered = true
        this.#gather()
      })
  }

  #begin(): void {
    const batch = this.#full.shift() ?? this.#batchOf(this.#takePending())
    // What does not fit into it is as old as what does.
    if (this.#isMore) this.#noted = 0
    else this.#stopGathering()
    this.#underWay = batch
    this.#offer(batch, again_ms)
  }

  #offer(batch: Batch, wait_ms: number): void {
    this.#stopRefused()
    this.#parts.ack(batch.acks, (isStored) => {
      if (this.#underWay !== batch || this.#isClosed) return // It was given up meanwhile.
      if (isStored) this.#stored(batch)
      else {
        const longer_ms = Math.min(2 * wait_ms, againMost_ms)
        this.#offerAgain = () => this.#offer(batch, longer_ms)
        this.#cancelAgain = this.#parts.later(wait_ms, this.#offerAgain)
      }
    })
  }

  #stored(batch: Batch): void {
    this.#underWay = undefined
    for (const tell of batch.stored) tell()
    if (this.#isMore) {
      this.#gather()
      return
    }
    this.#isFlushing = false
    for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  #stopGathering(): void {
    this.#cancelGathering?.()
    this.#cancelGathering = undefined
    this.#isGathered = false
    this.#noted = 0
  }

  #stopRefused(): void {
    this.#cancelAgain?.()
    this.#cancelAgain = undefined
    this.#offerAgain = undefined
  }

  /** What is to be stored of subscriptions, with their stats of now. */
  #batchOf(pending: Iterable<readonly [SubscriptionId, PendingAck]>): Batch {
    const { statsOf } = this.#parts
    const acks: NoticeAck[] = []
    const stored: (() => void)[] = []
    for (const [subscription, { gone, stored: own }] of pending) {
      acks.push({ subscription, gone, stats: statsOf(subscription) })
      stored.push(...own)
    }
    return { acks, stored }
  }

  /** Takes what fits into one batch: each fits alone. */
  #takePending(): ReadonlyMap<SubscriptionId, PendingAck> {
    const taken = new Map<SubscriptionId, PendingAck>()
    let room = goneAtOnce
    for (const [id, pending] of this.#pending) {
      room -= Math.max(1, pending.gone.length)
      if (room < 0) break
      this.#pending.delete(id)
      taken.set(id, pending)
    }
    return taken
  }
}
