import type {
  DeliveryStats,
  NoticeAck,
  NoticeNumber,
  NumberedNotice,
  StoredNotice,
} from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'

/** The number of an outbox: that of its partition; the coordinator's comes after those of the partitions. */
export type OutboxNumber = number

/** Whether an outbox is this node's, where it may be that of another one: its partition's owner sends what it holds, and nobody else. */
export interface OutboxOwner {
  /** Another one for each time that this node has come to own it; 0 while it does not. */
  readonly epoch: number
  /** Whether nobody else can have come to own it by now. */
  isConfirmed(): boolean
}

/** An outbox as its courier sees it: read from snapshots, written by its owner. */
export interface Outbox {
  /** Nothing of an outbox that is always this node's. */
  readonly owner?: OutboxOwner | undefined
  /** From now on reads see everything that was on disk when this was called. */
  refresh(): void
  /** The number of the first notice that is there, found without reading it; undefined when there is none. */
  first(): NoticeNumber | undefined
  /** The number of the last notice that was ever put in. */
  last(): NoticeNumber
  /** The notices after a number, in order, at most `limit`; fewer where they are large, none only where there are none. */
  after(number: NoticeNumber, limit: number): readonly NumberedNotice[]
  /** The notices before a number, the last one first, at most `limit`, none only where there are none. */
  before(number: NoticeNumber, limit: number): readonly NumberedNotice[]
  /** The notice of a number without its body, if it is there and can be read. */
  head(number: NoticeNumber): NumberedNotice | undefined
  /** Whether the notice of a number is there, found without reading it. */
  holds(number: NoticeNumber): boolean
  /** The notice of a number, if it is there; one that is damaged can not be sent. */
  at(number: NoticeNumber): StoredNotice | 'damaged' | undefined
  stats(): Iterable<readonly [SubscriptionId, DeliveryStats]>
  /** The stats of one subscription, if it has some here. */
  statsOf(id: SubscriptionId): DeliveryStats | undefined
  /**
   * Asks the owner to store what became of notices: true when it is on disk, false when it was refused or may not have
   * been done. It may be asked again: acks say how things stand, not what to change.
   */
  ack(acks: readonly NoticeAck[]): Promise<boolean>
  close(): Promise<void>
}

/** The epoch of an outbox that is always this node's. */
const always = -1

/**
 * All outboxes, and which of them this node sends. One that another node may own is sent under the epoch in which it was read: under a
 * later one another node may have sent some of it, so it is read again.
 */
export class Outboxes {
  readonly all: readonly Outbox[]
  readonly ofCoordinator: Outbox
  /** In which each was read; 0 while it is not. */
  readonly #epochs: number[]
  /** Under which each is sent no more, since this node is about to release it. */
  readonly #released: number[]

  /** `released` names what is sent no more from the start; see `CourierStart`. */
  constructor(all: readonly Outbox[], released: Iterable<readonly [OutboxNumber, epoch: number]> = []) {
    this.all = all.map(readUntilClosed)
    const last = this.all.at(-1)
    if (last === undefined) throw new Error('a courier has the outbox of the coordinator')
    this.ofCoordinator = last
    this.#epochs = all.map(() => 0)
    this.#released = all.map(() => 0)
    for (const [outbox, epoch] of released) this.#released[outbox] = epoch
  }

  get coordinator(): OutboxNumber {
    return this.all.length - 1
  }

  /** Whether an outbox may be another node's, which may know subscriptions that are not known here yet. */
  mayMove(outbox: OutboxNumber): boolean {
    return this.all[outbox]?.owner !== undefined
  }

  /** Whether what an outbox holds is known here. */
  isRead(outbox: OutboxNumber): boolean {
    return this.#epochs[outbox] !== 0
  }

  /** Whether another node sends some of the outboxes, as far as is known here. */
  get areElsewhere(): boolean {
    return this.#epochs.includes(0)
  }

