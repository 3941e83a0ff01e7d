import type { ValueMeasure } from '../entity-size.js'
import { nowhere, PieceTable } from './piece-table.js'
import { PieceReader } from './text-measure.js'

/** An object or array as `JSON.stringify` has written it, with its measure. */
export interface MeasuredText extends ValueMeasure {
  readonly text: string
}

/**
 * An object with members set and others removed, all by their texts: one look at each member, of which nothing is made. Undefined when a key is
 * among both.
 */
export function mergedMembers(held: MeasuredText, set: string, unset: string): MeasuredText | undefined {
  const [given, gone] = [new PieceTable(set), new PieceTable(unset)]
  if (given.hasSomeOf(gone)) return undefined
  let [size, values] = [held.size + given.size, held.values + given.values]
  const [kept, added] = [new OrderedMembers(), new OrderedMembers()]
  // Keys that are indexes of arrays come first.
  const hasIndexes = given.length > 0 && indexIn(given.key(0)) !== undefined
  const isReplaced = new Uint8Array(given.length)
  for (const reader = new PieceReader(held.text); reader.next(); ) {
    const index = hasIndexes ? indexIn(reader.key) : undefined
    const place = given.find(reader)
    if (place === nowhere && gone.find(reader) === nowhere) {
      kept.push(reader.written, index)
      continue
    }
    size -= reader.size
    values -= reader.values
    if (place === nowhere) continue
    kept.push(given.written(place), index)
    isReplaced[place] = 1
  }
  for (let place = 0; place < given.length; place += 1) {
    if (isReplaced[place] !== 1) added.push(given.written(place), hasIndexes ? indexIn(given.key(place)) : undefined)
  }
  return { text: `{${kept.joinedWith(added)}}`, size, values }
}

/** An array without the items that equal one of these scalars, by their texts. */
export function withoutScalars(held: MeasuredText, scalars: string): MeasuredText {
  const gone = new PieceTable(scalars)
  let { size, values } = held
  const kept: string[] = []
  for (const reader = new PieceReader(held.text); reader.next(); ) {
    if (gone.find(reader) === nowhere) {
      kept.push(reader.written)
      continue
    }
    size -= reader.size
    values -= reader.values
  }
  return { text: `[${kept.join(',')}]`, size, values }
}

/** An array with those of the scalars that it lacks, each once, at its end, by their texts. */
export function withScalars(held: MeasuredText, scalars: string): MeasuredText {
  const given = new PieceTable(scalars)
  let [size, values] = [held.size + given.size, held.values + given.values]
  const isHeld = new Uint8Array(given.length)
  for (const reader = new PieceReader(held.text); reader.next(); ) {
    const place = given.find(reader)
    if (place === nowhere || isHeld[place] === 1) continue
    isHeld[place] = 1
    size -= reader.size
    values -= reader.values
  }
  const added: string[] = []
  for (let place = 0; place < given.length; place += 1) if (isHeld[place] !== 1) added.push(given.written(place))
  if (added.length === 0) return held
  const before = held.text === '[]' ? '[' : `${held.text.slice(0, -1)},`
  return { text: `${before}${added.join(',')}]`, size, values }
}

/** Whether the text of an array certainly has no array or object in it. */
export function isFlat(text: string): boolean {
  return text.indexOf('[', 1) < 0 && !text.includes('{')
}

/** The texts of members in the order in which an object lists its keys: indexes of arrays ascend before all other keys. */
class OrderedMembers {
  readonly #texts: string[] = []
  /** Those of the first members. */
  readonly #indexes: number[] = []

  /** @param index of its key, if it is one */
  push(text: string, index: number | undefined): void {
    if (index !== undefined) this.#indexes.push(index)
    this.#texts.push(text)
  }

  /** With the others where their keys belong, which none of these have. */
  joinedWith(others: OrderedMembers): string {
    const pieces: string[] = []
    let from = 0
    for (const [at, text] of others.#texts.entries()) {
      const end = this.#endBefore(others.#indexes[at], from)
      if (end > from) pieces.push(this.#texts.slice(from, end).join(','))
      from = end
      pieces.push(text)
    }
    if (from < this.#texts.length) pieces.push(this.#texts.slice(from).join(','))
    return pieces.join(',')
  }

  /** Where those end, from there on, that stand before a member with this index or, without one, before what is added at the end. */
  #endBefore(index: number | undefined, from: number): number {
    if (index === undefined) return this.#texts.length
    let end = from
    while ((this.#indexes[end] ?? index) < index) end += 1
    return end
  }
}

/** The index of an array that a key is. */
export function indexIn(key: string): number | undefined {
  const { length } = key
  if (length === 0 || length > longestIndex || (length > 1 && key.charCodeAt(0) === zero)) return undefined
  let index = 0
  for (let at = 0; at < length; at += 1) {
    const digit = key.charCodeAt(at) - zero
    if (digit < 0 || digit > 9) return undefined
    index = 10 * index + digit
  }
  return index < indexes ? index : undefined
}

const [zero, longestIndex] = [0x30, 10]

/** More than any index. */
export const indexes = 2 ** 32 - 1
