import { test } from 'tap'
import {
  bytesColumn,
  countColumn,
  durationColumn,
  minor,
  textColumn,
} from '../../src/api/console/page/parts/columns.js'

interface Row {
  readonly name?: string
  readonly figure?: number
}

const rows: readonly Row[] = [{ name: 'a', figure: 1500 }, { figure: Number.NaN }, {}]

test('a figure is shown in its unit, and ordered and summed as it is; what is missing is a dash and counts as nothing', async (t) => {
  const column = bytesColumn('disk', ({ figure }: Row) => figure, { isMinor: true, isSummed: true })
  t.match(column, { name: 'disk', isNumber: true, isMinor: true })
  t.same(rows.map(column.cell), ['1.50 kB', '–', '–'])
  t.same(
    rows.map((row) => column.order?.(row)),
    [1500, 0, 0],
  )
  t.equal(column.total?.(rows.slice(0, 1)), '1.50 kB')
  t.equal(countColumn('count', ({ figure }: Row) => figure).total, undefined)
  t.equal(durationColumn('took', ({ figure = 0 }: Row) => figure / 1000).cell({ figure: 1.5 }), '1.50 ms')
})

test('a text is ordered as it is shown', async (t) => {
  const column = textColumn('name', ({ name }: Row) => name, minor)
  t.match(column, { name: 'name', isMinor: true })
  t.same(rows.map(column.cell), ['a', '–', '–'])
  t.same(
    rows.map((row) => column.order?.(row)),
    ['a', '', ''],
  )
})
