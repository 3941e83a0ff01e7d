import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { areCompared, columns, linesFrom, own } from './programs.js'

test('growth compares each size with the smallest and with another version that has as many, and updates beside scans with those without', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'growth', '--against', own.main, '--sizes', '40,20')
  t.same(columns(lines, 'bench', 'case', 'entities', 'reference_entities'), [
    ['growth', 'updateContext', 20, undefined],
    ['growth', 'first page by type', 20, undefined],
    ['growth', 'updateContext', 40, 20],
    ['growth', 'first page by type', 40, 20],
    ['scans', 'updateContext beside 4 scans', 40, undefined],
  ])
  areCompared(t, lines.slice(0, -1))
  const [, , updates, pages, scans] = lines
  t.ok(Number(member(updates, 'ratio')) > 0)
  t.ok(Number(member(pages, 'time_ratio')) > 0)
  t.ok(Number(member(scans, 'scans_per_s')) > 0)
  t.ok(Number(member(scans, 'ratio')) > 0)
})
