import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom, own } from './programs.js'

test('growth compares each size with the smallest, and start restarts each on the same folder', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'growth', 'start', '--sizes', '40,20', '--rounds', '1')
  t.same(columns(lines, 'bench', 'case', 'entities', 'reference_entities'), [
    ['growth', 'updateContext', 20, undefined],
    ['growth', 'first page by type', 20, undefined],
    ['growth', 'updateContext', 40, 20],
    ['growth', 'first page by type', 40, 20],
    ['scans', 'updateContext beside 4 scans', 40, undefined],
    ['start', 'restart', 20, undefined],
    ['start', 'restart', 40, undefined],
  ])
  const [, , updates, pages, scans, ...restarts] = lines
  t.ok(Number(member(updates, 'ratio')) > 0)
  t.ok(Number(member(pages, 'time_ratio')) > 0)
  t.ok(Number(member(scans, 'scans_per_s')) > 0)
  t.ok(Number(member(scans, 'ratio')) > 0)
  for (const line of restarts) {
    t.ok(Number(member(line, 'start_to_answer_ms')) > 0)
    if (process.platform !== 'linux') continue // The memory of mapped files is told apart only there.
    t.ok(Number(member(line, 'resident_MiB')) > 10)
    t.ok(Number(member(line, 'resident_loaded_MiB')) > 10)
  }
})
