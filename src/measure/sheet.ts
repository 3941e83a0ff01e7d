/** What is handed to a thread so that it can open the same sheet. */
export interface SheetMemory<Column extends string> {
  readonly columns: readonly Column[]
  readonly cells: SharedArrayBuffer
}

/**
 * A table of 64-bit counters in shared memory: a row per thread, a column per name. Every cell has one writer, so nobody
 * waits to be counted; whoever asks adds up the rows. A reset remembers the sums instead of writing into the cells of
 * others [management 5.1].
 */
export class Sheet<Column extends string> {
  readonly columns: readonly Column[]
  readonly #width: number
  readonly #rows: number
  readonly #cells: BigUint64Array
  readonly #indexes: ReadonlyMap<Column, number>

  /** A new sheet with this many rows. */
  static make<Column extends string>(columns: readonly Column[], rows: number): Sheet<Column> {
    const cells = new SharedArrayBuffer((rows + 1) * columns.length * BigUint64Array.BYTES_PER_ELEMENT)
    return new Sheet({ columns, cells })
  }

  /** Opens the sheet that another thread made. */
  constructor({ columns, cells }: SheetMemory<Column>) {
    this.columns = columns
    this.#width = columns.length
    this.#cells = new BigUint64Array(cells)
    this.#rows = this.#width === 0 ? 0 : this.#cells.length / this.#width - 1
    this.#indexes = new Map(columns.map((column, index) => [column, index]))
  }

  get memory(): SheetMemory<Column> {
    return { columns: this.columns, cells: this.#cells.buffer as SharedArrayBuffer }
  }

  /** The number of a column, looked up once where it is used often. */
  index(column: Column): number {
    const index = this.#indexes.get(column)
    if (index === undefined) throw new Error(`the sheet has no column ${column}`)
    return index
  }

  /** Adds to the cell of the thread that owns the row. */
  add(row: number, index: number, amount: bigint): void {
    const cell = row * this.#width + index
    Atomics.store(this.#cells, cell, (this.#cells[cell] ?? 0n) + amount)
  }

  /** Writes the cell of the thread that owns the row. */
  put(row: number, index: number, value: bigint): void {
    Atomics.store(this.#cells, row * this.#width + index, value)
  }

  /** One cell. */
  cell(row: number, index: number): bigint {
    return Atomics.load(this.#cells, row * this.#width + index)
  }

  /** The sum of a column over all threads, since the start. */
  total(index: number): bigint {
    let sum = 0n
    for (let row = 0; row < this.#rows; row += 1) sum += this.cell(row, index)
    return sum
  }

  /** The sum of a column over all threads, since the last reset. */
  sinceReset(index: number): bigint {
    return this.total(index) - this.cell(this.#rows, index)
  }

  /** From now on `sinceReset` counts from zero. */
  reset(): void {
    for (let index = 0; index < this.#width; index += 1) this.put(this.#rows, index, this.total(index))
  }
}
