import type { Entity } from '../../model/context/entity.js'
import { showing } from '../../model/context/entity-forms.js'
import { compareKeys, type SortedBy, sortKeysOf } from '../../model/context/order.js'
import { type Query, shownAttributes } from '../../model/context/query.js'
import { noSteps, type Steps } from '../../slices.js'
import { encodeEntity } from '../records/record.js'
import type { Candidate } from './partition-reader.js'

/** One page of a query as stored records, and the number of all results if it was requested. */
export interface RecordPage {
  /** The records, reduced to the attributes that the query names. */
  readonly records: readonly string[]
  readonly count: number | undefined
}

/** A result of a query while its page is put together. */
export interface ScanMatch {
  readonly candidate: Candidate
  readonly text: string
  readonly entity: Entity
}

/** Builds a page from results as they are found. */
export interface ResultPage {
  /** Passes over one result before the page without reading it; false when the next one has to be read. */
  skips(): boolean
  /** Takes one more result; returns whether further ones are needed. */
  take(result: ScanMatch): 'more' | 'full' | 'tooLarge'
  /** The page after the last result, in steps; undefined when it is too large. */
  page(): Steps<RecordPage | undefined>
}

/** A page of results that arrive in order. */
export class CreationPage implements ResultPage {
  readonly #query: Query
  readonly #known: number | undefined
  readonly #limit_bytes: number
  readonly #records: string[] = []
  #bytes = 0
  #count = 0

  /** `known` is the number of all results, if it is known before. */
  constructor(query: Query, known: number | undefined, limit_bytes: number) {
    this.#query = query
    this.#known = known
    this.#limit_bytes = limit_bytes
  }

  skips(): boolean {
    if (this.#count >= this.#query.offset) return false
    this.#count += 1
    return true
  }

  take({ text, entity }: ScanMatch): 'more' | 'full' | 'tooLarge' {
    const { offset, limit, counted } = this.#query
    if (this.#count >= offset && this.#records.length < limit) {
      const record = shown(text, () => entity, this.#query)
      this.#bytes += Buffer.byteLength(record)
      if (this.#bytes > this.#limit_bytes) return 'tooLarge'
      this.#records.push(record)
    }
    this.#count += 1
    return this.#records.length >= limit && (!counted || this.#known !== undefined) ? 'full' : 'more'
  }

  page(): Steps<RecordPage> {
    return noSteps({ records: this.#records, count: this.#query.counted ? (this.#known ?? this.#count) : undefined })
  }
}

/** A result that is kept until the end of the scan: its sort values, and where its record is read again. */
interface Waiting extends SortedBy {
  readonly candidate: Candidate
  readonly bytes: number
}

const waiting_bytes = 160

/**
 * The page of results whose order is known only when all have been seen. Keeps the first ones up to the end of the page,
 * as a heap with the last of them on top, and of each only the values that it is sorted by.
 */
export class SortedPage implements ResultPage {
  readonly #query: Query
  readonly #limit_bytes: number
  readonly #keysOf: (entity: Entity) => SortedBy
  readonly #compare: (a: SortedBy, b: SortedBy) => number
  readonly #heap: Waiting[] = []
  #bytes = 0
  #count = 0

  constructor(query: Query, limit_bytes: number) {
    this.#query = query
    this.#limit_bytes = limit_bytes
    this.#keysOf = sortKeysOf(query.order)
    this.#compare = compareKeys(query.order)
  }

  skips(): boolean {
    return false
  }

  take({ candidate, entity }: ScanMatch): 'more' | 'tooLarge' {
    this.#count += 1
    const keys = this.#keysOf(entity)
    const heap = this.#heap
    const top = heap[0]
    const isFull = heap.length >= this.#query.offset + this.#query.limit
    if (isFull && top !== undefined && this.#compare(keys, top) > 0) return 'more'
    const waiting = { ...keys, candidate: candidate.unread(), bytes: waiting_bytes + keys.bytes }
    this.#bytes += waiting.bytes
    if (isFull && top !== undefined) {
      this.#bytes -= top.bytes
      heap[0] = waiting
      this.#sink()
    } else {
      heap.push(waiting)
      this.#rise()
    }
    return this.#bytes > this.#limit_bytes ? 'tooLarge' : 'more'
  }

  *page(): Steps<RecordPage | undefined> {
    const { offset, counted } = this.#query
    const records: string[] = []
    let bytes = 0
    while (this.#heap.length > offset) {
      const candidate = this.#pop()
      const text = candidate.read()
      const record = shown(text, () => candidate.decode(text), this.#query)
      bytes += Buffer.byteLength(record)
      if (bytes > this.#limit_bytes) return undefined
      records.push(record)
      yield
    }
    return { records: records.reverse(), count: counted ? this.#count : undefined }
  }

  /** Removes and returns the last one in the order. */
  #pop(): Candidate {
    const [top] = this.#heap
    const end = this.#heap.pop()
    if (top === undefined || end === undefined) throw new Error('nothing waits')
    if (this.#heap.length > 0) {
      this.#heap[0] = end
      this.#sink()
    }
    return top.candidate
  }

  #rise(): void {
    const heap = this.#heap
    let at = heap.length - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!this.#isAfter(at, above)) return
      this.#swap(at, above)
      at = above
    }
  }

  #sink(): void {
    const { length } = this.#heap
    let at = 0
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let last = at
      if (left < length && this.#isAfter(left, last)) last = left
      if (right < length && this.#isAfter(right, last)) last = right
      if (last === at) return
      this.#swap(at, last)
      at = last
    }
  }

  #isAfter(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]]
    return a !== undefined && b !== undefined && this.#compare(a, b) > 0
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]]
    if (a === undefined || b === undefined) return
    this.#heap[one] = b
    this.#heap[other] = a
  }
}

/** The record of a result, with the attributes that the query names. The entity of a large record takes long to decode: only where it is needed. */
function shown(text: string, decode: () => Entity, { attributes: needed, shown: names = needed }: Query): string {
  if (names.length === 0) return text
  const entity = decode()
  const attributes = shownAttributes(entity, names)
  return attributes.length === entity.attributes.length ? text : encodeEntity(showing(entity, attributes))
}
