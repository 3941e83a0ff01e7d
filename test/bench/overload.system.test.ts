import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom } from './programs.js'

test('overload has what is accepted and refused at every load, and the recovery after it', async (t) => {
  const lines = await linesFrom(t, 'overload')
  const expected = [0.5, 1, 2, 4].flatMap((load) => [[`${load} times`], [`after ${load} times`]])
  t.same(columns(lines, 'case'), expected)
  for (const line of lines) {
    const done = member(line, 'accepted_per_s') ?? member(line, 'recovered_per_s')
    t.ok(Number(done) > 0, JSON.stringify(line))
  }
})
