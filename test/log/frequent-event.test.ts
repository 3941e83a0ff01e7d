import { test } from 'tap'
import { FrequentEvent } from '../../src/observe/log/frequent-event.js'

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
