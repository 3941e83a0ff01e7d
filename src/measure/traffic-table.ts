import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Nanoseconds } from '../time.js'
import { type BucketReading, durationBuckets, sizeBuckets } from './buckets.js'
import { maxRoutes, verbs } from './counted-routes.js'
import { type Rejection, rejections } from './requests.js'

/** The states that are told apart; the last stands for all others. */
export const statusCodes = [
  ...['200', '201', '204', '400', '401', '403', '404', '405', '406', '408', '409', '411', '413', '414', '415', '422'],
  ...['431', '500', '501', '503', 'other'],
] as const

export const trafficGauges = ['connections', 'inFlight', 'permitsFree', 'permitsTaken', 'permitsQueued'] as const
type TrafficGauge = (typeof trafficGauges)[number]

/** Columns: per resource and verb the responses by status and their durations, per resource the sizes, then the rest. */
const perVerb = statusCodes.length + durationBuckets.width
const sizes = maxRoutes * verbs.length * perVerb
const rejected = sizes + maxRoutes * 2 * sizeBuckets.width
const gauges = rejected + rejections.length
const width = gauges + trafficGauges.length

const codeIndexes: ReadonlyMap<number, number> = new Map(statusCodes.map((code, index) => [Number(code), index]))

/** The HTTP traffic as Prometheus sees it, a row per front end: it is never reset [management 7]. */
export class TrafficTable {
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

  rejected(row: number, reason: Rejection): void {
    this.#table.add(row, rejected + rejections.indexOf(reason), 1n)
  }

  put(row: number, gauge: TrafficGauge, value: number): void {
    this.#table.put(row, gauges + trafficGauges.indexOf(gauge), BigInt(value))
  }

  /** How many responses have a status. */
  responses(route: number, verb: number, code: number): number {
    return Number(this.#table.total((route * verbs.length + verb) * perVerb + code))
  }

  durations(route: number, verb: number): BucketReading {
    return durationBuckets.reading(this.#total, (route * verbs.length + verb) * perVerb + statusCodes.length)
  }

  requestSizes(route: number): BucketReading {
    return sizeBuckets.reading(this.#total, sizes + route * 2 * sizeBuckets.width)
  }

  responseSizes(route: number): BucketReading {
    return sizeBuckets.reading(this.#total, sizes + (route * 2 + 1) * sizeBuckets.width)
  }

  rejections(reason: Rejection): number {
    return Number(this.#table.total(rejected + rejections.indexOf(reason)))
  }

  /** The state over all front ends, of which one may have less than nothing. */
  gauge(gauge: TrafficGauge): number {
    return Number(BigInt.asIntN(64, this.#table.total(gauges + trafficGauges.indexOf(gauge))))
  }

  readonly #total = (column: number): bigint => this.#table.total(column)
}
