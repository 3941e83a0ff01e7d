import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { before, t as file, type Test, test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { readOptions } from '../../src/flags/command-line.js'
import { partitionsForNewFolder } from '../../src/runtime/commands/cluster-look.js'
import { FarEnd } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { levelsShown, setLevels, startRefusal, tokenFlags } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** What a cluster is called by its nodes, and what nodes know each other by. */
interface Given {
  readonly node: (name: string, ...more: readonly string[]) => readonly string[]
  readonly link: readonly string[]
  readonly folder: string
}

function givenCluster(t: Test): Given {
  const folder = t.testdir()
  const common = ['-cluster', freshName(), '-clusterUrl', etcd.urls.join(','), '-httpThreads', '1']
  const here = ['-clusterIp', '127.0.0.1', '-clusterAdvertise', '127.0.0.1']
  return {
    node: (name, ...more) => [...common, '-nodeName', name, ...more],
    link: ['-clusterPort', '0', ...here, ...tokenFlags(folder)],
    folder,
  }
}

test('a single broker becomes the first node of a cluster, with all that it has', {
  skip: noEtcd,
}, async (t) => {
  const { node, link, folder } = givenCluster(t)
  const receiver = await FarEnd.listen(t)
  const data = (name: string): string => join(folder, `data-${name}`)
  const single = await RunningBroker.startOn(t, data('a'), ['-partitions', '2', '-httpThreads', '1'])
  await setLevels(single, '1')
  const subscribed = await single.send('POST', '/v2/subscriptions', {
    description: 'of before',
    subject: { entities: [{ id: 'Tank0', type: 'Tank' }], condition: { attrs: ['level'] } },
    notification: { http: { url: receiver.url() }, attrs: ['level'] },
  })
  t.equal(subscribed.status, 201)
  await single.endsInOrder(t)

  t.match(
    await startRefusal(t, data('a'), node('a')),
    /ended with 1: .*-cluster needs -clusterTokenFile or -clusterKey/s,
  )
  const a = await RunningBroker.startOn(t, data('a'), node('a', ...link))
  await levelsShown(a, '1')
  await setLevels(a, '2')
  const other = node('b', ...link, '-partitions', '3')
  t.match(await startRefusal(t, data('b'), other), /ended with 6: .*2 partitions.*without -partitions/s)
  const [b, c] = await Promise.all(['b', 'c'].map((name) => RunningBroker.startOn(t, data(name), node(name, ...link))))
  if (b === undefined || c === undefined) return
  t.match(await startRefusal(t, data('d'), node('c', ...link)), /ended with 6: .*node c of it has another data folder/s)
  cpSync(data('c'), data('copy'), { recursive: true })
  const twin = await startRefusal(t, data('copy'), node('c', ...link))
  t.match(
    twin,
    /ended with 6: .*another process runs as its node c, at .*: end that one, or start this one with another/s,
  )
  for (const each of [b, c]) {
    await levelsShown(each, '2')
    const { json } = await each.send('GET', '/v2/subscriptions')
    t.match(json, [{ description: 'of before' }])
  }
  await setLevels(c, '3')
  await until(() => receiver.bodies.some((body) => /"value" ?: ?"?3/.test(body)), 'the receiver is told')
  await c.endsInOrder(t)
  const renamed = await startRefusal(t, data('c'), node('d', ...link))
  t.match(renamed, /ended with 6: .*this data folder is that of its node c: start with -nodeName c/s)

  const alone = await RunningBroker.startOn(t, data('e'), ['-partitions', '2', '-httpThreads', '1'])
  await setLevels(alone, '9')
  await alone.endsInOrder(t)
  t.match(await startRefusal(t, data('e'), node('e', ...link)), /ended with 6: .*data of its own/s)
  await alone.run()
  await levelsShown(alone, '9')
  for (const each of [b, a]) await each.endsInOrder(t)
})

test('of two first nodes that start at the same moment one begins the cluster, and the other joins', {
  skip: noEtcd,
}, async (t) => {
  const { node, link, folder } = givenCluster(t)
  // Each of the twelve partitions that they would have has a thread of its own.
  const start = (name: string) => RunningBroker.startOn(t, join(folder, name), node(name, ...link, '-partitions', '2'))
  const nodes = await Promise.all(['a', 'b'].map(start))
  const [a, b] = nodes
  if (a === undefined || b === undefined) return
  await setLevels(a, '1')
  await levelsShown(b, '1')
  const { json } = await b.send('GET', '/admin/cluster')
  const [listed, partitions] = [member(json, 'nodes'), member(json, 'partitions')]
  t.same(Array.isArray(listed) && listed.map((each) => member(each, 'name')).sort(), ['a', 'b'])
  t.equal(Array.isArray(partitions) && partitions.length, 2)
  for (const each of nodes) await each.endsInOrder(t)
})

test('a new cluster has as many partitions as nodes can be of use', { skip: noEtcd }, async (t) => {
  const { node, link } = givenCluster(t)
  const read = readOptions([...node('a', ...link)], {})
  if (read.kind !== 'run' || read.options.cluster === undefined) throw new Error('these are flags of a node')
  t.same(await partitionsForNewFolder(read.options.cluster, undefined), { ok: true, value: 12 })
})

test('of two processes that are started as one node at the same moment one serves, and the other ends with 6', {
  skip: noEtcd,
}, async (t) => {
  const { node, link, folder } = givenCluster(t)
  const data = (name: string): string => join(folder, `data-${name}`)
  const first = await RunningBroker.startOn(t, data('a'), node('a', ...link, '-partitions', '2'))
  await setLevels(first, '1')
  await first.endsInOrder(t)
  cpSync(data('a'), data('copy'), { recursive: true })
  const starts = ['a', 'copy'].map((name) => RunningBroker.startOn(t, data(name), node('a', ...link)))
  const refusal = /another process runs as its node a, at 127\.0\.0\.1:\d+: end that one/
  const [served, refused]: [RunningBroker[], unknown[]] = [[], []]
  for (const start of await Promise.allSettled(starts)) {
    if (start.status === 'fulfilled') served.push(start.value)
    else refused.push(start.reason)
  }
  for (const reason of refused) t.match(reason, { message: refusal })
  const hasEnded = ({ exit }: RunningBroker): boolean => exit !== null
  await until(() => refused.length === 1 || served.some(hasEnded), 'one of them ends')
  for (const broker of served.filter(hasEnded)) {
    t.equal(await broker.ended(), 6)
    t.match(broker.output, refusal)
  }
  const [left, more] = served.filter((broker) => !hasEnded(broker))
  if (left === undefined || more !== undefined) throw new Error('one of them serves')
  await left.becomesReady()
  await setLevels(left, '2')
  await levelsShown(left, '2')
})
