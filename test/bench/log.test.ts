import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom } from './programs.js'

test('log has appends of every size beside a write and an fdatasync', async (t) => {
  const lines = await linesFrom(t, 'log')
  t.same(columns(lines, 'case', 'record_bytes'), [
    ['append', 4_000],
    ['append', 20_000],
    ['append', 100_000],
  ])
  const figures = ['appends_per_s', 'p50_ms', 'p99_ms', 'bare_per_s', 'bare_p50_ms', 'bare_p99_ms', 'ratio']
  for (const line of lines) for (const name of figures) t.ok(Number(member(line, name)) > 0, `${name} is above 0`)
})
