import { CounterTable, type CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import type { Nanoseconds } from '../../time.js'
import { type BucketReading, durationBuckets, sizeBuckets } from './buckets.js'
import { maxRoutes, verbs } from './counted-routes.js'

/** The status codes with counters of their own; the last stands for all others. */
export const statusCodes = [
  ...['200', '201', '204', '400', '401', '403', '404', '405', '406', '408', '409', '411', '413', '414', '415', '422'],
  ...['431', '500', '501', '503', 'other'],
] as const

/** The codes of errors with counters of their own; the last stands for all others, since providers may give any. */
export const errorCodes: readonly string[] = [...statusCodes.filter((code) => /^[45]/.test(code)), '472', 'other']

/**
 * Columns: per resource and verb the responses by status and their durations, per resource the sizes, per resource and verb the
 * errors.
 */
const perVerb = statusCodes.length + durationBuckets.width
const sizes = maxRoutes * verbs.length * perVerb
const errors = sizes + maxRoutes * 2 * sizeBuckets.width
const width = errors + maxRoutes * verbs.length * errorCodes.length

const errorIndexes: ReadonlyMap<string, number> = new Map(errorCodes.map((code, index) => [code, index]))
const codeIndexes: ReadonlyMap<number, number> = new Map(statusCodes.map((code, index) => [Number(code), index]))

/** The requests by resource for Prometheus, a row per front end: they are never reset [management 7]. */
export class RouteTable {
  readonly #table: CounterTable

  static make(frontEnds: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(frontEnds, width, 0, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  responded(row: number, route: number, verb: number, status: number, duration: Nanoseconds): void {
    const first = (route * verbs.length + verb) * perVerb
    this.#table.add(row, first + (codeIndexes.get(status) ?? statusCodes.length - 1), 1n)
    durationBuckets.record(this.#table, row, first + statusCodes.length, duration)
  }

  sized(row: number, route: number, request_bytes: number, response_bytes: number): void {
    const first = sizes + route * 2 * sizeBuckets.width
    sizeBuckets.record(this.#table, row, first, BigInt(request_bytes))
    sizeBuckets.record(this.#table, row, first + sizeBuckets.width, BigInt(response_bytes))
  }

  /** A response, or a part of it, is an error with this code. */
  failed(row: number, route: number, verb: number, code: string): void {
    const index = errorIndexes.get(code) ?? errorCodes.length - 1
    this.#table.add(row, errors + (route * verbs.length + verb) * errorCodes.length + index, 1n)
  }

  /** The number of responses with a status. */
  responses(route: number, verb: number, code: number): number {
    return Number(this.#table.total((route * verbs.length + verb) * perVerb + code))
  }

  durations(route: number, verb: number): BucketReading {
    return durationBuckets.reading(this.#total, (route * verbs.length + verb) * perVerb + statusCodes.length)
  }

  /** The sum of these durations in nanoseconds: it changes with each of them, and is read faster. */
  spent(route: number, verb: number): Nanoseconds {
    return durationBuckets.sum(this.#total, (route * verbs.length + verb) * perVerb + statusCodes.length)
  }

  requestSizes(route: number): BucketReading {
    return sizeBuckets.reading(this.#total, sizes + route * 2 * sizeBuckets.width)
  }

  responseSizes(route: number): BucketReading {
    return sizeBuckets.reading(this.#total, sizes + (route * 2 + 1) * sizeBuckets.width)
  }

  /** The number of errors with a code, given by its index in `errorCodes`. */
  errors(route: number, verb: number, code: number): number {
    return Number(this.#table.total(errors + (route * verbs.length + verb) * errorCodes.length + code))
  }

  readonly #total = (column: number): bigint => this.#table.total(column)
}
