import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Nanoseconds } from '../time.js'
import { maxRoutes, verbs } from './counted-routes.js'
import { type CounterName, counterColumn, counterRows } from './counters.js'

const flatMark = 0
const nestedMark = 1
const requests = counterRows.length

/** The counters of the statistics, and the requests by path and verb [management 4]. */
export class RequestCountTable {
  readonly #table: CounterTable

  static make(rows: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(rows, requests + maxRoutes * verbs.length, 2, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  /** Counts one more, in the row of the thread that calls. */
  add(row: number, column: number, amount = 1n): void {
    this.#table.add(row, column, amount)
  }

  /** The column of the requests on a resource with a verb, by their places. */
  requestColumn(route: number, verb: number): number {
    return requests + route * verbs.length + verb
  }

  /** A counter of the flat part, since the last reset [management 4.1]. */
  flat(name: CounterName): bigint {
    return this.#table.since(flatMark, counterColumn(name))
  }

  /** A column of the nested part, since the last reset or since that part was switched on [management 4.5, 4.7]. */
  nested(column: number): bigint {
    return this.#table.since(nestedMark, column)
  }

  /** Since the start of the process, whatever was reset [management 7]. */
  ever(name: CounterName): bigint {
    return this.#table.total(counterColumn(name))
  }

  /** The last reset, or the start. */
  get resetAt(): Nanoseconds {
    return this.#table.markedAt(flatMark)
  }

  reset(at: Nanoseconds): void {
    this.#table.mark(flatMark, at)
    this.resetNested(at)
  }

  resetNested(at: Nanoseconds): void {
    this.#table.mark(nestedMark, at)
  }
}
