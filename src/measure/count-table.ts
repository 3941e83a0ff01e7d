import { CounterTable, type CounterTableMemory, type Marked } from '../shared-memory/counter-table.js'
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

  /** The last reset, or the start: what is read from it belongs together, with its moment. */
  get since(): Marked {
    return this.#table.marked(flatMark)
  }

  /** A counter of the flat part, since the last reset [management 4.1]. */
  flat(name: CounterName, from = this.since): bigint {
    return from.since(counterColumn(name))
  }

  /** A column of the nested part, since the last reset or since that part was switched on [management 4.5, 4.7]. */
  nested(column: number, from = this.nestedSince): bigint {
    return from.since(column)
  }

  /** Where the nested part begins, as `since`. */
  get nestedSince(): Marked {
    return this.#table.marked(nestedMark)
  }

  /** Since the start of the process, whatever was reset [management 7]. */
  ever(name: CounterName): bigint {
    return this.#table.total(counterColumn(name))
  }

  reset(at: Nanoseconds): void {
    this.#table.mark(flatMark, at)
    this.resetNested(at)
  }

  resetNested(at: Nanoseconds): void {
    this.#table.mark(nestedMark, at)
  }
}
