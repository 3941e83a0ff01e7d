import type { Source, SourceNumber } from './source.js'

/** The epoch of an outbox that is always this node's. */
const always = -1

/**
 * Which outboxes this node sends. One that another node may own is sent under the epoch in which it was read: by the next one
 * others may have sent what waited, so that it is read anew.
 */
export class OwnedSources {
  readonly #sources: readonly Source[]
  /** In which each was read; 0 while it is not. */
  readonly #epochs: number[]
  /** Under which each is sent no more, since this node is about to release it. */
  readonly #closed: number[]

  /** `closed` names what is sent no more from the start; see `CourierStart`. */
  constructor(sources: readonly Source[], closed: ReadonlyMap<SourceNumber, number> = new Map()) {
    this.#sources = sources
    this.#epochs = sources.map(() => 0)
    this.#closed = sources.map((_, source) => closed.get(source) ?? 0)
  }

  /** Whether an outbox may be another node's, which may know subscriptions that are not known here yet. */
  mayMove(source: SourceNumber): boolean {
    return this.#sources[source]?.owner !== undefined
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
    const owner = this.#sources[source]?.owner
    if (owner === undefined) return true
    // In this order: epochs only grow, so it was confirmed in the one that is compared.
    return owner.isConfirmed() && owner.epoch === this.#epochs[source] && owner.epoch !== this.#closed[source]
  }

  /**
   * This node is about to release an outbox that may move, which it owns under an epoch: nothing of it is sent until it has come to own it
   * again. Says whether it is sent under that epoch, as far as is known here: it may have come back meanwhile, which stays as it is.
   */
  close(source: SourceNumber, epoch: number): boolean {
    this.#closed[source] = Math.max(epoch, this.#closed[source] ?? 0)
    return this.#epochs[source] === epoch
  }

  /** Whether `look` would find something: each outbox at the start, then those that may move. */
  get hasChanged(): boolean {
    return this.#sources.some((_, source) => this.#hasLost(source) || this.#mayTake(source))
  }

  /** Which outboxes are no longer what was read, and which are to be read from their beginning; one may be both. */
  look(): { readonly lost: readonly SourceNumber[]; readonly taken: readonly SourceNumber[] } {
    const numbers = [...this.#sources.keys()]
    const lost = numbers.filter((source) => this.#hasLost(source))
    for (const source of lost) this.#epochs[source] = 0
    const taken = numbers.filter((source) => this.#mayTake(source))
    for (const source of taken) this.#epochs[source] = this.#epochOf(source)
    return { lost, taken: taken.filter((source) => this.isRead(source)) }
  }

  #hasLost(source: SourceNumber): boolean {
    return this.isRead(source) && this.#epochOf(source) !== this.#epochs[source]
  }

  #mayTake(source: SourceNumber): boolean {
    return !this.isRead(source) && this.#sources[source]?.owner?.isConfirmed() !== false
  }

  #epochOf(source: SourceNumber): number {
    const owner = this.#sources[source]?.owner
    return owner === undefined ? always : owner.epoch
  }
}
