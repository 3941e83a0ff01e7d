import { type JsonScalar, type JsonTree, partsOf } from '../../json-reader.js'
import { maxValues } from '../../model/context/entity-size.js'
import type { Steps } from '../../slices.js'

/** The room for as many members and items as the values of an entity may have. */
export class PartRoom {
  #left = maxValues

  get isExceeded(): boolean {
    return this.#left < 0
  }

  /**
   * Whether there was room for a value. It is counted before it is made: one of 250,000 members, which is not shown, would keep its thread for
   * 80 ms.
   */
  *takes(value: JsonTree<JsonScalar>): Steps<boolean> {
    if (!this.isExceeded) this.#left -= yield* partsOf(value, this.#left)
    return !this.isExceeded
  }
}

/** The room of an entity that a provider gives: for the values of its attributes, and for those of their metadata. */
export class ValueRoom {
  readonly inValues = new PartRoom()
  readonly inMetadata = new PartRoom()

  get isExceeded(): boolean {
    return this.inValues.isExceeded || this.inMetadata.isExceeded
  }
}
