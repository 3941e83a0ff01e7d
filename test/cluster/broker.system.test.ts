import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { before, t as file, type Test, test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { attributeText, freshName } from './given.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.start(file, 3, file.testdir())
  })
}

function flagsOf(cluster: string, httpThreads = 1): readonly string[] {
  const storage = ['-partitions', '2', '-httpThreads', String(httpThreads)]
  return ['-cluster', cluster, '-clusterUrl', etcd.urls.join(','), ...storage]
}

function level(id: string, value: string) {
  return { id, type: 'Tank', isPattern: 'false', attributes: [{ name: 'level', type: 'Number', value }] }
}

/** Starts a broker that is not to come up; gives what it ended with and its last words. */
async function refused(t: Test, folder: string, flags: readonly string[]): Promise<string> {
  return RunningBroker.startOn(t, folder, flags).then(
    () => 'it has started',
    (fault: unknown) => (fault instanceof Error ? fault.message : String(fault)),
  )
}

test('what was acknowledged is there after SIGKILL, and the folder is bound to its cluster', {
  skip: noEtcd,
}, async (t) => {
  const cluster = freshName()
  const broker = await RunningBroker.start(t, [...flagsOf(cluster), '-mutexTimeStat'])
  for (let round = 1; round <= 5; round += 1) {
    const elements = Array.from({ length: 20 }, (_, number) => level(`Tank${number}`, String(round)))
    t.equal((await broker.update('APPEND', ...elements)).status, 200)
  }
  const { text } = await broker.send('GET', '/metrics')
  t.match(text, /^rigel_cluster_appended_records_total [1-9]/m)
  t.match(text, /^rigel_cluster_engine_silent 0$/m)
  t.match((await broker.send('GET', '/admin/waits')).json, {
    waits: { append: { partitions: [{ partition: 0 }, {}] } },
  })
  const subscribed = await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ idPattern: 'never' }] },
    notification: { http: { url: 'http://127.0.0.1:1/' } },
  })
  t.equal(subscribed.status, 201)

  await broker.end('SIGKILL')
  await broker.run()
  for (let number = 0; number < 20; number += 1) {
    t.equal(await attributeText(broker, `Tank${number}`, 'level'), '5')
  }
  t.match((await broker.send('GET', '/v2/subscriptions')).json, [{ subject: { entities: [{ idPattern: 'never' }] } }])
  t.equal((await broker.update('UPDATE', level('Tank0', '6'))).status, 200)
  t.equal(await broker.end('SIGTERM'), 0)

  t.match(
    await refused(t, broker.folder, ['-partitions', '2']),
    new RegExp(`ended with 3: .*belongs to cluster ${cluster}`, 's'),
  )
  t.match(await refused(t, broker.folder, flagsOf('other')), /ended with 3: .*belongs to cluster .*, not to other/s)
  t.match(await refused(t, `${broker.folder}-other`, flagsOf(cluster)), /ended with 6: .*has another data folder/s)
})

test('the folder of a single broker joins with all that it has', { skip: noEtcd }, async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '1'])
  t.equal((await broker.update('APPEND', level('Tank1', '1'), level('Tank2', '1'))).status, 200)
  await broker.end('SIGKILL')

  const cluster = freshName()
  const member = await RunningBroker.startOn(t, broker.folder, flagsOf(cluster))
  t.equal(await attributeText(member, 'Tank2', 'level'), '1')
  t.equal((await member.update('APPEND', level('Tank1', '2'))).status, 200)
  t.equal(await attributeText(member, 'Tank1', 'level'), '2')
})

test('a process that another one has taken over from ends, and says so', { skip: noEtcd }, async (t) => {
  const flags = flagsOf(freshName())
  const broker = await RunningBroker.start(t, flags)
  t.equal((await broker.update('APPEND', level('Tank1', '1'))).status, 200)
  await broker.end('SIGTERM')
  const copy = `${broker.folder}-copy`
  cpSync(broker.folder, copy, { recursive: true })
  await broker.run()
  const successor = await RunningBroker.startOn(t, copy, flags)
  t.not((await broker.update('UPDATE', level('Tank1', '2')).catch(() => undefined))?.status, 200)
  t.equal(await broker.ended(), 7)
  t.match(broker.output, /another process has taken over cluster/)
  t.equal(await attributeText(successor, 'Tank1', 'level'), '1')
  t.equal((await successor.update('UPDATE', level('Tank1', '3'))).status, 200)
})

test('without a majority updates are answered with 503, reads go on, and all goes on by itself', {
  skip: noEtcd,
}, async (t) => {
  const broker = await RunningBroker.start(t, [...flagsOf(freshName(), 2), '-inReqPayloadMaxSize', '4000000'])
  await refusesLarge(t, broker)
  const tanks = Array.from({ length: 24 }, (_, number) => `Tank${number}`)
  const update = (value: string, ids = tanks) => Promise.all(ids.map((id) => broker.update('APPEND', level(id, value))))
  t.ok((await update('1')).every(({ status }) => status === 200))
  const leader = etcd.leader()
  const stopped = [leader, (leader + 1) % etcd.size]
  let newer: ReturnType<typeof update>
  const others = tanks.toReversed()
  for (const number of stopped) etcd.signal(number, 'SIGSTOP')
  try {
    const late = await update('2')
    const unknown = late.findIndex(({ text }) => text.includes('the update may have been carried out'))
    t.not(unknown, -1)
    t.equal(await attributeText(broker, tanks[unknown] ?? '', 'level'), '1')
    await until(async () => (await broker.send('GET', '/health/ready')).status === 503, 'it is not ready')
  } finally {
    // In another order, so that they come by other connections, and other front ends.
    newer = update('3', others)
    for (const number of stopped) etcd.signal(number, 'SIGCONT')
  }
  const replies = await newer
  const again = others.filter((_, number) => replies[number]?.status !== 200)
  const isSet = async (id: string) => (await broker.update('UPDATE', level(id, '3'))).status === 200
  await Promise.all(again.map((id) => until(() => isSet(id), `${id} is set`)))
  for (const id of tanks) {
    t.equal(await attributeText(broker, id, 'level'), '3', 'what was answered with 503 has not overtaken it')
  }
  await broker.becomesReady()
  t.equal(await broker.end('SIGTERM'), 0)
})

/** An update whose record etcd does not take is refused alone. */
async function refusesLarge(t: Test, broker: RunningBroker): Promise<void> {
  const noise = randomBytes(1_200_000).toString('base64')
  const [large, small] = await Promise.all([
    broker.update('APPEND', level('Large', noise)),
    broker.update('APPEND', level('Small', '1')),
  ])
  t.match(large.text, /takes more than a record of the cluster may have/)
  t.equal(small.status, 200)
  t.equal(await attributeText(broker, 'Small', 'level'), '1')
  const created = await broker.send('POST', '/v2/entities', { id: 'Large', type: 'T', noise: { value: noise } })
  t.equal(created.status, 413)
}
