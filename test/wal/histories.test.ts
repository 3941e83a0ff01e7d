import { test } from 'tap'
import { History } from './history.js'

const isLong = process.env['RIGEL_WAL'] === 'long'
const count = Number(process.env['RIGEL_WAL_HISTORIES'] ?? (isLong ? 1_000_000 : 10_000))
const first = Number(process.env['RIGEL_WAL_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

test('whatever is acknowledged is there after any crash, in order and once, and nothing else', async (t) => {
  t.setTimeout(0)
  t.comment(`RIGEL_WAL_SEED=${first}`)
  if (count > 1) t.intercept(Error, 'stackTraceLimit', { value: 0 }) // A trace costs more than what it would tell of.
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
