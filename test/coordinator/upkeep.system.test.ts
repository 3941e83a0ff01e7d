import { test } from 'tap'
import { Sweeper } from '../../src/broker/coordinator/upkeep.js'
import type { SweptReply } from '../../src/partition/turn/commands.js'
import { silentLog } from '../given.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

const swept = (removed: number, more: boolean): SweptReply => ({ kind: 'swept', removed, more })

test('each partition is swept until nothing is left, is refused, or nothing moves', async (t) => {
  const replies: (readonly (SweptReply | undefined)[])[] = [
    [swept(256, true), swept(3, false)],
    [swept(256, true), undefined],
    [swept(0, true)],
  ]
  const requests = [0, 0, 0]
  const counted = [0, 0, 0]
  const sweeper = new Sweeper({
    ...{ partitions: 3, isOwner: () => true },
    interval_ms: 3_600_000,
    sweep: async (partition) => {
      const at = requests[partition] ?? 0
      requests[partition] = at + 1
      return replies[partition]?.[at]
    },
    expired: (partition, entities) => {
      counted[partition] = (counted[partition] ?? 0) + entities
    },
    log: silentLog,
  })
  await until(() => requests.join() === '2,2,1')
  sweeper.stop()
  t.same(requests, [2, 2, 1])
  t.same(counted, [259, 256, 0])
})

test('a partition of another node is not asked, and is swept from when it is this one', async (t) => {
  const requests = [0, 0]
  let isMine = false
  const sweeper = new Sweeper({
    partitions: 2,
    isOwner: (partition) => partition === 0 || isMine,
    interval_ms: 1,
    sweep: async (partition) => {
      requests[partition] = (requests[partition] ?? 0) + 1
      return swept(0, false)
    },
    expired: () => {},
    log: silentLog,
  })
  t.teardown(() => sweeper.stop())
  // The timer of the sweeper keeps no process alive.
  const waits = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(waits))
  await until(() => (requests[0] ?? 0) >= 3)
  t.equal(requests[1], 0)
  isMine = true
  await until(() => requests[1] !== 0)
  t.pass()
})

test('a sweep that is under way when the next one is due is not joined by another; one that fails is logged', async (t) => {
  let requests = 0
  let failures = 0
  const failed = new Promise<void>((resolve) => {
    const sweeper = new Sweeper({
      ...{ partitions: 2, isOwner: () => true },
      interval_ms: 1,
      sweep: (partition) => {
        if (partition === 0) {
          requests += 1
          return new Promise(() => {})
        }
        return Promise.reject(new Error('no partition'))
      },
      expired: () => {},
      log: {
        ...silentLog,
        error: () => {
          failures += 1
          if (failures < 3) return
          sweeper.stop()
          resolve()
        },
      },
    })
    // The timer of the sweeper keeps no process alive.
    const waits = setInterval(() => {}, 1000)
    t.teardown(() => clearInterval(waits))
  })
  await failed
  t.equal(requests, 1)
})

test('what had expired is gone after a start, also after SIGKILL, and is counted', async (t) => {
  const flags = ['-partitions', '1', '-ngsiv1Autocast', '-expirationSweep', '1']
  const broker = await RunningBroker.start(t, flags)
  const dated = async (ids: readonly string[], value: string) => {
    const attributes = [{ name: 'dateExpires', type: 'DateTime', value }]
    const { text } = await broker.update('APPEND', ...ids.map((id) => ({ id, type: 'Silo', attributes })))
    t.equal(text.match(/"code":"200"/g)?.length, ids.length, 'nothing was refused')
  }
  const statusOf = async (id: string) => (await broker.send('GET', `/v1/contextEntities/${id}`)).text
  await dated(['Future'], '2999-01-01')
  await dated(
    Array.from({ length: 600 }, (_, number) => `Silo${number}`),
    '2020-01-01',
  )
  const expired = /rigel_entities_expired_total\{partition="0"\} 600\n/
  await until(async () => expired.test((await broker.send('GET', '/metrics')).text))
  t.match(await statusOf('Silo17'), '404')
  await dated(['Late'], '2020-01-01')
  await broker.end('SIGKILL')
  await broker.run()
  await until(async () => (await statusOf('Late')).includes('404'))
  t.match(await statusOf('Silo17'), '404', 'what a sweep has removed does not come back')
  t.notMatch(await statusOf('Future'), '404')
})
