import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom, own } from './programs.js'

test('scaling has updates and GETs for every number of HTTP threads and partitions', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'scaling')
  const cases = ['updateContext', 'GET /v1/contextEntities/{id}']
  const expected = [1, 2, 4].flatMap((threads) =>
    [1, 2].flatMap((partitions) => cases.map((name) => [name, threads, partitions])),
  )
  t.same(columns(lines, 'case', 'http_threads', 'partitions'), expected)
  for (const line of lines) t.ok(Number(member(line, 'ratio')) > 0)
})
