import type { DeliveryStats, NoticeAck, NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Source } from './source.js'

/** What is to be stored of one subscription. */
interface PendingAck {
  gone: NoticeNumber[]
  /** Called when all of it is on disk. */
  readonly stored: (() => void)[]
}

/** Notices that leave in one batch: it is one turn of the partition, which updates wait for. Each may be of a group of its own. */
const goneAtOnce = 400

/** The acks of one outbox that are not on disk yet. At most one batch of them is under way. */
export class PendingAcks {
  readonly #statsOf: (id: SubscriptionId) => DeliveryStats | undefined
  #pending = new Map<SubscriptionId, PendingAck>()
  #underWay: ReadonlyMap<SubscriptionId, PendingAck> = new Map()
  #whenEmpty: (() => void)[] = []

  constructor(statsOf: (id: SubscriptionId) => DeliveryStats | undefined) {
    this.#statsOf = statsOf
  }

  /** The stats of a subscription have changed, and the notice leaves if there is one. */
  note(id: SubscriptionId, gone?: NoticeNumber): void {
    let pending = this.#pending.get(id)
    if (pending === undefined) {
      pending = { gone: [], stored: [] }
      this.#pending.set(id, pending)
    }
    if (gone !== undefined) pending.gone.push(gone)
  }

  /** The next batch, which is under way from now on; undefined while another one is, or when nothing is pending. */
  next(): readonly NoticeAck[] | undefined {
    if (this.#underWay.size > 0 || this.#pending.size === 0) return undefined
    this.#underWay = this.#batch()
    return Array.from(this.#underWay, ([subscription, { gone }]) => ({
      ...{ subscription, gone, stats: this.#statsOf(subscription) },
    }))
  }

  /** The batch that was under way is on disk; whether more acks are pending. */
  acked(): boolean {
    const batch = this.#underWay
    this.#underWay = new Map()
    for (const { stored } of batch.values()) for (const tell of stored) tell()
    if (this.#pending.size > 0) return true
    for (const tell of this.#whenEmpty.splice(0)) tell()
    return false
  }

  /** Resolves when everything that was noted of a subscription is on disk. */
  stored(id: SubscriptionId): Promise<void> {
    const pending = this.#pending.get(id) ?? this.#underWay.get(id)
    return pending === undefined ? Promise.resolve() : new Promise((resolve) => pending.stored.push(resolve))
  }

  /** Resolves when nothing is left to be stored. */
  empty(): Promise<void> {
    if (this.#pending.size === 0 && this.#underWay.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Nothing of it is stored by this node any more: nobody waits for it. */
  forget(): void {
    const forgotten = [...this.#underWay.values(), ...this.#pending.values()]
    this.#underWay = new Map()
    this.#pending = new Map()
    for (const { stored } of forgotten) for (const tell of stored) tell()
    for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  /** Takes what fits into one batch; the rest of a long list stays. */
  #batch(): ReadonlyMap<SubscriptionId, PendingAck> {
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

/** How long acks are gathered, well below the 100 ms within which they are stored [subscriptions 5.7]. */
const gather_ms = 20
/** As soon as this many are pending they are stored without waiting for more. */
const gather_most = 256
/** Before a batch that was refused is offered again, at first and at most. */
const again_ms = 50
const againMost_ms = 2000

interface AckWriterParts {
  readonly source: Pick<Source, 'ack'>
  /** The next batch of acks, unless there is none. */
  readonly next: () => readonly NoticeAck[] | undefined
  /** The batch is on disk; whether more acks are pending. */
  readonly acked: () => boolean
}

/** Has the acks of one outbox stored by its owner, one batch at a time, each repeated until it is on disk. */
export class AckWriter {
  readonly #parts: AckWriterParts
  #noted = 0
  #underWay = false
  #timer: NodeJS.Timeout | undefined
  #flushing = false
  #closed = false
  /** Incremented when what is under way is forgotten. */
  #term = 0

  constructor(parts: AckWriterParts) {
    this.#parts = parts
  }

  /** One more ack is pending. */
  noted(): void {
    this.#noted += 1
    if (this.#noted >= gather_most) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), gather_ms)
  }

  /** From now on one batch follows the other, until what is under way is forgotten. */
  flush(): void {
    this.#flushing = true
    this.#send()
  }

  /** The outbox is another node's now: what is under way is given up, and what was noted. */
  forget(): void {
    this.#term += 1
    this.#flushing = false
    this.#underWay = false
    this.#noted = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** What is not on disk by now is given up. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #send(): void {
    // Also where a batch is still under way: a timer that has run out would keep the next one from being set.
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#underWay || this.#closed) return
    const batch = this.#parts.next()
    if (batch === undefined) return
    this.#noted = 0
    this.#underWay = true
    const term = this.#term
    this.#store(batch, term).then(() => {
      if (term === this.#term) this.#stored()
    })
  }

  async #store(batch: readonly NoticeAck[], term: number): Promise<void> {
    let wait_ms = again_ms
    while (!this.#closed && term === this.#term && !(await this.#parts.source.ack(batch))) {
      await new Promise((resolve) => setTimeout(resolve, wait_ms))
      wait_ms = Math.min(2 * wait_ms, againMost_ms)
    }
  }

  #stored(): void {
    if (this.#closed) return
    this.#underWay = false
    if (!this.#parts.acked()) return
    // What gathered meanwhile has waited long enough if the courier ends or much has come.
    if (this.#flushing || this.#noted >= gather_most) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), gather_ms)
  }
}
