import { test } from 'tap'
import { runs } from '../runs.js'
import { History } from './history.js'

/*
 * That this test can fail was shown by changing the log. Within 600 histories it finds, among others: an append, a retraction,
 * a change of segments, a recovery or `close` that does not flush; a flush in the pool that is not awaited; a folder that is
 * not flushed when a segment begins; a CRC that is not checked, or is one of the head only; both sequence and chain not
 * checked; a chain that is not written; a refused or retracted record that stays readable; segments of a cut history that
 * stay; records that claim too much to be flushed; growth over records; a segment that is given up too early, too late or
 * without being counted; a space error that ends the log. Sound records behind a cut that stay readable take 2000 histories.
 *
 * What guards twice is found only by the tests beside this one: sequence and chain, each alone (`damage.test.ts`); the zeros
 * behind the last record (`local-log.test.ts`); a flush that vouches for what came after it, and a fault that does not
 * last (`faults.test.ts`).
 */

const isLong = process.env['RIGEL_WAL'] === 'long'
const count = Number(process.env['RIGEL_WAL_HISTORIES'] ?? (isLong ? 1_000_000 : runs(5000)))
const first = Number(process.env['RIGEL_WAL_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

test('whatever is acknowledged is there after any crash, in order and once, and nothing else', async (t) => {
  t.setTimeout(0)
  t.comment(`RIGEL_WAL_SEED=${first}`)
  const { stackTraceLimit } = Error
  t.teardown(() => Object.assign(Error, { stackTraceLimit }))
  if (count > 1) Error.stackTraceLimit = 0 // A trace costs more than what it would tell of.
  const timers: (() => void)[] = []
  t.intercept(globalThis, 'setTimeout', { value: (fire: () => void) => timers.push(fire) })
  t.intercept(globalThis, 'clearTimeout', { value: () => timers.splice(0) })
  for (let seed = first; seed < first + count; seed += 1) {
    const history = new History(seed, timers)
    try {
      await history.play()
    } catch (fault) {
      t.comment(history.story.join('\n'))
      throw new Error(`RIGEL_WAL_SEED=${seed} RIGEL_WAL_HISTORIES=1`, { cause: fault })
    }
  }
})
