import type { CounterTable } from '../../threads/shared-memory/counter-table.js'

/** A histogram in Prometheus's form: the number of values up to each bound, the number of all values, and their sum. */
export interface BucketReading {
  /** The bounds in the shown unit, ascending; the last bucket has none. */
  readonly bounds: readonly number[]
  /** Cumulative, one more than bounds: the last is the number of all values. */
  readonly counts: readonly number[]
  /** In the shown unit. */
  readonly sum: number
}

/**
 * A histogram with fixed bounds in neighbouring columns of a table: one per bucket, one for the sum. It only grows, so threads
 * can be added up and read at any time [management 7].
 */
export class Buckets {
  /** The number of columns of one histogram. */
  readonly width: number
  /** In the shown unit, ascending; the last bucket has none. */
  readonly bounds: readonly number[]
  readonly #unit: number

  /** Bounds in the shown unit, ascending, and the number of recorded units in one shown unit. */
  constructor(bounds: readonly number[], unit: number) {
    this.bounds = bounds
    this.#unit = unit
    this.width = bounds.length + 2
  }

  record(table: CounterTable, row: number, first: number, value: bigint): void {
    const shown = Number(value) / this.#unit
    let bucket = 0
    for (; bucket < this.bounds.length; bucket += 1) if (shown <= (this.bounds[bucket] ?? 0)) break
    // A baseline reads the columns in order: each value that it has in a bucket is also in its sum.
    table.add(row, first + this.bounds.length + 1, value)
    table.add(row, first + bucket, 1n)
  }

  /** The number of values; `column` reads a column. */
  count(column: (column: number) => bigint, first: number): bigint {
    let count = 0n
    for (let bucket = 0; bucket <= this.bounds.length; bucket += 1) count += column(first + bucket)
    return count
  }

  /** The sum of the values as recorded. */
  sum(column: (column: number) => bigint, first: number): bigint {
    return column(first + this.bounds.length + 1)
  }

  /** The whole histogram; `zeros` unrecorded values of 0 are added to the first bucket. */
  reading(column: (column: number) => bigint, first: number, zeros = 0n): BucketReading {
    const counts: number[] = []
    let sofar = zeros
    for (let bucket = 0; bucket <= this.bounds.length; bucket += 1) {
      sofar += column(first + bucket)
      counts.push(Number(sofar))
    }
    return { bounds: this.bounds, counts, sum: Number(this.sum(column, first)) / this.#unit }
  }
}

const nanosecondsPerSecond = 1e9

/** Waits and durations, recorded in nanoseconds, shown in seconds. */
export const durationBuckets = new Buckets(
  [1e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  nanosecondsPerSecond,
)
/** Sizes of payloads in bytes. */
export const sizeBuckets = new Buckets([0, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 8388608], 1)
/** Commands in one turn. */
export const operationBuckets = new Buckets([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], 1)
