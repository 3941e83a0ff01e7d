import type { Nanoseconds } from '../../time.js'

/** The shared memory of a table. */
export interface CounterTableMemory {
  readonly width: number
  readonly marks: number
  readonly cells: SharedArrayBuffer
}

/** The cells of a mark: its lock, how often setting it has begun, and which of its two slots is valid. */
const lockCell = 0
const begunCell = 1
const placeCell = 2
const controlCells = 3
const places = 2

/** Behind the sums of a slot: when they were taken, and how often the mark had been set. */
const moreCells = 2

/** Setting a mark takes less than this: a thread that holds the lock for longer has died. */
const lockLimit_ms = 1000

/** A consistent view of a mark: its figures belong together, even if the mark is set again meanwhile. */
export interface Marked {
  /** When it was set, by the monotonic clock. */
  readonly at: Nanoseconds
  /** How often it had been set. */
  readonly number: bigint
  /** See `CounterTable.since`. */
  since(column: number, rows?: readonly number[]): bigint
}

/**
 * A table of 64-bit counters in shared memory: one row per thread, one column per quantity. Every cell has one writer, so
 * counting never waits; readers add up the rows. A reset stores the sums in a mark instead of writing other threads' cells
 * [management 5.1].
 */
export class CounterTable {
  readonly memory: CounterTableMemory
  readonly rows: number
  readonly #width: number
  readonly #cells: BigUint64Array

  /** Makes a table whose marks are all set at the given moment. */
  static make(rows: number, width: number, marks: number, at: Nanoseconds): CounterTable {
    const cells = new SharedArrayBuffer((rows * width + marks * markCells(width)) * BigUint64Array.BYTES_PER_ELEMENT)
    const table = new CounterTable({ width, marks, cells })
    for (let setMark = 0; setMark < marks; setMark += 1) table.mark(setMark, at)
    return table
  }

  /** Opens a table that another thread has made. */
  constructor(memory: CounterTableMemory) {
    this.memory = memory
    this.#width = memory.width
    this.#cells = new BigUint64Array(memory.cells)
    const { width, marks } = memory
    this.rows = width === 0 ? 0 : (this.#cells.length - marks * markCells(width)) / width
  }

  /** Adds to a cell; only the thread that owns the row may. */
  add(row: number, column: number, amount: bigint): void {
    const counter = row * this.#width + column
    Atomics.store(this.#cells, counter, (this.#cells[counter] ?? 0n) + amount)
  }

  /** Writes a cell; only the thread that owns the row may. */
  put(row: number, column: number, value: bigint): void {
    Atomics.store(this.#cells, row * this.#width + column, value)
  }

  cell(row: number, column: number): bigint {
    return Atomics.load(this.#cells, row * this.#width + column)
  }

  /** The sum of a column over all threads. */
  total(column: number): bigint {
    let sum = 0n
    for (let row = 0; row < this.rows; row += 1) sum += this.cell(row, column)
    return sum
  }

  /**
   * The sum of a column over all threads since a mark was set; over the given rows if all others are known to be zero. The column
   * must never decrease.
   */
  since(mark: number, column: number, rows?: readonly number[]): bigint {
    return this.#since(this.#place(mark), column, rows)
  }

  /** A view of a mark, for several columns whose sums have to belong together. */
  marked(mark: number): Marked {
    const place = this.#place(mark)
    return {
      at: Atomics.load(this.#cells, place + this.#width),
      number: Atomics.load(this.#cells, place + this.#width + 1),
      since: (column, rows) => this.#since(place, column, rows),
    }
  }

  #since(place: number, column: number, rows?: readonly number[]): bigint {
    // The mark is read first, so it is never ahead of a sum that is read later.
    const marked = Atomics.load(this.#cells, place + column)
    let sum = 0n
    if (rows === undefined) sum = this.total(column)
    else for (const row of rows) sum += this.cell(row, column)
    // Rows that were zero when they were listed may count in the mark, and a mark may have been set twice meanwhile.
    return sum < marked ? 0n : sum - marked
  }

  /** The rows in which a column is not zero. */
  rowsWith(column: number): readonly number[] {
    const found: number[] = []
    for (let row = 0; row < this.rows; row += 1) if (this.cell(row, column) !== 0n) found.push(row)
    return found
  }

  /** When a mark was set, by the monotonic clock. */
  markedAt(mark: number): Nanoseconds {
    return this.marked(mark).at
  }

  /**
   * How often setting a mark has begun. Amounts that are added after this number grew may count before or behind the mark;
   * earlier ones count before it.
   */
  begun(mark: number): bigint {
    return Atomics.load(this.#cells, this.#control(mark) + begunCell)
  }

  /**
   * Sets a mark: from now on `since` counts from zero. Any thread may do so, one at a time. Other threads see the sums and the
   * moment together, once all are taken. The moment never goes back.
   */
  mark(mark: number, at: Nanoseconds): void {
    const control = this.#control(mark)
    this.#lock(control + lockCell)
    const number = Atomics.add(this.#cells, control + begunCell, 1n) + 1n
    const before = Atomics.load(this.#cells, this.#place(mark) + this.#width)
    const next = 1n - Atomics.load(this.#cells, control + placeCell)
    const place = this.#placeOf(mark, next)
    for (let column = 0; column < this.#width; column += 1) {
      Atomics.store(this.#cells, place + column, this.total(column))
    }
    Atomics.store(this.#cells, place + this.#width, at > before ? at : before)
    Atomics.store(this.#cells, place + this.#width + 1, number)
    Atomics.store(this.#cells, control + placeCell, next)
    Atomics.store(this.#cells, control + lockCell, 0n)
  }

  #lock(cell: number): void {
    const until_ms = performance.now() + lockLimit_ms
    while (Atomics.compareExchange(this.#cells, cell, 0n, 1n) !== 0n) if (performance.now() > until_ms) return
  }

  #control(mark: number): number {
    return this.rows * this.#width + mark * markCells(this.#width)
  }

  #place(mark: number): number {
    return this.#placeOf(mark, Atomics.load(this.#cells, this.#control(mark) + placeCell))
  }

  #placeOf(mark: number, place: bigint): number {
    return this.#control(mark) + controlCells + Number(place) * (this.#width + moreCells)
  }
}

function markCells(width: number): number {
  return controlCells + places * (width + moreCells)
}
