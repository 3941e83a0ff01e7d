import { test } from 'tap'
import { FrequentEvent, FrequentEvents } from '../../src/observe/log/frequent-event.js'

test('a frequent event may have a line every 10 s, which has the number since the one before', (t) => {
  let now_ms = 500
  const event = new FrequentEvent(() => now_ms)
  t.equal(event.happened(), 1, 'the first has a line')
  now_ms += 9_999
  t.same([event.happened(), event.happened()], [undefined, undefined])
  now_ms += 1
  t.equal(event.happened(), 3)
  t.equal(event.happened(), undefined)
  now_ms += 60_000
  t.equal(event.happened(), 2)
  t.end()
})

test('a frequent event may have several lines every 10 s', (t) => {
  let now_ms = 500
  const event = new FrequentEvent(() => now_ms, 3)
  t.equal(event.happened(), 1)
  now_ms += 6_000
  t.same([event.happened(), event.happened(), event.happened(), event.happened()], [1, 1, undefined, undefined])
  now_ms += 4_000
  t.same([event.happened(), event.happened(), event.happened(), event.happened()], [3, 1, 1, undefined])
  t.end()
})

test('frequent events have a line every 10 s about each subject, and lines about 10,000 subjects in that time', (t) => {
  let now_ms = 500
  const events = new FrequentEvents(() => now_ms)
  t.same([events.happened('a'), events.happened('b'), events.happened('a')], [1, 1, undefined])
  now_ms += 10_000
  t.same([events.happened('a'), events.happened('b')], [2, 1])
  let lines = 0
  for (let at = 0; at < 30_000; at += 1) if (events.happened(`s${at}`) !== undefined) lines += 1
  t.ok(lines > 9_000 && lines <= 20_000, `${lines}`)
  for (let at = 0; at < 30_000; at += 1) if (events.happened(`s${at}`) !== undefined) lines += 1
  t.ok(lines <= 20_000, `${lines}`)
  now_ms += 10_000
  t.equal(events.happened('s29999'), 1)
  t.end()
})
