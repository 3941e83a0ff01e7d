import type { Buckets } from './buckets.js'

/** A figure as Prometheus sees it. */
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  /** The names of its labels; for a histogram without `le`. */
  readonly labels: readonly string[]
}

type Shown = Omit<Metric, 'labels'>

/** A number in each row of a table. */
export interface Column extends Presentation {
  readonly kind: 'column'
  readonly shown: Shown | undefined
}

/** A number for each value of a label in each row of a table. */
export interface Columns<Value extends string> extends Presentation {
  readonly kind: 'columns'
  readonly shown: Shown | undefined
  readonly label: string
  readonly values: readonly Value[]
}

/** A histogram in each row of a table. */
export interface Distribution {
  readonly kind: 'distribution'
  readonly shown: Shown
  readonly buckets: Buckets
}

/** A figure without a column: it is read elsewhere, or computed from others. */
export interface Computed {
  readonly kind: 'computed'
  readonly shown: Shown
  /** Labels in place of those of the rows. */
  readonly labels: readonly string[] | undefined
}

/** How the numbers of a table are shown. */
interface Presentation {
  /** The number of stored units in one shown unit. */
  readonly per: number
  /** Whether it is added up over the rows and shown without their labels. */
  readonly isSummed: boolean
  /** Shown only for rows in which this column is not 0. */
  readonly since: string | undefined
}

export type Figures = Readonly<Record<string, Column | Columns<string> | Distribution | Computed>>

/** The names of the columns of a list; for a label `figure.value`. */
export type ColumnName<All extends Figures> = {
  readonly [Name in keyof All & string]: All[Name] extends Column
    ? Name
    : All[Name] extends Columns<infer Value>
      ? `${Name}.${Value}`
      : never
}[keyof All & string]

type NamesOf<All extends Figures, Kind> = {
  readonly [Name in keyof All & string]: All[Name] extends Kind ? Name : never
}[keyof All & string]

export type DistributionName<All extends Figures> = NamesOf<All, Distribution>
export type ComputedName<All extends Figures> = NamesOf<All, Computed>

const plain: Presentation = { per: 1, isSummed: false, since: undefined }

/** A sum that only grows. */
export function counter(name: string, help: string, presentation: Partial<Presentation> = {}): Column {
  return { kind: 'column', shown: { type: 'counter', name, help }, ...plain, ...presentation }
}

/** A current value. */
export function gauge(name: string, help: string, presentation: Partial<Presentation> = {}): Column {
  return { kind: 'column', shown: { type: 'gauge', name, help }, ...plain, ...presentation }
}

/** A number that is kept in the tables but not shown to Prometheus. */
export function hidden(): Column {
  return { kind: 'column', shown: undefined, ...plain }
}

/** Sums that only grow, one for each value of a label. */
export function counters<Value extends string>(
  name: string,
  help: string,
  label: string,
  values: readonly Value[],
  presentation: Partial<Presentation> = {},
): Columns<Value> {
  return { kind: 'columns', shown: { type: 'counter', name, help }, label, values, ...plain, ...presentation }
}

/** Current values, one for each value of a label. */
export function gauges<Value extends string>(
  name: string,
  help: string,
  label: string,
  values: readonly Value[],
): Columns<Value> {
  return { kind: 'columns', shown: { type: 'gauge', name, help }, label, values, ...plain }
}

export function histogram(name: string, help: string, buckets: Buckets): Distribution {
  return { kind: 'distribution', shown: { type: 'histogram', name, help }, buckets }
}

/** A figure without a column; its labels are those of the rows by default. */
export function computed(type: Metric['type'], name: string, help: string, labels?: readonly string[]): Computed {
  return { kind: 'computed', shown: { type, name, help }, labels }
}

/** Figures that belong together, in the order of Prometheus's output and of the tables' columns. */
export class FigureList<All extends Figures> {
  readonly all: All
  /** The names of the labels that distinguish the rows; empty when rows are only shown added up. */
  readonly rowLabels: readonly string[]
  /** The positions of the columns, and of the first columns of histograms. */
  readonly columns: Readonly<Record<ColumnName<All> | DistributionName<All>, number>>
  /** The number of columns of a table. */
  readonly width: number
  readonly #positions: Readonly<Record<string, number>>

  constructor(rowLabels: readonly string[], all: All) {
    this.all = all
    this.rowLabels = rowLabels
    const columns: Record<string, number> = {}
    let width = 0
    for (const [name, figure] of Object.entries(all)) {
      for (const [at, column] of columnNames(name, figure).entries()) columns[column] = width + at
      width += figure.kind === 'distribution' ? figure.buckets.width : columnNames(name, figure).length
    }
    this.#positions = columns
    // There is one for each name.
    this.columns = columns as Record<ColumnName<All> | DistributionName<All>, number>
    this.width = width
  }

  /** The position of a column whose name was read from the list. */
  positionOf(name: string): number {
    const position = this.#positions[name]
    if (position === undefined) throw new Error(`there is no figure ${name}`)
    return position
  }

  buckets(name: DistributionName<All>): Buckets {
    const figure = this.all[name]
    if (figure?.kind !== 'distribution') throw new Error(`${name} is no histogram`)
    return figure.buckets
  }

  get metrics(): readonly Metric[] {
    return Object.values(this.all).flatMap((figure) =>
      figure.shown === undefined ? [] : [{ ...figure.shown, labels: labelsOf(figure, this.rowLabels) }],
    )
  }
}

function columnNames(name: string, figure: Figures[string]): readonly string[] {
  if (figure.kind === 'computed') return []
  return figure.kind === 'columns' ? figure.values.map((value) => `${name}.${value}`) : [name]
}

function labelsOf(figure: Figures[string], rowLabels: readonly string[]): readonly string[] {
  switch (figure.kind) {
    case 'computed':
      return figure.labels ?? rowLabels
    case 'distribution':
      return rowLabels
    case 'column':
      return figure.isSummed ? [] : rowLabels
    case 'columns':
      return figure.isSummed ? [figure.label] : [...rowLabels, figure.label]
  }
}
