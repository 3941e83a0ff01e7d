import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { EmptyState } from './states.js'

/** A column of a table. */
export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => ComponentChildren
  /** The sort key of a row; absent for a column that cannot be sorted. */
  readonly order?: (row: Row) => number | string
  /** Figures are aligned to the right. */
  readonly isNumber?: boolean
  /** Left out on screens with room for one column. */
  readonly isMinor?: boolean
  /** Shown below all rows. */
  readonly total?: (rows: readonly Row[]) => ComponentChildren
}

export interface TableShown<Row> {
  /** The title of the table for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Called for Enter and for a click on a row. */
  readonly open?: (row: Row) => void
  /** Shown when there are no rows. */
  readonly empty: ComponentChildren
}

interface Sorting {
  readonly column: number
  readonly down: boolean
}

/** More rows than these scroll within the table, and only visible ones are rendered. */
const manyRows = 100
/** As in the style sheet, in CSS pixels. */
const row_px = 32
const view_px = 640
const margin_rows = 10

/**
 * A sortable table with keyboard navigation by `j`, `k`, the arrows, Home and End; Enter opens a row, Esc leaves the table.
 * However many rows there are, only visible ones are rendered.
 */
export function DataTable<Row>({ caption, columns, rows, keyOf, open, empty }: TableShown<Row>) {
  const [sorting, setSorting] = useState<Sorting>()
  const [chosen, setChosen] = useState(0)
  const [top_px, setTop] = useState(0)
  const scroller = useRef<HTMLDivElement>(null)
  const sorted = useMemo(() => sortedRows(rows, columns, sorting), [rows, columns, sorting])
  const isVirtual = sorted.length > manyRows
  const at = Math.min(chosen, Math.max(0, sorted.length - 1))
  const first = isVirtual ? Math.max(0, Math.floor(top_px / row_px) - margin_rows) : 0
  const last = isVirtual
    ? Math.min(sorted.length, first + Math.ceil(view_px / row_px) + 2 * margin_rows)
    : sorted.length
  const moves = useRef(false)

  useLayoutEffect(() => {
    if (!moves.current) return
    moves.current = false
    const { current: element } = scroller
    element?.querySelector<HTMLElement>('tr[tabindex="0"]')?.focus({ preventScroll: isVirtual })
  }, [at, top_px])

  const move = (to: number) => {
    const next = Math.min(sorted.length - 1, Math.max(0, to))
    moves.current = true
    setChosen(next)
    const { current: element } = scroller
    if (element === null || !isVirtual) return
    const y = next * row_px
    // The heading covers the first row of the view.
    if (y < element.scrollTop) element.scrollTop = y
    else if (y + 2 * row_px > element.scrollTop + element.clientHeight)
      element.scrollTop = y + 2 * row_px - element.clientHeight
    setTop(element.scrollTop)
  }
  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLTableRowElement)) return
    const row = sorted[at]
    const moved = moveOf(event.key, at, sorted.length)
    if (moved !== undefined) move(moved)
    else if (event.key === 'Enter' && row !== undefined && open) open(row)
    else if (event.key === 'Escape') event.target.blur()
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  if (rows.length === 0) return <EmptyState>{empty}</EmptyState>
  return (
    <div
      class={`table-scroll${isVirtual ? ' virtual' : ''}`}
      ref={scroller}
      onScroll={isVirtual ? ({ currentTarget }) => setTop(currentTarget.scrollTop) : undefined}
    >
      <table aria-rowcount={sorted.length + 1}>
        <caption class="unseen">{caption}</caption>
        <Head columns={columns} sorting={sorting} sort={setSorting} />
        <Spacer rows={first} />
        <tbody data-rows onKeyDown={keyDown}>
          {sorted.slice(first, last).map((row, index) => (
            <tr
              key={keyOf(row)}
              tabIndex={first + index === at ? 0 : -1}
              aria-rowindex={first + index + 2}
              class={open ? 'openable' : undefined}
              onFocus={() => setChosen(first + index)}
              onClick={open && (() => open(row))}
            >
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        <Spacer rows={sorted.length - last} />
        <Totals columns={columns} rows={rows} />
      </table>
    </div>
  )
}

/** The sums of summed columns, if there are several rows. */
function Totals<Row>({ columns, rows }: Pick<TableShown<Row>, 'columns' | 'rows'>) {
  if (rows.length < 2 || columns.every(({ total }) => total === undefined)) return null
  return (
    <tfoot>
      <tr>
        {columns.map((column, at) =>
          at === 0 ? (
            <th key={column.name} scope="row">
              all
            </th>
          ) : (
            <td key={column.name} class={classOf(column)}>
              {column.total?.(rows)}
            </td>
          ),
        )}
      </tr>
    </tfoot>
  )
}

/** The space of rows that are not rendered. */
function Spacer({ rows }: { readonly rows: number }) {
  if (rows <= 0) return null
  return (
    <tbody aria-hidden="true">
      <tr class="spacer" style={{ height: `${rows * row_px}px` }} />
    </tbody>
  )
}

function Head<Row>({
  columns,
  sorting,
  sort,
}: {
  readonly columns: readonly Column<Row>[]
  readonly sorting: Sorting | undefined
  readonly sort: (sorting: Sorting) => void
}) {
  return (
    <thead>
      <tr>
        {columns.map((column, index) => {
          const isSorted = sorting?.column === index
          const state = isSorted ? (sorting.down ? 'descending' : 'ascending') : undefined
          // Figures sort descending first, names ascending.
          const down = isSorted ? !sorting.down : column.isNumber === true
          return (
            <th key={column.name} scope="col" class={classOf(column)} aria-sort={state}>
              {column.order === undefined ? (
                column.name
              ) : (
                <button type="button" class="sort" onClick={() => sort({ column: index, down })}>
                  {column.name}
                  <span aria-hidden="true">{isSorted ? (sorting.down ? ' ▾' : ' ▴') : ''}</span>
                </button>
              )}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

function classOf<Row>({ isNumber, isMinor }: Column<Row>): string | undefined {
  const names = [...(isNumber ? ['number'] : []), ...(isMinor ? ['minor'] : [])]
  return names.length === 0 ? undefined : names.join(' ')
}

function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const order = sorting === undefined ? undefined : columns[sorting.column]?.order
  if (sorting === undefined || order === undefined) return rows
  const sign = sorting.down ? -1 : 1
  return rows.toSorted((one, other) => sign * compared(order(one), order(other)))
}

function compared(one: number | string, other: number | string): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  return String(one).localeCompare(String(other), 'en', { numeric: true })
}

function moveOf(key: string, at: number, count: number): number | undefined {
  if (key === 'j' || key === 'ArrowDown') return at + 1
  if (key === 'k' || key === 'ArrowUp') return at - 1
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  if (key === 'PageDown') return at + 15
  return key === 'PageUp' ? at - 15 : undefined
}