  /** Whether nobody else may send what an outbox holds. To be asked before each attempt: a node that was paused is not told. */
  isOpen(outbox: OutboxNumber): boolean {
    const owner = this.all[outbox]?.owner
    if (owner === undefined) return true
    // In this order: epochs only grow, so it was confirmed in the one that is compared.
    return owner.isConfirmed() && owner.epoch === this.#epochs[outbox] && owner.epoch !== this.#released[outbox]
  }

  /**
   * This node is about to release an outbox that may move, which it owns under an epoch: nothing of it is sent until it has come to own it
   * again. Says whether it is sent under that epoch, as far as is known here: it may have come back meanwhile, which stays as it is.
   */
  release(outbox: OutboxNumber, epoch: number): boolean {
    this.#released[outbox] = Math.max(epoch, this.#released[outbox] ?? 0)
    return this.#epochs[outbox] === epoch
  }

  /** The stats of a subscription in the outboxes that other nodes send. */
  statsElsewhere(id: SubscriptionId): readonly DeliveryStats[] {
    return this.all.flatMap((outbox, number) => (this.isRead(number) ? [] : (outbox.statsOf(id) ?? [])))
  }

  /** Whether `look` would find something: each outbox at the start, then those that may move. */
  get hasChanged(): boolean {
    return this.all.some((_, outbox) => this.#hasLost(outbox) || this.#mayTake(outbox))
  }

  /** Which outboxes are no longer what was read, and which are to be read from their beginning; one may be both. */
  look(): { readonly lost: readonly OutboxNumber[]; readonly taken: readonly OutboxNumber[] } {
    const numbers = [...this.all.keys()]
    const lost = numbers.filter((outbox) => this.#hasLost(outbox))
    for (const outbox of lost) this.#epochs[outbox] = 0
    const taken = numbers.filter((outbox) => this.#mayTake(outbox))
    for (const outbox of taken) this.#epochs[outbox] = this.#epochOf(outbox)
    return { lost, taken: taken.filter((outbox) => this.isRead(outbox)) }
  }

  /** From now on all of them read as empty ones. */
  async close(): Promise<void> {
    await Promise.all(this.all.map((outbox) => outbox.close()))
  }

  #hasLost(outbox: OutboxNumber): boolean {
    return this.isRead(outbox) && this.#epochOf(outbox) !== this.#epochs[outbox]
  }

  #mayTake(outbox: OutboxNumber): boolean {
    return !this.isRead(outbox) && this.all[outbox]?.owner?.isConfirmed() !== false
  }

  #epochOf(outbox: OutboxNumber): number {
    const owner = this.all[outbox]?.owner
    return owner === undefined ? always : owner.epoch
  }
}

/**
 * An outbox that reads as an empty one as soon as it is being closed. A courier that ends leaves passes and questions behind that are in
 * the middle of reading: what they find then goes nowhere, since nothing is sent or acked any more.
 */
function readUntilClosed(outbox: Outbox): Outbox {
  let isClosed = false
  return {
    owner: outbox.owner,
    refresh: () => {
      if (!isClosed) outbox.refresh()
    },
    first: () => (isClosed ? undefined : outbox.first()),
    last: () => (isClosed ? 0 : outbox.last()),
    after: (number, limit) => (isClosed ? [] : outbox.after(number, limit)),
    before: (number, limit) => (isClosed ? [] : outbox.before(number, limit)),
    head: (number) => (isClosed ? undefined : outbox.head(number)),
    holds: (number) => !isClosed && outbox.holds(number),
    at: (number) => (isClosed ? undefined : outbox.at(number)),
    stats: () => (isClosed ? [] : outbox.stats()),
    statsOf: (id) => (isClosed ? undefined : outbox.statsOf(id)),
    ack: (acks) => outbox.ack(acks),
    close: () => {
      isClosed = true
      return outbox.close()
    },
  }
}
