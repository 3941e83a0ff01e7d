import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom, own } from './programs.js'

test('machines has what each part of an update takes, and what that gives on larger machines', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'machines', '--duration', '2')
  const of = (name: string) => lines.filter((line) => member(line, 'case') === name)
  const measured = of('measured here, with the load')
  t.same(columns(measured, 'connections'), [[64], [256]])
  for (const line of measured) {
    for (const name of ['measured_per_s', 'played_per_s', 'front_end_us', 'partition_us', 'flush_us', 'load_us']) {
      t.ok(Number(member(line, name)) > 0, `${name}: ${member(line, name)}`)
    }
  }
  t.same(
    columns(of('default flags'), 'connections', 'processors', 'http_threads', 'partitions'),
    [64, 256].flatMap((connections) => [2, 4, 8, 16].map((number) => [connections, number, number / 2, number / 2])),
  )
  for (const line of lines) t.ok(Number(member(line, 'played_per_s')) > 0, `${member(line, 'case')}`)
})
