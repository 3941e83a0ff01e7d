import { Sheet, type SheetMemory } from '../shared-memory/counter-table.js'
import type { Nanoseconds } from '../time.js'
import { type CounterName, counterColumn, counterRows } from './counters.js'
import { routeSlots, verbs } from './routes.js'

const flatMark = 0
const nestedMark = 1
const requests = counterRows.length

/** The counters of the statistics, and the requests by path and verb [management 4]. */
export class CountSheet {
  readonly #sheet: Sheet

  static make(rows: number, at: Nanoseconds): SheetMemory {
    return Sheet.make(rows, requests + routeSlots * verbs.length, 2, at).memory
  }

  constructor(memory: SheetMemory) {
    this.#sheet = new Sheet(memory)
  }

  get memory(): SheetMemory {
    return this.#sheet.memory
  }

  /** Counts one more, in the row of the thread that calls. */
  add(row: number, column: number, amount = 1n): void {
    this.#sheet.add(row, column, amount)
  }

  /** The column of the requests on a resource with a verb, by their places. */
  requestColumn(route: number, verb: number): number {
    return requests + route * verbs.length + verb
  }

  /** A counter of the flat part, since the last reset [management 4.1]. */
  flat(name: CounterName): bigint {
    return this.#sheet.since(flatMark, counterColumn(name))
  }

  /** A column of the nested part, since the last reset or since that part was switched on [management 4.5, 4.7]. */
  nested(column: number): bigint {
    return this.#sheet.since(nestedMark, column)
  }

  /** Since the start of the process, whatever was reset [management 7]. */
  ever(name: CounterName): bigint {
    return this.#sheet.total(counterColumn(name))
  }

  /** The last reset, or the start. */
  get resetAt(): Nanoseconds {
    return this.#sheet.markedAt(flatMark)
  }

  reset(at: Nanoseconds): void {
    this.#sheet.mark(flatMark, at)
    this.resetNested(at)
  }

  resetNested(at: Nanoseconds): void {
    this.#sheet.mark(nestedMark, at)
  }
}
