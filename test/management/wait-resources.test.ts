import { test } from 'tap'
import { bodyOf, management, parameters } from './given.js'

test('waits are shown for every resource and partition while they are measured', async (t) => {
  const { ask, measures } = management()
  t.same(bodyOf(await ask('GET', '/admin/waits')), { enabled: false })
  await ask('PUT', '/admin/stats', parameters(['semWait', 'true']))
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
  t.same(bodyOf(await ask('GET', '/admin/waits')), {
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

test('a semaphore is taken when nothing of it is left', async (t) => {
  const left = [2, 2]
  const { ask, measures, requests } = management({ freeHandles: (partition) => left[partition] ?? 0 })
  const taken = async () => {
    const states = Object.entries(Object(bodyOf(await ask('GET', '/admin/sem'))) as Record<string, { status: string }>)
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
