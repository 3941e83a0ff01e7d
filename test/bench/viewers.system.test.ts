import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom, own } from './programs.js'

test('updates beside viewers are compared with those that nobody sees', { skip: own.skip }, async (t) => {
  const lines = await linesFrom(t, 'viewers')
  t.same(columns(lines, 'case'), [['ten viewers'], ['tail of all traces']])
  for (const line of lines) t.ok(Number(member(line, 'events')) > 0 && Number(member(line, 'ratio')) > 0)
})

test('notifications on streams are counted beside those that are posted', { skip: own.skip }, async (t) => {
  const lines = await linesFrom(t, 'streams', '--subscriptions', '1')
  t.same(columns(lines, 'way', 'case'), [
    ['event streams', 'full speed'],
    ['event streams', '500 updates/s'],
    ['HTTP receiver', 'full speed'],
    ['HTTP receiver', '500 updates/s'],
  ])
  for (const line of lines) t.ok(Number(member(line, 'delay_p50_ms')) > 0)
})
