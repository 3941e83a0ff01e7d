import { type Test, test } from 'tap'
import { RunningBroker } from './running.js'
import { until } from './until.js'

const names = ['requestSemaphoreWaitingTime', 'dbConnectionPoolWaitingTime', 'transactionSemaphoreWaitingTime'] as const

async function waits(t: Test, broker: RunningBroker): Promise<readonly bigint[]> {
  const statistics = (await broker.send('GET', '/statistics')).json as Record<string, string>
  return names.map((name) => {
    t.match(statistics[name], /^\d+\.\d{9}$/)
    return BigInt((statistics[name] ?? '').replace('.', ''))
  })
}

/** So many updates at one time. */
function burst(broker: RunningBroker, count: number): Promise<unknown> {
  return Promise.all(
    Array.from({ length: count }, (_, n) =>
      broker.update('APPEND', { id: `Pump${n}`, attributes: [{ name: 'level', value: String(n) }] }),
    ),
  )
}

test('a broker without contention waits for nothing', async (t) => {
  const broker = await RunningBroker.start(t, ['-mutexTimeStat', '-partitions', '1'])
  for (let n = 0; n < 5; n += 1) await broker.update('APPEND', { id: `Pump${n}` })
  await broker.send('GET', '/v1/contextEntities/Pump1')
  t.same(await waits(t, broker), [0n, 0n, 0n])
})

test('updates that come together wait for the write transaction, and a reset forgets it', async (t) => {
  const broker = await RunningBroker.start(t, ['-mutexTimeStat', '-partitions', '1', '-httpThreads', '3'])
  const areWaiting = async () => {
    await burst(broker, 200)
    const [request, pool, transaction] = await waits(t, broker)
    t.same([request, pool], [0n, 0n])
    return (transaction ?? 0n) > 0n
  }
  await until(areWaiting, 'updates wait')
  await broker.send('DELETE', '/statistics')
  t.same(await waits(t, broker), [0n, 0n, 0n])
})

test('with one permit requests wait for it', async (t) => {
  const broker = await RunningBroker.start(t, ['-mutexTimeStat', '-reqPoolSize', '1'])
  const areWaiting = async () => {
    await burst(broker, 50)
    return ((await waits(t, broker))[0] ?? 0n) > 0n
  }
  await until(areWaiting, 'requests wait')
})

test('with one read handle scans wait for it', async (t) => {
  const broker = await RunningBroker.start(t, [
    '-mutexTimeStat',
    '-partitions',
    '1',
    '-dbPoolSize',
    '1',
    '-queryThreads',
    '2',
  ])
  const attributes = Array.from({ length: 20 }, (_, n) => ({ name: `a${n}`, value: 'x'.repeat(50) }))
  for (let round = 0; round < 5; round += 1) {
    const elements = Array.from({ length: 200 }, (_, n) => ({ id: `Pump${round}-${n}`, attributes }))
    await broker.update('APPEND', ...elements)
  }
  const entities = [{ id: '9$', isPattern: 'true' }]
  const scan = () => broker.send('POST', '/v1/queryContext?details=on', { entities })
  // On a machine that stands still they may come one after the other.
  const areWaiting = async () => {
    await Promise.all(Array.from({ length: 12 }, scan))
    return ((await waits(t, broker))[1] ?? 0n) > 0n
  }
  await until(areWaiting, 'scans wait')
})
