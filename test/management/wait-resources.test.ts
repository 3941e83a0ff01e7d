import { test } from 'tap'
import { bodyOf, management, parameters } from './given.js'

test('waits are shown for every resource and partition while they are measured', async (t) => {
  const { send, measures } = management()
  t.same(bodyOf(await send('GET', '/admin/waits')), { enabled: false })
  await send('PUT', '/admin/stats', parameters(['semWait', 'true']))
  const meter = measures.wait('mailbox', 1)
  meter.free()
  meter.waited(3_001_119n)
  const none = { count: 0, waited: 0, total: '0.000000000', max: '0.000000000' }
  const some = { count: 2, waited: 1, total: '0.003001119', max: '0.003001119' }
  const noPercentiles = { p50: '0.000000000', p90: '0.000000000', p99: '0.000000000', p999: '0.000000000' }
  const percentiles = { p50: '0.000000000', p90: '0.003001119', p99: '0.003001119', p999: '0.003001119' }
  const idle = { ...none, ...noPercentiles }
  const busy = { ...some, ...percentiles }
  const partitions = [
    { partition: 0, ...idle },
    { partition: 1, ...idle },
  ]
  t.same(bodyOf(await send('GET', '/admin/waits')), {
    enabled: true,
    measuring_interval_in_secs: 0,
    waits: {
      request: idle,
      dbConnectionPool: { ...idle, partitions },
      transaction: { ...idle, partitions },
      mailbox: {
        ...busy,
        partitions: [
          { partition: 0, ...idle },
          { partition: 1, ...busy },
        ],
      },
    },
  })
})

test('with details two responses can be subtracted: distributions, the exact length, and when counting began', async (t) => {
  const { send, measures } = management()
  await send('PUT', '/admin/stats', parameters(['semWait', 'true']))
  const details = parameters(['details', 'on'])
  const reading = async () => Object(bodyOf(await send('GET', '/admin/waits', details)))
  const before = await reading()
  const meters = [measures.wait('mailbox', 0), measures.wait('mailbox', 1)]
  for (const meter of meters) meter.waited(3_001_119n)
  meters[1]?.waited(60_000_000_000n)
  const { since_ms, interval, bounds, waits } = await reading()
  t.equal(since_ms, before.since_ms)
  t.ok(Number(interval) > Number(before.interval), 'it goes on')
  const counted = (each: { readonly buckets: readonly number[] }) =>
    each.buckets.flatMap((count, bucket) => (count === 0 ? [] : [[bounds[bucket] ?? 'longer', count]]))
  t.equal(waits.mailbox.buckets.length, bounds.length + 1)
  t.same(counted(waits.mailbox), [
    [0.005, 2],
    ['longer', 1],
  ])
  t.same(counted(waits.mailbox.partitions[0]), [[0.005, 1]])
  t.same(counted(waits.request), [])
  t.same(counted(before.waits.mailbox), [])
})

test('a semaphore is taken when nothing of it is left', async (t) => {
  const left = [2, 2]
  const { send, measures, requests } = management({ freeHandles: (partition) => left[partition] ?? 0 })
  const taken = async () => {
    const states = Object.entries(Object(bodyOf(await send('GET', '/admin/sem'))) as Record<string, { status: string }>)
    t.equal(states.length, 13)
    return states.filter(([, { status }]) => status === 'taken').map(([name]) => name)
  }
  t.same(await taken(), [])
  requests.permits(0, 4, 0)
  t.same(await taken(), ['request'])
  requests.permits(1, 3, 0)
  const storage = measures.storage(1)
  storage.writing(true)
  t.same(await taken(), ['transaction'])
  storage.writing(false)
  left[1] = 1
  t.same(await taken(), [])
  left[1] = 0
  t.same(await taken(), ['dbConnectionPool', 'dbConnection'])
  const delivery = measures.delivery.meter()
  delivery.opening(1)
  t.same(await taken(), ['dbConnectionPool', 'dbConnection', 'mqttMgr'])
  delivery.opening(0)
  t.same(await taken(), ['dbConnectionPool', 'dbConnection'])
})
