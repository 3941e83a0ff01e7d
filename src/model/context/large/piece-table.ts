import { PieceReader } from './text-measure.js'

/** Where a piece stands that is not in a table. */
export const nowhere = -1

const leastSlots = 256

/** Most pieces have more characters than this: room for them is made at once, since to place them again takes as long as the first time. */
const piece_characters = 8

/** A power of two. */
function slotsFor(characters: number): number {
  return Math.max(leastSlots, 2 ** Math.ceil(Math.log2((2 * characters) / piece_characters)))
}

/**
 * The members of an object under their keys, or the scalars of an array, each once, by its text as `JSON.stringify` has written it. With a `Map`,
 * which needs a string of each key, a `$set` of 40,000 members takes twice as long.
 */
export class PieceTable {
  readonly #text: string
  readonly #froms: number[] = []
  readonly #keyEnds: number[] = []
  readonly #ends: number[] = []
  readonly #hashes: number[] = []
  /** Open addressing: the places of the pieces, counted from 1; 0 where there is none. At most half of them are in use. */
  #slots: Int32Array
  /** What a client cannot know, so that it cannot choose keys of one hash. */
  readonly #seed = randomInt()
  readonly #factor = randomInt() | 1
  /** What the pieces add to the measure of an object or array. */
  size = 0
  values = 0

  constructor(text: string) {
    this.#text = text
    this.#slots = new Int32Array(slotsFor(text.length))
    for (const reader = new PieceReader(text); reader.next(); ) this.#add(reader)
  }

  get length(): number {
    return this.#froms.length
  }

  /** Where a piece of another text stands with the same key, or the same scalar. */
  find({ text, from, keyEnd }: PieceReader): number {
    if (this.#froms.length === 0) return nowhere
    const hash = this.#hashOf(text, from, keyEnd)
    return (this.#slots[this.#slotOf(text, from, keyEnd, hash)] ?? 0) - 1
  }

  /** Whether it has one of the pieces of another table. */
  hasSomeOf(other: PieceTable): boolean {
    if (this.length === 0) return false
    for (const reader = new PieceReader(other.#text); reader.next(); ) if (this.find(reader) !== nowhere) return true
    return false
  }

  key(place: number): string {
    return this.#text.slice((this.#froms[place] ?? 0) + 1, (this.#keyEnds[place] ?? 0) - 1)
  }

  written(place: number): string {
    return this.#text.slice(this.#froms[place], this.#ends[place])
  }

  #add({ text, from, keyEnd, to, size, values }: PieceReader): void {
    const hash = this.#hashOf(text, from, keyEnd)
    const slot = this.#slotOf(text, from, keyEnd, hash)
    if (this.#slots[slot] !== 0) return
    this.#froms.push(from)
    this.#keyEnds.push(keyEnd)
    this.#ends.push(to)
    this.#hashes.push(hash)
    this.#slots[slot] = this.#froms.length
    this.size += size
    this.values += values
    if (2 * this.#froms.length > this.#slots.length) this.#grow()
  }

  /** The slot of the piece with this key; the one where it belongs if there is none. */
  #slotOf(text: string, from: number, to: number, hash: number): number {
    const [slots, hashes] = [this.#slots, this.#hashes]
    const mask = slots.length - 1
    let slot = hash & mask
    for (;;) {
      const place = (slots[slot] ?? 0) - 1
      if (place === nowhere || (hashes[place] === hash && this.#isAt(place, text, from, to))) return slot
      slot = (slot + 1) & mask
    }
  }

  #isAt(place: number, text: string, from: number, to: number): boolean {
    const [own, begin] = [this.#text, this.#froms[place] ?? 0]
    if ((this.#keyEnds[place] ?? 0) - begin !== to - from) return false
    for (let at = from; at < to; at += 1) if (own.charCodeAt(begin + at - from) !== text.charCodeAt(at)) return false
    return true
  }

  #hashOf(text: string, from: number, to: number): number {
    let hash = this.#seed
    for (let at = from; at < to; at += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(at), this.#factor)
      hash ^= hash >>> 15
    }
    return hash
  }

  #grow(): void {
    const slots = new Int32Array(4 * this.#slots.length)
    const mask = slots.length - 1
    for (const [place, hash] of this.#hashes.entries()) {
      let slot = hash & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = place + 1
    }
    this.#slots = slots
  }
}

function randomInt(): number {
  return Math.floor(Math.random() * 2 ** 32) | 0
}
