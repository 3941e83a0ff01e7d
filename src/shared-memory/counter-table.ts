import type { Nanoseconds } from '../time.js'

/** What is handed to a thread so that it can open the same table. */
export interface CounterTableMemory {
  readonly width: number
  readonly marks: number
  readonly cells: SharedArrayBuffer
}

/**
 * A table of 64-bit counters in shared memory: a row per thread, a column per thing that is counted. Every cell has one
 * writer, so nobody waits to be counted; whoever asks adds up the rows. A reset remembers the sums in a mark instead of
 * writing into the cells of others [management 5.1].
 */
export class CounterTable {
  readonly memory: CounterTableMemory
  readonly rows: number
  readonly #width: number
  readonly #cells: BigUint64Array

  /** A new table. Every mark is set at the moment that is given. */
  static make(rows: number, width: number, marks: number, at: Nanoseconds): CounterTable {
    const cells = new SharedArrayBuffer((rows * width + marks * (width + 1)) * BigUint64Array.BYTES_PER_ELEMENT)
    const table = new CounterTable({ width, marks, cells })
    for (let setMark = 0; setMark < marks; setMark += 1) table.mark(setMark, at)
    return table
  }

  /** Opens the table that another thread made. */
  constructor(memory: CounterTableMemory) {
    this.memory = memory
    this.#width = memory.width
    this.#cells = new BigUint64Array(memory.cells)
    this.rows = memory.width === 0 ? 0 : (this.#cells.length - memory.marks * (memory.width + 1)) / memory.width
  }

  /** Adds to a cell; only the thread that owns it may. */
  add(row: number, column: number, amount: bigint): void {
    const counter = row * this.#width + column
    Atomics.store(this.#cells, counter, (this.#cells[counter] ?? 0n) + amount)
  }

  /** Writes a cell; only the thread that owns it may. */
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
   * The sum of a column over all threads since a mark was set; over these rows where all others are known to be zero. The
   * columns read in this way must never decrease.
   */
  since(mark: number, column: number, rows?: readonly number[]): bigint {
    // The mark is read first: it is never ahead of a sum that is read later, so the difference is never negative.
    const marked = Atomics.load(this.#cells, this.#markCell(mark, column))
    if (rows === undefined) return this.total(column) - marked
    let sum = 0n
    for (const row of rows) sum += this.cell(row, column)
    // A row that was zero when they were looked for may be in the mark.
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
    return Atomics.load(this.#cells, this.#markCell(mark, this.#width))
  }

  /** From now on `since` counts from zero. Any thread may set a mark: the later one counts, whoever writes first. */
  mark(mark: number, at: Nanoseconds): void {
    for (let column = 0; column < this.#width; column += 1)
      this.#advance(this.#markCell(mark, column), this.total(column))
    this.#advance(this.#markCell(mark, this.#width), at)
  }

  #markCell(mark: number, column: number): number {
    return this.rows * this.#width + mark * (this.#width + 1) + column
  }

  #advance(cell: number, value: bigint): void {
    let held = Atomics.load(this.#cells, cell)
    while (held < value) {
      const found = Atomics.compareExchange(this.#cells, cell, held, value)
      if (found === held) return
      held = found
    }
  }
}
