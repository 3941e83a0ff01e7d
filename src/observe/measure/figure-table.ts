import { CounterTable, type CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import type { Nanoseconds } from '../../time.js'
import type { BucketReading } from './buckets.js'
import type { Column, ColumnName, Columns, Distribution, DistributionName, FigureList, Figures } from './figure.js'

const reset = 0

/** One shown value of a figure. */
export interface Sample {
  readonly labels: Labels
  readonly value: number | BucketReading
}

export type Labels = Readonly<Record<string, string>>

/** A row of a table, with its labels. */
export type LabelledRow = readonly [labels: Labels, row: number]

/** The figures of a list in shared memory, with one or more rows: every cell has one writer, and any thread reads. */
export class FigureTable<All extends Figures> {
  readonly list: FigureList<All>
  readonly #counters: CounterTable

  /** The memory of a new table; `resettable` if `since` is used. */
  static make(list: FigureList<Figures>, rows: number, at: Nanoseconds, resettable = false): CounterTableMemory {
    return CounterTable.make(rows, list.width, resettable ? 1 : 0, at).memory
  }

  /** Opens a table that was made with the same list. */
  constructor(list: FigureList<All>, memory: CounterTableMemory) {
    this.list = list
    this.#counters = new CounterTable(memory)
  }

  get rows(): number {
    return this.#counters.rows
  }

  /** A row to write; each of its cells may be written by one thread only. */
  row(number: number): FigureRow<All> {
    return new FigureRow(this.list, this.#counters, number)
  }

  /** A number of one row, or its sum over all rows; may be negative. */
  value(name: ColumnName<All>, row?: number): number {
    return Number(BigInt.asIntN(64, this.exact(name, row)))
  }

  /** As `value`, for numbers beyond the precision of JavaScript's. */
  exact(name: ColumnName<All>, row?: number): bigint {
    return this.#value(this.list.columns[name], row)
  }

  /** A histogram of one row, or the sum of those of all rows. */
  distribution(name: DistributionName<All>, row?: number): BucketReading {
    return this.list.buckets(name).reading((column) => this.#value(column, row), this.list.columns[name])
  }

  /** The samples of each shown figure: of these rows, or added up over all. */
  *samples(rows: readonly LabelledRow[] | undefined): Generator<readonly [name: string, samples: readonly Sample[]]> {
    const summed = [[{}, undefined]] as const
    for (const [name, figure] of Object.entries(this.list.all)) {
      if (figure.shown === undefined || figure.kind === 'computed') continue
      const isSummed = figure.kind !== 'distribution' && figure.isSummed
      const of = rows === undefined || isSummed ? summed : rows
      yield [name, of.flatMap(([labels, row]) => this.#samplesOf(name, figure, labels, row))]
    }
  }

  #samplesOf(
    name: string,
    figure: Column | Columns<string> | Distribution,
    labels: Labels,
    row: number | undefined,
  ): readonly Sample[] {
    const cell = (column: number) => this.#value(column, row)
    const number = (column: string) => Number(BigInt.asIntN(64, cell(this.list.positionOf(column)))) / per
    if (figure.kind === 'distribution') {
      return [{ labels, value: figure.buckets.reading(cell, this.list.positionOf(name)) }]
    }
    const { per, since } = figure
    if (since !== undefined && cell(this.list.positionOf(since)) === 0n) return []
    if (figure.kind === 'column') return [{ labels, value: number(name) }]
    return figure.values.map((value) => ({
      labels: { ...labels, [figure.label]: value },
      value: number(`${name}.${value}`),
    }))
  }

  /** From now on `since` counts from zero. */
  reset(at: Nanoseconds): void {
    this.#counters.setBaseline(reset, at)
  }

  /** The last reset: sums that are read from it belong together. */
  get sinceReset(): (name: ColumnName<All>) => bigint {
    const { since } = this.#counters.baseline(reset)
    return (name) => since(this.list.columns[name])
  }

  #value(column: number, row: number | undefined): bigint {
    return row === undefined ? this.#counters.total(column) : this.#counters.value(row, column)
  }
}

export type RowOf<List> = List extends FigureList<infer All> ? FigureRow<All> : never

/** A row of a table to write. */
class FigureRow<All extends Figures> {
  readonly #list: FigureList<All>
  readonly #columns: FigureList<All>['columns']
  readonly #counters: CounterTable
  readonly #row: number

  constructor(list: FigureList<All>, counters: CounterTable, row: number) {
    this.#list = list
    this.#columns = list.columns
    this.#counters = counters
    this.#row = row
  }

  add(name: ColumnName<All>, amount: number | bigint = 1n): void {
    this.#counters.add(this.#row, this.#columns[name], BigInt(amount))
  }

  put(name: ColumnName<All>, value: number | bigint | boolean): void {
    this.#counters.put(this.#row, this.#columns[name], BigInt(value))
  }

  /** Counts a value in a histogram. */
  record(name: DistributionName<All>, value: bigint): void {
    this.#list.buckets(name).record(this.#counters, this.#row, this.#columns[name], value)
  }

  /** As `add`, for figures that are written with each request: the column is looked up once. */
  adder(name: ColumnName<All>): (amount: bigint) => void {
    const [counters, row, column] = [this.#counters, this.#row, this.#columns[name]]
    return (amount) => counters.add(row, column, amount)
  }

  /** As `put`, with the column looked up once. */
  setter(name: ColumnName<All>): (value: number | boolean) => void {
    const [counters, row, column] = [this.#counters, this.#row, this.#columns[name]]
    return (value) => counters.put(row, column, BigInt(value))
  }

  /** As `record`, with the columns looked up once. */
  recorder(name: DistributionName<All>): (value: bigint) => void {
    const [buckets, counters, row, first] = [this.#list.buckets(name), this.#counters, this.#row, this.#columns[name]]
    return (value) => buckets.record(counters, row, first, value)
  }
}
