import type { DeliveryStats, NoticeAck, NoticeNumber, NumberedNotice, StoredNotice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'

/** The number of an outbox: that of its partition; the coordinator's comes after those of the partitions. */
export type SourceNumber = number

/** Whether an outbox is this node's, where it may be that of another one: its partition's owner sends what it holds, and nobody else. */
export interface SourceOwner {
  /** Another one for each time that this node has come to own it; 0 while it does not. */
  readonly epoch: number
  /** Whether nobody else can have come to own it by now. */
  isConfirmed(): boolean
}

/** An outbox as its courier sees it: read from snapshots, written by its owner. */
export interface Source {
  /** Nothing of an outbox that is always this node's. */
  readonly owner?: SourceOwner | undefined
  /** From now on reads see everything that was on disk when this was called. */
  refresh(): void
  /** The number of the last notice that was ever put in. */
  last(): NoticeNumber
  /** The notices after a number, in order, at most `limit`; fewer where they are large, none only where there are none. */
  after(number: NoticeNumber, limit: number): readonly NumberedNotice[]
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
  readonly all: readonly Source[]
  readonly ofCoordinator: Source
  /** In which each was read; 0 while it is not. */
  readonly #epochs: number[]
  /** Under which each is sent no more, since this node is about to release it. */
  readonly #released: number[]

  /** `released` names what is sent no more from the start; see `CourierStart`. */
  constructor(all: readonly Source[], released: Iterable<readonly [SourceNumber, epoch: number]> = []) {
    this.all = all.map(readUntilClosed)
    const last = this.all.at(-1)
    if (last === undefined) throw new Error('a courier has the outbox of the coordinator')
    this.ofCoordinator = last
    this.#epochs = all.map(() => 0)
    this.#released = all.map(() => 0)
    for (const [source, epoch] of released) this.#released[source] = epoch
  }

  get coordinator(): SourceNumber {
    return this.all.length - 1
  }

  /** Whether an outbox may be another node's, which may know subscriptions that are not known here yet. */
  mayMove(source: SourceNumber): boolean {
    return this.all[source]?.owner !== undefined
  }

  /** Whether what an outbox holds is known here. */
  isRead(source: SourceNumber): boolean {
    return this.#epochs[source] !== 0
  }

  /** Whether another node sends some of the outboxes, as far as is known here. */
  get areElsewhere(): boolean {
    return this.#epochs.includes(0)
  }

  /** Whether nobody else may send what an outbox holds. To be asked before each attempt: a node that was paused is not told. */
  isOpen(source: SourceNumber): boolean {
    const owner = this.all[source]?.owner
    if (owner === undefined) return true
    // In this order: epochs only grow, so it was confirmed in the one that is compared.
    return owner.isConfirmed() && owner.epoch === this.#epochs[source] && owner.epoch !== this.#released[source]
  }

  /**
   * This node is about to release an outbox that may move, which it owns under an epoch: nothing of it is sent until it has come to own it
   * again. Says whether it is sent under that epoch, as far as is known here: it may have come back meanwhile, which stays as it is.
   */
  release(source: SourceNumber, epoch: number): boolean {
    this.#released[source] = Math.max(epoch, this.#released[source] ?? 0)
    return this.#epochs[source] === epoch
  }

  /** The stats of a subscription in the outboxes that other nodes send. */
  statsElsewhere(id: SubscriptionId): readonly DeliveryStats[] {
    return this.all.flatMap((outbox, source) => (this.isRead(source) ? [] : (outbox.statsOf(id) ?? [])))
  }

  /** Whether `look` would find something: each outbox at the start, then those that may move. */
  get hasChanged(): boolean {
    return this.all.some((_, source) => this.#hasLost(source) || this.#mayTake(source))
  }

  /** Which outboxes are no longer what was read, and which are to be read from their beginning; one may be both. */
  look(): { readonly lost: readonly SourceNumber[]; readonly taken: readonly SourceNumber[] } {
    const numbers = [...this.all.keys()]
    const lost = numbers.filter((source) => this.#hasLost(source))
    for (const source of lost) this.#epochs[source] = 0
    const taken = numbers.filter((source) => this.#mayTake(source))
    for (const source of taken) this.#epochs[source] = this.#epochOf(source)
    return { lost, taken: taken.filter((source) => this.isRead(source)) }
  }

  /** From now on all of them read as empty ones. */
  async close(): Promise<void> {
    await Promise.all(this.all.map((outbox) => outbox.close()))
  }

  #hasLost(source: SourceNumber): boolean {
    return this.isRead(source) && this.#epochOf(source) !== this.#epochs[source]
  }

  #mayTake(source: SourceNumber): boolean {
    return !this.isRead(source) && this.all[source]?.owner?.isConfirmed() !== false
  }

  #epochOf(source: SourceNumber): number {
    const owner = this.all[source]?.owner
    return owner === undefined ? always : owner.epoch
  }
}

/**
 * An outbox that reads as an empty one as soon as it is being closed. A courier that ends leaves passes and questions behind that are in
 * the middle of reading: what they find then goes nowhere, since nothing is sent or acked any more.
 */
function readUntilClosed(source: Source): Source {
  let isClosed = false
  return {
    owner: source.owner,
    refresh: () => {
      if (!isClosed) source.refresh()
    },
    last: () => (isClosed ? 0 : source.last()),
    after: (number, limit) => (isClosed ? [] : source.after(number, limit)),
    at: (number) => (isClosed ? undefined : source.at(number)),
    stats: () => (isClosed ? [] : source.stats()),
    statsOf: (id) => (isClosed ? undefined : source.statsOf(id)),
    ack: (acks) => source.ack(acks),
    close: () => {
      isClosed = true
      return source.close()
    },
  }
}
