import type { NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Outbox } from './outboxes.js'

/** What an outbox says of notices without being sent from here. */
type ReadOutbox = Pick<Outbox, 'after' | 'last'>

/** Notices that are looked at together. */
const slice = 128

/**
 * The barriers of the coordinator's outbox while another node sends what it holds: initial notifications, which go before all
 * notices that were made after them, whichever node sends these [subscriptions 5.2]. A barrier is gone when this node's copy of
 * the outbox does not hold it any more.
 */
export class RemoteBarriers {
  readonly #outbox: ReadOutbox
  readonly #gone: (id: SubscriptionId) => void
  /** The bounds of each by its number, in ascending order, by subscription. */
  readonly #standing = new Map<SubscriptionId, Map<NoticeNumber, readonly NoticeNumber[]>>()
  /** Up to here the outbox was looked at. */
  #known: NoticeNumber = 0

  /** `gone` hears of each subscription that has a barrier less. */
  constructor(outbox: ReadOutbox, gone: (id: SubscriptionId) => void) {
    this.#outbox = outbox
    this.#gone = gone
  }

  /** Whether there is one. */
  get areStanding(): boolean {
    return this.#standing.size > 0
  }

  /** By outbox the last notice of a subscription that may go before its first barrier; nothing when it has none. */
  boundsOf(id: SubscriptionId): readonly NoticeNumber[] | undefined {
    return this.#standing.size === 0 ? undefined : this.#standing.get(id)?.values().next().value
  }

  /** Looks at the outbox as it is now. */
  look(): void {
    for (const [id, barriers] of [...this.#standing]) {
      for (const number of [...barriers.keys()]) if (!this.#holds(number)) this.#remove(id, number)
    }
    for (let found = this.#next(); found.length > 0; found = this.#next()) {
      for (const { number, notice } of found) {
        this.#known = number
        if (notice.after !== undefined) this.#add(notice.subscription, number, notice.after)
      }
    }
  }

  /** This node sends what the outbox holds: its own queues know the barriers. */
  forget(): void {
    const ids = [...this.#standing.keys()]
    this.#standing.clear()
    this.#known = 0
    for (const id of ids) this.#gone(id)
  }

  #next(): ReturnType<ReadOutbox['after']> {
    return this.#outbox.after(this.#known, slice)
  }

  #holds(number: NoticeNumber): boolean {
    return this.#outbox.after(number - 1, 1)[0]?.number === number
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

/** Slices that are looked at before others get their turn. */
const slicesAtOnce = 8

/**
 * Up to which number an outbox that another node sends holds nothing of a subscription, as this node's copy has it; it is not
 * looked at below `from`, nor long. A number below the bound that is greater than `from` may grow at once.
 */
export function goneUpTo(
  outbox: ReadOutbox,
  id: SubscriptionId,
  from: NoticeNumber,
  bound: NoticeNumber,
): NoticeNumber {
  let gone = from
  for (let slices = 0; slices < slicesAtOnce && gone < bound; slices += 1) {
    const found = outbox.after(gone, slice)
    const own = found.find(({ notice }) => notice.subscription === id)
    if (own !== undefined) return own.number - 1
    const last = found.at(-1)?.number
    if (last === undefined) return Math.max(gone, outbox.last())
    gone = last
  }
  return gone
}
