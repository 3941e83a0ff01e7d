import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { isLong, underLoad } from './run.js'

const rounds = isLong ? 10 : 1

test('a process that stands still for a while goes on as if nothing had happened', async (t) => {
  t.setTimeout(300_000 + rounds * 20_000)
  const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '2', '-notifRetryMin', '50'])
  const { history, restarts } = await underLoad(t, broker, async () => {
    for (let round = 0; round < rounds; round += 1) {
      await delay(300)
      broker.signal('SIGSTOP')
      await delay(1000 + round * 500)
      broker.signal('SIGCONT')
    }
    await delay(300)
  })
  t.equal(history.count('unknown'), 0, 'every update was answered')
  t.equal(restarts, 0)
  await broker.endsInOrder(t)
})
