import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { noFaketime, ShiftedClock } from './faketime.js'
import { underLoad } from './run.js'

test('a wall clock that jumps forth and back breaks no promise', { skip: noFaketime }, async (t) => {
  t.setTimeout(300_000)
  const clock = new ShiftedClock(join(t.testdir(), 'offset'))
  const { environment } = clock
  // With the smallest window notifications are read again, which takes their age from their date.
  const flags = ['-partitions', '2', '-httpThreads', '2', '-notifRetryMin', '50', '-notifWindow', '1']
  const broker = await RunningBroker.start(t, flags, { environment })
  const { history } = await underLoad(t, broker, async () => {
    // Not as far as subscriptions are in force, but much further than notifications are kept.
    for (const hours of [2400, -2400, 1, -1]) {
      clock.shift(`${hours < 0 ? '' : '+'}${hours}h`)
      await until(async () => Math.abs((await aheadBy(broker)) - hours) < 0.1, `the clock jumps by ${hours} hours`)
      await delay(500)
    }
  })
  t.equal(history.count('refused'), 0)
  t.equal(history.count('unknown'), 0)
  t.equal(await broker.end('SIGTERM'), 0)
})

/** By how many hours the dates of a broker's responses are ahead. */
async function aheadBy(broker: RunningBroker): Promise<number> {
  const { headers } = await broker.send('GET', '/version')
  return (Date.parse(headers.get('date') ?? '') - Date.now()) / 3_600_000
}
