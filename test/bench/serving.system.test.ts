import { type Test, test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { brokers, isMeasured, linesFrom, linesOf, own, run, short } from './programs.js'

/** Whether a line is about a number of connections and whole. */
function isMeasuredAt(t: Test, line: unknown, connections: number): void {
  t.equal(member(line, 'connections'), connections)
  isMeasured(t, line)
}

/** What is measured at each number of connections. */
const both = ['updateContext', 'updateContext of one attribute']

for (const { name, main, skip } of brokers) {
  test(`on ${name}, ingest and read have lines for each number of connections`, { skip }, async (t) => {
    const ended = await run('run', 'ingest', 'read', '--broker', main, ...short)
    t.equal(ended.code, 0, ended.errors)
    const updates = linesOf(ended, 'ingest')
    t.same(
      updates.map((line) => member(line, 'case')),
      [...both, ...both],
    )
    const reads = linesOf(ended, 'read')
    t.equal(reads.length, 2)
    for (const [place, connections] of [1, 1, 4, 4].entries()) isMeasuredAt(t, updates[place], connections)
    for (const [place, connections] of [1, 4].entries()) isMeasuredAt(t, reads[place], connections)
    t.ok([...updates, ...reads].every((line) => Number(member(line, 'ratio')) > 0))
  })
}

test('what is measured through NGSIv2 is measured through NGSIv1 as well', { skip: own.skip }, async (t) => {
  const lines = await linesFrom(t, 'ngsi2', '--entities', '20')
  const singles = ['POST /v2/op/update', 'PATCH /v2/entities/{id}/attrs', 'GET /v2/entities/{id}']
  const filters = ['q that all pass', 'q that one in 1,000 passes']
  t.same(
    lines.map((line) => member(line, 'case')),
    [...singles, ...singles, ...filters, ...filters],
  )
  for (const line of lines) t.ok(Number(member(line, 'ngsi1_per_s')) > 0 && Number(member(line, 'ratio')) > 0)
})

test('each kind of query has a line, and updates beside the dearest', { skip: own.skip }, async (t) => {
  const lines = await linesFrom(t, 'costs', '--entities', '20')
  t.equal(new Set(lines.map((line) => member(line, 'case'))).size, 18)
  for (const line of lines) t.ok(Number(member(line, 'p50_ms')) > 0, String(member(line, 'case')))
  t.ok(Number(member(lines.at(-1), 'ratio')) > 0)
})
