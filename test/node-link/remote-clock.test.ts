import { test } from 'tap'
import { fromClock, ownClock, RemoteClock } from '../../src/cluster/link/remote-clock.js'

test('a moment said by the clock of another node is never later than was meant, and as early as the quickest answer was late', async (t) => {
  const clock = new RemoteClock()
  t.equal(clock.at(0), undefined)
  // The other clock is 1,000 s ahead; responses are on their way for 30, 2 and 400 ms.
  const heard = (now_ms: number, late_ms: number) => clock.heard(now_ms + 1_000_000 - late_ms, now_ms)
  heard(0, 30)
  t.equal(clock.at(0), 999_970)
  heard(100, 2)
  heard(200, 400)
  t.equal(clock.at(100), 1_000_098)
  t.equal(clock.at(5100), 1_005_093, 'clocks may differ by a thousandth')
  heard(60_000, 3)
  t.equal(clock.at(60_000), 1_059_997, 'what was known long ago counts less')
})

test('the own clock is the same in all threads, and is told by that of one', async (t) => {
  const before_ms = performance.now()
  const moment_ms = fromClock(ownClock() + 1000)
  t.ok(moment_ms <= performance.now() + 1000)
  t.ok(moment_ms > before_ms + 1000 - 3)
})
