import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { before, t as file, test } from 'tap'
import { items, member } from '../../bench/ngsi.js'
import { removeNode } from '../../src/cluster/membership/node-removal.js'
import { EtcdClient } from '../../src/storage/etcd/etcd-client.js'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
import { documentedMetrics, shownMetrics } from '../documented-metrics.js'
import { described, undescribed } from '../openapi/given-description.js'
import { brokerProgram } from '../program.js'
import type { Reply, RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { givenNodes, setLevel, setLevels, tokenFlags } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

function misdescribed(reply: Reply, of = '/admin/cluster'): string {
  const operation = described.find(({ path }) => path === of)
  return operation === undefined ? 'it is not described' : undescribed(operation, reply)
}

/** What `rigel cluster` prints and ends with. */
function command(
  cluster: string,
  ...words: readonly string[]
): { readonly text: string; readonly code: number | null } {
  const flags = ['-cluster', cluster, '-clusterUrl', etcd.urls.join(',')]
  const done = spawnSync(process.execPath, [brokerProgram, 'cluster', ...words, ...flags], { encoding: 'utf8' })
  return { text: `${done.stdout}${done.stderr}`, code: done.status }
}

test('nodes, owners and replicas are shown by each node and from etcd alone; who will not return is removed', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const flags = () => ['-clusterTokenFile', join(folder, 'token')]
  const { cluster, nodes } = await givenNodes(t, etcd, ['a', 'b'], flags, { httpThreads: 2 })
  const [a, b] = nodes
  if (a === undefined || b === undefined) return
  await until(() => setLevel(a, 'Tank0', '1'), 'the first node owns what it is asked for')
  for (const node of nodes) {
    const isReady = async (): Promise<boolean> => (await node.send('GET', '/health/ready')).status === 200
    await until(isReady, 'it is ready')
    const owners = [{ partition: 0 }, { partition: 1 }].map((each) => ({
      ...each,
      owner: /^[ab]$/,
      replicas: [{}, {}],
    }))
    const isWhole = async (): Promise<boolean> => {
      const { text } = await node.send('GET', '/admin/cluster')
      return text.split('"isMember":true').length === 3 && text.split('"owner"').length === 3
    }
    await until(isWhole, 'both are members, and all partitions have owners')
    const reply = await node.send('GET', '/admin/cluster')
    t.equal(misdescribed(reply), '')
    t.match(reply.json, {
      ...{ cluster, prefix: `/rigel/${cluster}`, node: node === a ? 'a' : 'b', replicas: 3, reads: 'confirmed' },
      nodes: [
        { name: 'a', slot: 0, isMember: true, leaseLeft_s: Number, address: /^127\.0\.0\.1:\d+$/, formats: [1] },
        { name: 'b', slot: 1, isMember: true, isLeaving: false },
      ],
      partitions: owners,
    })
  }
  const statistics = async (node: RunningBroker) => {
    const reply = await node.send('GET', '/admin/cluster/statistics')
    t.equal(misdescribed(reply, '/admin/cluster/statistics'), '')
    return reply
  }
  t.match((await statistics(b)).json, {
    node: 'b',
    nodes: [
      { name: 'a', statistics: { uptime_in_secs: Number } },
      { name: 'b', statistics: { uptime_in_secs: Number } },
    ],
    all: { partitions: { owned: 2 }, turns: { operations: Number } },
  })
  const documented = documentedMetrics('docs/cluster.md')
  const metrics = shownMetrics((await b.send('GET', '/metrics')).text)
  const shown = [...metrics].filter(([name]) => name.startsWith('rigel_cluster_'))
  t.same(new Set(shown.map(([name]) => name)), new Set(documented.keys()), 'all metrics that are documented are shown')
  for (const [name, { type, help, labels, samples }] of shown) {
    const { labels: own, ...facts } = documented.get(name) ?? {}
    t.match({ type, help }, facts, name)
    if (samples.length > 0) t.same(labels, own, name)
  }
  t.match(metrics.get('rigel_cluster_replica_lag_records')?.samples, [/partition="0"/, /partition="1"/])
  const { text } = command(cluster, 'status')
  t.match(text, new RegExp(`^cluster ${cluster} at /rigel/${cluster}: 2 nodes, 2 of them members, 2 partitions`))
  t.match(text, /^a +0 +\d+ s +\d +127\.0\.0\.1:\d+$/m)
  const isIdle = async (): Promise<boolean> => {
    const { json } = await a.send('GET', '/admin/cluster')
    return items(member(json, 'partitions')).every((partition) => {
      const last = Number(member(partition, 'last'))
      const needsFewer = (replica: unknown): boolean =>
        Number(member(replica, 'behind')) < last - Number(member(replica, 'checkpoint'))
      return items(member(partition, 'replicas')).every(needsFewer)
    })
  }
  await until(isIdle, 'records that change nothing are in no checkpoint, and need none')
  t.match(command(cluster, 'remove', 'b'), { code: 1, text: /node b is a member/ })
  t.match(command(cluster, 'remove', 'c'), { code: 1, text: /it has no node c, but a, b/ })

  await b.endsInOrder(t)
  t.match((await statistics(a)).json, { nodes: [{ name: 'a' }, { name: 'b', reason: /no member/ }] })
  await a.endsInOrder(t)
  const stopped = command(cluster, 'status')
  t.match(stopped, { code: 0, text: /2 nodes, 0 of them members/ })
  t.match(stopped.text, /^node b is no member/m, 'who ends in order leaves at once')
  t.match(stopped.text, /^no node owns partitions 0, 1$/m)
  t.equal(command(cluster, 'remove', 'b').code, 0)
  t.match(JSON.parse(command(cluster, 'status', '--json').text), { nodes: [{ name: 'a', isMember: false }] })
})

