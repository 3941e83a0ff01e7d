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

  /** The metadata after an update: an element given without type keeps the type held, and a new one joins [context 2.6]. */
  overlaid(given: readonly Metadata[]): LargeMetadata {
    let list = this.#list
    let size = this.#size
    for (const element of given) {
      const position = positionOf(list, element.name)
      const before = list.at(position)
      const after = element.type === '' ? { ...element, type: this.#typeOf(element.name) } : element
      const isThere = before?.name === element.name
      list = isThere ? list.replaced(position, after) : list.inserted(position, [after])
      if (size !== undefined) size += sizeOfMetadata([after]) - (isThere ? sizeOfMetadata([before]) : 0)
    }
    return new LargeMetadata(list, undefined, size)
  }

  /** The metadata without the element of a name, if it has one. */
  without(name: string): LargeMetadata {
    const position = positionOf(this.#list, name)
    const held = this.#list.at(position)
    if (held?.name !== name) return this
    const size = this.#size === undefined ? undefined : this.#size - sizeOfMetadata([held])
    return new LargeMetadata(this.#list.withoutPositions(new Set([position])), undefined, size)
  }

  isSame(other: LargeMetadata): boolean {
    return this.#list.isSame(other.#list, sameElement)
  }

  #typeOf(name: string): string {
    const next = this.#list.at(positionOf(this.#list, name))
    return next?.name === name ? next.type : ''
  }
}

/** The position of the element of a name, or that at which it would be inserted. */
function positionOf(list: ChunkedList<Metadata>, name: string): number {
  return list.firstFrom((element) => compareBytes(element.name, name))
}

/** Whether two elements have the same name, type and value. */
export function sameElement(a: Metadata, b: Metadata): boolean {
  return a.name === b.name && a.type === b.type && sameValue(a.value, b.value)
}
