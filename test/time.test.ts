import { test } from 'tap'
import { age_ms, clockStart, type Milliseconds, now, secondsText } from '../src/time.js'

test('a duration is written in seconds with nine fraction digits', async (t) => {
  t.equal(secondsText(0n), '0.000000000')
  t.equal(secondsText(1_000_000_230n), '1.000000230')
  t.equal(secondsText(2n ** 64n), '18446744073.709551616')
})

test('what is dated before the program was made is as old as the process', async (t) => {
  const start = clockStart()
  const hour_ms = 3_600_000
  const earlier = {
    ...start,
    date: (start.date - hour_ms) as Milliseconds,
    steady_ns: start.steady_ns - 3_600_000_000_000n,
  }
  t.ok(age_ms(0 as Milliseconds, start) < hour_ms)
  const sinceStart_ms = age_ms(0 as Milliseconds, earlier)
  t.ok(sinceStart_ms >= hour_ms && sinceStart_ms < 2 * hour_ms)
  t.ok(
    age_ms((now() - 48 * hour_ms) as Milliseconds, start) > 47 * hour_ms,
    'and what is dated later is as old as it says',
  )
  const wrong = { ...start, date: 0 as Milliseconds }
  t.ok(age_ms(1000 as Milliseconds, wrong) < hour_ms, 'also where the clock was not right when the process started')
})
