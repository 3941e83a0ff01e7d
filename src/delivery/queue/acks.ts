import type { DeliveryStats, NoticeAck, NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { QueueClock } from './subscription-queue.js'

/** What is to be stored of one subscription. */
interface PendingAck {
  gone: NoticeNumber[]
  /** Called when all of it is on disk. */
  readonly stored: (() => void)[]
}

/** The acks that are stored in one transaction. */
type Batch = ReadonlyMap<SubscriptionId, PendingAck>

interface OutboxAcksParts {
  readonly statsOf: (id: SubscriptionId) => DeliveryStats | undefined
  /** Asks the owner of the outbox to store a batch; `done` hears whether it is on disk. */
  readonly ack: (acks: readonly NoticeAck[], done: (isStored: boolean) => void) => void
  readonly later: QueueClock['later']
}

/** Notices that leave in one batch: it is one turn of the partition, which updates wait for. Each may be of a group of its own. */
const goneAtOnce = 400

/** How long acks are gathered, well below the 100 ms within which they are stored [subscriptions 5.7]. */
const gather_ms = 20
/** As soon as this many are pending they are stored without waiting for more. */
const gather_most = 256
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
  /** Acks noted since the last batch was begun. */
  #noted = 0
  #underWay: Batch | undefined
  #whenEmpty: (() => void)[] = []
  /** Cancels the timer: until the next batch is begun, or the refused one is offered again. */
  #cancel: (() => void) | undefined
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
    this.#noted += 1
    if (this.#underWay === undefined) this.#gather()
  }

  /** Resolves when everything that was noted of a subscription is on disk. */
  stored(id: SubscriptionId): Promise<void> {
    const pending = this.#pending.get(id) ?? this.#underWay?.get(id)
    return pending === undefined ? Promise.resolve() : new Promise((resolve) => pending.stored.push(resolve))
  }

  /** Resolves when nothing is left to be stored. */
  empty(): Promise<void> {
    if (this.#pending.size === 0 && this.#underWay === undefined) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Stores what is pending in one batch after the other, without gathering more. */
  flush(): void {
    this.#isFlushing = this.#pending.size > 0
    if (this.#underWay === undefined) this.#gather()
  }

  /** Gives up what is not on disk, since the outbox is another node's now; resolves those who wait. */
  forget(): void {
    const forgotten = [...(this.#underWay?.values() ?? []), ...this.#pending.values()]
    this.#stopTimer()
    this.#pending = new Map()
    this.#noted = 0
    this.#underWay = undefined
    this.#isFlushing = false
    for (const { stored } of forgotten) for (const tell of stored) tell()
    for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  /** Gives up what is not on disk. */
  close(): void {
    this.#isClosed = true
    this.#stopTimer()
  }

  /** Begins the next batch, now or a while later. */
  #gather(): void {
    if (this.#pending.size === 0 || this.#isClosed) return
    if (this.#isFlushing || this.#noted >= gather_most) this.#begin()
    else this.#cancel ??= this.#parts.later(gather_ms, () => this.#begin())
  }

  #begin(): void {
    this.#noted = 0
    const batch = this.#nextBatch()
    this.#underWay = batch
    const { statsOf } = this.#parts
    const acks = Array.from(batch, ([subscription, { gone }]) => ({
      ...{ subscription, gone, stats: statsOf(subscription) },
    }))
    this.#offer(batch, acks, again_ms)
  }

  #offer(batch: Batch, acks: readonly NoticeAck[], wait_ms: number): void {
    this.#stopTimer()
    this.#parts.ack(acks, (isStored) => {
      if (this.#underWay !== batch || this.#isClosed) return // It was given up meanwhile.
      if (isStored) this.#stored(batch)
      else {
        const longer_ms = Math.min(2 * wait_ms, againMost_ms)
        this.#cancel = this.#parts.later(wait_ms, () => this.#offer(batch, acks, longer_ms))
      }
    })
  }

  #stored(batch: Batch): void {
    this.#underWay = undefined
    for (const { stored } of batch.values()) for (const tell of stored) tell()
    if (this.#pending.size > 0) {
      this.#gather()
      return
    }
    this.#isFlushing = false
    for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  #stopTimer(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** Takes what fits into one batch; the rest of a long list stays. */
  #nextBatch(): Batch {
    const batch = new Map<SubscriptionId, PendingAck>()
    let room = goneAtOnce
    for (const [id, pending] of this.#pending) {
      if (room <= 0) break
      if (pending.gone.length > room) {
        batch.set(id, { gone: pending.gone.splice(0, room), stored: [] })
        break
      }
      room -= Math.max(1, pending.gone.length)
      this.#pending.delete(id)
      batch.set(id, pending)
    }
    return batch
  }
}
