import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Nanoseconds } from '../time.js'
import { type BucketReading, durationBuckets } from './buckets.js'

const columns = ['records', 'unanswered', 'fenced', 'neglected', 'isSilent', 'isAway', 'isFull'] as const
type Column = (typeof columns)[number]

const requestDurations = columns.length
const width = requestDurations + durationBuckets.width

/** What the thread reports that has the connection to the engine of a cluster. */
export interface EngineMeter {
  /** A request was answered: how many records it held, and how long it took. */
  answered(records: number, duration: Nanoseconds): void
  /** A request was not answered, or not in time. */
  unanswered(): void
  /** Somebody else's record stands where ours was to stand. */
  fenced(): void
  /** Truncation or compaction did not succeed. */
  neglected(): void
  /** Whether the engine does not answer now. */
  silent(isSilent: boolean): void
  /** Whether it has not answered for so long that updates are refused. */
  away(isAway: boolean): void
  /** Whether it takes no records, since it has no room. */
  full(isFull: boolean): void
}

/** Sums since the start of the process. */
export interface EngineReading {
  readonly records: number
  readonly unanswered: number
  readonly fenced: number
  readonly neglected: number
  readonly isSilent: boolean
  readonly isAway: boolean
  readonly isFull: boolean
  /** In seconds; as many as there were requests that were answered. */
  readonly requestDurations: BucketReading
}

/** The work of the connection to the engine of a cluster: one row. */
export class EngineTable {
  readonly #table: CounterTable

  static make(at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(1, width, 0, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  /** For the thread that has the connection. */
  meter(): EngineMeter {
    const add = (column: Column, amount = 1) => this.#table.add(0, columns.indexOf(column), BigInt(amount))
    const put = (column: Column) => (is: boolean) => this.#table.put(0, columns.indexOf(column), is ? 1n : 0n)
    return {
      answered: (records, duration) => {
        add('records', records)
        durationBuckets.record(this.#table, 0, requestDurations, duration)
      },
      unanswered: () => add('unanswered'),
      fenced: () => add('fenced'),
      neglected: () => add('neglected'),
      silent: put('isSilent'),
      away: put('isAway'),
      full: put('isFull'),
    }
  }

  reading(): EngineReading {
    const cell = (column: number) => this.#table.cell(0, column)
    const sum = (column: Column) => Number(cell(columns.indexOf(column)))
    return {
      records: sum('records'),
      unanswered: sum('unanswered'),
      fenced: sum('fenced'),
      neglected: sum('neglected'),
      isSilent: sum('isSilent') !== 0,
      isAway: sum('isAway') !== 0,
      isFull: sum('isFull') !== 0,
      requestDurations: durationBuckets.reading(cell, requestDurations),
    }
  }
}
