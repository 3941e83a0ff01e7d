import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Outbox } from './outboxes.js'

type ReadOutbox = Pick<Outbox, 'after' | 'last'>

/** Notices that are read together. */
const slice = 128

/**
 * The barriers of the coordinator's outbox while another node sends what it holds: initial notifications, which go before all
 * notices that were made after them, whichever node sends these [subscriptions 5.2]. A barrier is gone when this node's replica of
 * the outbox no longer holds it.
 */
export class RemoteBarriers {
  readonly #outbox: Pick<Outbox, 'after' | 'holds'>
  readonly #gone: (id: SubscriptionId) => void
  /** The bounds of each by its number, in ascending order, by subscription. */
  readonly #standing = new Map<SubscriptionId, Map<NoticeNumber, readonly NoticeNumber[]>>()
  /** The last number that was read. */
  #known: NoticeNumber = 0

  /** `gone` is called with the subscription of each barrier that has left. */
  constructor(outbox: Pick<Outbox, 'after' | 'holds'>, gone: (id: SubscriptionId) => void) {
    this.#outbox = outbox
    this.#gone = gone
  }

  get areStanding(): boolean {
    return this.#standing.size > 0
  }

  /** By outbox, the last notice of a subscription that may go before its first barrier; nothing when it has none. */
  boundsOf(id: SubscriptionId): readonly NoticeNumber[] | undefined {
    return this.#standing.size === 0 ? undefined : this.#standing.get(id)?.values().next().value
  }

  /** Brings the barriers up to date with the outbox. */
  look(): void {
    for (const [id, barriers] of [...this.#standing]) {
      for (const number of [...barriers.keys()]) if (!this.#outbox.holds(number)) this.#remove(id, number)
    }
    for (let found = this.#next(); found.length > 0; found = this.#next()) {
      for (const { number, notice } of found) {
        this.#known = number
        if (notice.after !== undefined) this.#add(notice.subscription, number, notice.after)
      }
    }
  }

  /** This node sends the outbox now: its queues have the barriers. */
  forget(): void {
    const ids = [...this.#standing.keys()]
    this.#standing.clear()
    this.#known = 0
    for (const id of ids) this.#gone(id)
  }

  #next(): ReturnType<ReadOutbox['after']> {
    return this.#outbox.after(this.#known, slice)
  }

  #add(id: SubscriptionId, number: NoticeNumber, bounds: readonly NoticeNumber[]): void {
    const barriers = this.#standing.get(id)
    if (barriers === undefined) this.#standing.set(id, new Map([[number, bounds]]))
    else barriers.set(number, bounds)
  }

  #remove(id: SubscriptionId, number: NoticeNumber): void {
    const barriers = this.#standing.get(id)
    barriers?.delete(number)
    if (barriers?.size === 0) this.#standing.delete(id)
    this.#gone(id)
  }
}

/** Slices that are read in one call. */
const slicesAtOnce = 8

/**
 * Up to which number an outbox that another node sends holds nothing of a subscription, by this node's replica. The search begins at
 * `from` and takes a few slices: if the result is between `from` and `bound`, another call may find more.
 */
export function goneUpTo(
  outbox: ReadOutbox,
  id: SubscriptionId,
  from: NoticeNumber,
  bound: NoticeNumber,
): NoticeNumber {
  let gone = from
  // Before the reads: what arrives behind them is not gone.
  const arrived = outbox.last()
  for (let slices = 0; slices < slicesAtOnce && gone < bound; slices += 1) {
    const found = outbox.after(gone, slice)
    const own = found.find(({ notice }) => notice.subscription === id)
    if (own !== undefined) return own.number - 1
    const last = found.at(-1)?.number
    if (last === undefined) return Math.max(gone, arrived)
    gone = last
  }
  return gone
}
