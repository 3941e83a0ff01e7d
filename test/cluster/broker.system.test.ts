import { randomBytes } from 'node:crypto'
import { before, t as file, type Test, test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { attributeText, freshName } from './given.js'
import { levelsShown, nodeFlags, setLevels, startRefusal, tokenFlags } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

test('what was acknowledged is there after SIGKILL, and the folder is bound to its cluster', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir()
  const cluster = freshName()
  const flags = [...nodeFlags(etcd, cluster, 'a'), ...tokenFlags(folder)]
  const more = ['-mutexTimeStat', '-inReqPayloadMaxSize', '4000000']
  const broker = await RunningBroker.startOn(t, `${folder}/data`, [...flags, ...more])
  await setLevels(broker, '5')
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
  await refusesLarge(t, broker)

  await broker.end('SIGKILL')
  await broker.run()
  await levelsShown(broker, '5')
  t.match((await broker.send('GET', '/v2/subscriptions')).json, [{ subject: { entities: [{ idPattern: 'never' }] } }])
  await setLevels(broker, '6')
  await broker.endsInOrder(t)

  t.match(
    await startRefusal(t, broker.folder, ['-partitions', '2']),
    new RegExp(`ended with 3: .*belongs to cluster ${cluster}`, 's'),
  )
  const other = [...nodeFlags(etcd, 'other', 'a'), ...tokenFlags(folder)]
  t.match(await startRefusal(t, broker.folder, other), /ended with 3: .*belongs to cluster .*, not to other/s)
})

/** An update whose record etcd does not take is refused alone. */
async function refusesLarge(t: Test, broker: RunningBroker): Promise<void> {
  const level = (id: string, value: string) => {
    return { id, type: 'Tank', isPattern: 'false', attributes: [{ name: 'level', type: 'Number', value }] }
  }
  const noise = randomBytes(1_200_000).toString('base64')
  const [large, small] = await Promise.all([
    broker.update('APPEND', level('Large', noise)),
    broker.update('APPEND', level('Small', '1')),
  ])
  t.match(large.text, /takes more than a record of the cluster may have/)
  t.equal(small.status, 200)
  await until(async () => (await attributeText(broker, 'Small', 'level')) === '1', 'the small one is shown')
  const created = await broker.send('POST', '/v2/entities', { id: 'Large', type: 'T', noise: { value: noise } })
  t.equal(created.status, 413)
}
