import type { Nanoseconds } from '../../time.js'

/** The shared memory of a table. */
export interface CounterTableMemory {
  readonly width: number
  readonly baselines: number
  readonly counters: SharedArrayBuffer
}

/** The cells of a baseline: its lock, how often setting it has begun, and which of its two slots is valid. */
const lockCell = 0
const begunCell = 1
const slotCell = 2
const headerLength = 3
const slots = 2

/** Behind the sums of a slot: when they were taken, and how often the baseline had been set. */
const trailerLength = 2

/** Setting a baseline takes less than this: a thread that holds the lock for longer has died. */
const lockLimit_ms = 1000

/** A consistent view of a baseline: its figures belong together, even if the baseline is set again meanwhile. */
export interface Baseline {
  /** When it was set, by the monotonic clock. */
  readonly at: Nanoseconds
  /** How often it had been set. */
  readonly number: bigint
  /** See `CounterTable.since`. */
  since(column: number, rows?: readonly number[]): bigint
}

/**
 * A table of 64-bit counters in shared memory: one row per thread, one column per quantity. Every cell has one writer, so
 * counting never waits; readers add up the rows. A reset does not write other threads' cells: it stores the sums as a baseline, from
 * which `since` counts [management 5.1].
 */
export class CounterTable {
  readonly memory: CounterTableMemory
  readonly rows: number
  readonly #width: number
  readonly #counters: BigUint64Array

  /** Makes a table whose baselines are all set at the given moment. */
  static make(rows: number, width: number, baselines: number, at: Nanoseconds): CounterTable {
    const counters = new SharedArrayBuffer(
      (rows * width + baselines * baselineLength(width)) * BigUint64Array.BYTES_PER_ELEMENT,
    )
    const table = new CounterTable({ width, baselines, counters })
    for (let baseline = 0; baseline < baselines; baseline += 1) table.setBaseline(baseline, at)
    return table
  }

  /** Opens a table that another thread has made. */
  constructor(memory: CounterTableMemory) {
    this.memory = memory
    this.#width = memory.width
    this.#counters = new BigUint64Array(memory.counters)
    const { width, baselines } = memory
    this.rows = width === 0 ? 0 : (this.#counters.length - baselines * baselineLength(width)) / width
  }

  /** Adds to a cell; only the thread that owns the row may. */
  add(row: number, column: number, amount: bigint): void {
    const counter = row * this.#width + column
    Atomics.store(this.#counters, counter, (this.#counters[counter] ?? 0n) + amount)
  }

  /** Writes a cell; only the thread that owns the row may. */
  put(row: number, column: number, value: bigint): void {
    Atomics.store(this.#counters, row * this.#width + column, value)
  }

  value(row: number, column: number): bigint {
    return Atomics.load(this.#counters, row * this.#width + column)
  }

  /** The sum of a column over all threads. */
  total(column: number): bigint {
    let sum = 0n
    for (let row = 0; row < this.rows; row += 1) sum += this.value(row, column)
    return sum
  }

  /**
   * The sum of a column over all threads since a baseline was set; over the given rows if all others are known to be zero. The column
   * must never decrease.
   */
  since(baseline: number, column: number, rows?: readonly number[]): bigint {
    return this.#since(this.#slot(baseline), column, rows)
  }

  /** A view of a baseline, for several columns whose sums have to belong together. */
  baseline(baseline: number): Baseline {
    const slot = this.#slot(baseline)
    return {
      at: Atomics.load(this.#counters, slot + this.#width),
      number: Atomics.load(this.#counters, slot + this.#width + 1),
      since: (column, rows) => this.#since(slot, column, rows),
    }
  }

  #since(slot: number, column: number, rows?: readonly number[]): bigint {
    // The baseline is read first, so it is never ahead of a sum that is read later.
    const before = Atomics.load(this.#counters, slot + column)
    let sum = 0n
    if (rows === undefined) sum = this.total(column)
    else for (const row of rows) sum += this.value(row, column)
    // Rows that were zero when they were listed may count in the baseline, and a baseline may have been set twice meanwhile.
    return sum < before ? 0n : sum - before
  }

  /** The rows in which a column is not zero. */
  rowsWith(column: number): readonly number[] {
    const found: number[] = []
    for (let row = 0; row < this.rows; row += 1) if (this.value(row, column) !== 0n) found.push(row)
    return found
  }

  /** When a baseline was set, by the monotonic clock. */
  baselineAt(baseline: number): Nanoseconds {
    return this.baseline(baseline).at
  }

  /**
   * How often setting a baseline has begun. Amounts that are added after this number grew may count before or behind the baseline;
   * earlier ones count before it.
   */
  begun(baseline: number): bigint {
    return Atomics.load(this.#counters, this.#headerOf(baseline) + begunCell)
  }

  /**
   * Sets a baseline: from now on `since` counts from zero. Any thread may do so, one at a time. Other threads see the sums and the
   * moment together, once all are taken. The moment never goes back.
   */
  setBaseline(baseline: number, at: Nanoseconds): void {
    const header = this.#headerOf(baseline)
    this.#lock(header + lockCell)
    const number = Atomics.add(this.#counters, header + begunCell, 1n) + 1n
    const before = Atomics.load(this.#counters, this.#slot(baseline) + this.#width)
    const next = 1n - Atomics.load(this.#counters, header + slotCell)
    const slot = this.#slotOf(baseline, next)
    for (let column = 0; column < this.#width; column += 1) {
      Atomics.store(this.#counters, slot + column, this.total(column))
    }
    Atomics.store(this.#counters, slot + this.#width, at > before ? at : before)
    Atomics.store(this.#counters, slot + this.#width + 1, number)
    Atomics.store(this.#counters, header + slotCell, next)
    Atomics.store(this.#counters, header + lockCell, 0n)
  }

  #lock(cell: number): void {
    const until_ms = performance.now() + lockLimit_ms
    while (Atomics.compareExchange(this.#counters, cell, 0n, 1n) !== 0n) if (performance.now() > until_ms) return
  }

  #headerOf(baseline: number): number {
    return this.rows * this.#width + baseline * baselineLength(this.#width)
  }

  #slot(baseline: number): number {
    return this.#slotOf(baseline, Atomics.load(this.#counters, this.#headerOf(baseline) + slotCell))
  }

  #slotOf(baseline: number, slot: bigint): number {
    return this.#headerOf(baseline) + headerLength + Number(slot) * (this.#width + trailerLength)
  }
}

function baselineLength(width: number): number {
  return headerLength + slots * (width + trailerLength)
}
