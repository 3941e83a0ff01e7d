import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { areCompared, columns, linesFrom, own } from './programs.js'

test('notify counts a notification for every update, and measures another version until all has come', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'notify', '--against', own.main, '--subscriptions', '20')
  const measured = lines.filter((line) => member(line, 'bench') === 'notify')
  t.same(columns(measured, 'case', 'subscriptions'), [
    ['full speed', 20],
    ['500 updates/s', 20],
    ['full speed, in turns', 20],
  ])
  const inTurns = measured.filter((line) => member(line, 'case') === 'full speed, in turns')
  areCompared(t, inTurns)
  for (const line of measured) if (!inTurns.includes(line)) t.ok(Number(member(line, 'delay_p50_ms')) > 0)
  t.equal(lines.filter((line) => member(line, 'bench') === 'notify cost').length, 2)
})