test('the only node owns everything; a wrong word is said', { skip: noEtcd }, async (t) => {
  const folder = t.testdir()
  const { cluster, nodes } = await givenNodes(t, etcd, ['only'], () => tokenFlags(folder))
  const [broker] = nodes
  if (broker === undefined) return
  await setLevels(broker, '1')
  const reply = await broker.send('GET', '/admin/cluster')
  t.equal(misdescribed(reply), '')
  t.match(reply.json, { node: 'only', nodes: [{ name: 'only', isMember: true, owns: [0, 1] }] })
  t.match(reply.json, { partitions: [{ owner: 'only' }, { owner: 'only' }] })
  const statistics = await broker.send('GET', '/admin/cluster/statistics')
  t.equal(misdescribed(statistics, '/admin/cluster/statistics'), '')
  t.match(statistics.json, { nodes: [{ name: 'only' }], all: { partitions: { owned: 2 } } })
  t.match(command(cluster, 'status'), { code: 0, text: /1 nodes, 1 of them members, 2 partitions/ })
  t.match(command(freshName(), 'status'), { code: 1, text: /no cluster stands at/ })
  t.match(command(cluster, 'remove', 'only'), { code: 1, text: /no other node has what|node only is a member/ })
  t.match(command(cluster, 'remove'), { code: 2, text: /needs the name of a node/ })
  t.match(command(cluster, 'delete', 'only'), { code: 2, text: /'delete' is no task/ })
})

test('the last node that has what a log does not have any more is not removed', { skip: noEtcd }, async (t) => {
  const prefix = `/rigel/${freshName()}`
  const listed = ['a', 'b'].map((name, slot) => ({ name, slot, folder: `folder-${name}` }))
  const put = (key: string, value: unknown): string => etcd.control(['put', `${prefix}/${key}`, JSON.stringify(value)])
  put('cluster', { format: 1, name: 'x', folder: 'folder-a', partitions: 1 })
  put('setting/nodes', { format: 1, copies: 3, nodes: listed })
  put('head/0', 10)
  put('log/0/000000000000009', 'a record')
  put('log/0/000000000000010', 'a record')
  put('checkpoints/a', { 0: 7 })
  put('checkpoints/b', { 0: 8 })
  const [client, engine] = [new EtcdClient({ urls: etcd.urls }), new EtcdEngine({ urls: etcd.urls }, prefix)]
  t.teardown(() => {
    client.close()
    engine.close()
  })
  t.match(await removeNode({ client, engine, prefix }, 'b'), {
    ok: false,
    error: /no other node has .* partitions .*: 0\./,
  })
  t.same(await removeNode({ client, engine, prefix }, 'a'), { ok: true, value: undefined })
  t.equal(etcd.control(['get', `${prefix}/checkpoints/a`]), '', 'what it has said is forgotten')
})
