import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { isLong, type Run, underLoad } from './run.js'

const size = { alone: 80, shared: 4, writersOfShared: 8, batch: 16, readers: 20 }

test('more load than a small broker can take: what is refused has no effect, what is acknowledged stays', async (t) => {
  t.setTimeout(300_000)
  const flags = ['-partitions', '2', '-httpThreads', '2', '-mailboxSize', '20', '-queryQueueSize', '2']
  const broker = await RunningBroker.start(t, [...flags, '-notifRetryMin', '50', '-notifRetryMax', '200'])
  const overload = async ({ history }: Run): Promise<void> => {
    await delay(isLong ? 60_000 : 1500)
    await until(() => history.count('refused') > 0, 'more comes than there is room for')
  }
  await underLoad(t, broker, overload, size)
  const later = { id: 'Later', attributes: [{ name: 'a', value: '1' }] }
  await until(async () => (await broker.update('APPEND', later)).status === 200, 'capacity is back')
  await broker.endsInOrder(t)
})
