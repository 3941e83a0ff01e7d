import { test } from 'tap'
import { secondsText } from '../src/time.js'

test('a duration is written in seconds with nine fraction digits', async (t) => {
  t.equal(secondsText(0n), '0.000000000')
  t.equal(secondsText(1_000_000_230n), '1.000000230')
  t.equal(secondsText(2n ** 64n), '18446744073.709551616')
})
