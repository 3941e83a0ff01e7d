import { compareBytes, type Metadata } from '../entity.js'
import { sizeOfMetadata } from '../entity-size.js'
import { sameValue } from '../value.js'
import { ChunkedList } from './chunked-list.js'

/** The metadata of an attribute with very many elements. Versions share what they have in common. */
export class LargeMetadata {
  readonly #list: ChunkedList<Metadata>
  #array: readonly Metadata[] | undefined
  #size: number | undefined

  private constructor(list: ChunkedList<Metadata>, array: readonly Metadata[] | undefined, size: number | undefined) {
    this.#list = list
    this.#array = array
    this.#size = size
  }

  /** Undefined for metadata out of order, or with a repeated name. */
  static of(metadata: readonly Metadata[]): LargeMetadata | undefined {
    const isInOrder = metadata.every(({ name }, at) => {
      const before = metadata[at - 1]
      return before === undefined || compareBytes(before.name, name) < 0
    })
    return isInOrder ? new LargeMetadata(ChunkedList.of(metadata), metadata, undefined) : undefined
  }

  get length(): number {
    return this.#list.length
  }

  get array(): readonly Metadata[] {
    this.#array ??= this.#list.toArray()
    return this.#array
  }

  get size(): number {
    this.#size ??= sizeOfMetadata(this.array)
    return this.#size
  }

  /** The metadata after an update: an element given without type keeps its type, and a new one joins [context 2.6]. */
  overlaid(given: readonly Metadata[]): LargeMetadata {
    let list = this.#list
    let size = this.#size
    for (const element of given) {
      const position = list.firstFrom(({ name }) => compareBytes(name, element.name))
      const next = list.at(position)
      const held = next?.name === element.name ? next : undefined
      const after = held !== undefined && element.type === '' ? { ...element, type: held.type } : element
      list = held === undefined ? list.inserted(position, [after]) : list.replaced(position, after)
      if (size !== undefined) size += sizeOfMetadata([after]) - sizeOfMetadata(held === undefined ? [] : [held])
    }
    return new LargeMetadata(list, undefined, size)
  }

  isSame(other: LargeMetadata): boolean {
    return this.#list.isSame(other.#list, sameElement)
  }
}

/** Whether two elements have the same name, type and value. */
export function sameElement(a: Metadata, b: Metadata): boolean {
  return a.name === b.name && a.type === b.type && sameValue(a.value, b.value)
}
