import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { linesFrom, own } from './programs.js'

test('machines has what each part of an update takes, and what that gives on larger machines', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'machines')
  const [measured] = lines
  for (const name of ['rate_per_s', 'played_per_s', 'front_end_us', 'partition_us', 'flush_us', 'load_us']) {
    t.ok(Number(member(measured, name)) > 0, name)
  }
  const usual = lines.filter((line) => member(line, 'case') === 'default flags')
  const expected = [64, 256].flatMap((connections) => [2, 4, 8, 16].map((number) => [connections, number]))
  t.same(
    usual.map((line) => [member(line, 'connections'), member(line, 'processors')]),
    expected,
  )
  for (const line of lines) t.ok(Number(member(line, 'played_per_s')) > 0)
})
