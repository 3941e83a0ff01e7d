import { Fragment, h } from 'preact'
import { bytesText, countText, durationText, rateText, reasonText, shareText } from '../format.js'
import type { Column } from './data-table.js'
import { OptionalTime } from './small-parts.js'

interface More {
  readonly isMinor?: boolean
  /** Whether the sum of all rows is shown below them. */
  readonly isSummed?: boolean
}

/** A column that is left out on narrow screens. */
export const minor: More = { isMinor: true }

/** A column of texts, or of numbers that are names; a dash where there is none. */
export function textColumn<Row>(
  name: string,
  of: (row: Row) => string | number | undefined,
  { isMinor = false }: More = {},
): Column<Row> {
  return { name, cell: (row) => of(row) ?? '–', order: (row) => of(row) ?? '', isMinor }
}

/** A column of dates, as their distance from now. */
export function timeColumn<Row>(
  name: string,
  of: (row: Row) => string | undefined,
  { isMinor = false }: More = {},
): Column<Row> {
  return {
    ...{ name, isNumber: true, isMinor },
    cell: (row) => h(OptionalTime, { date: of(row) }),
    order: (row) => of(row) ?? '',
  }
}

/** The column of the last failure: its time and reason. */
export const lastFailureColumn: Column<{
  readonly lastFailure?: string | undefined
  readonly lastFailureReason?: string | undefined
}> = {
  name: 'last failure',
  cell: ({ lastFailure, lastFailureReason = '' }) =>
    h(
      Fragment,
      null,
      h(OptionalTime, { date: lastFailure }),
      ' ',
      h('span', { class: 'quiet' }, reasonText(lastFailureReason)),
    ),
  order: ({ lastFailure = '' }) => lastFailure,
  isMinor: true,
}

/** Makes columns of figures, formatted by `shown`; a dash where there is none. */
function figureColumn(shown: (figure: number) => string) {
  return <Row>(
    name: string,
    of: (row: Row) => number | undefined,
    { isMinor = false, isSummed = false }: More = {},
  ): Column<Row> => {
    const text = (figure: number | undefined) => (figure === undefined || Number.isNaN(figure) ? '–' : shown(figure))
    const column = {
      ...{ name, isNumber: true, isMinor },
      cell: (row: Row) => text(of(row)),
      order: (row: Row) => of(row) || 0,
    }
    if (!isSummed) return column
    return { ...column, total: (rows) => text(rows.reduce((sum, row) => sum + (of(row) ?? 0), 0)) }
  }
}

export const countColumn = figureColumn(countText)
export const rateColumn = figureColumn(rateText)
export const shareColumn = figureColumn(shareText)
export const bytesColumn = figureColumn(bytesText)
/** Durations in seconds. */
export const durationColumn = figureColumn(durationText)
