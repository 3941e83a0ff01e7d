import { before, t as file, type Test, test } from 'tap'
import { EtcdClient } from '../../src/storage/etcd/etcd-client.js'
import { EtcdNodes } from '../../src/storage/etcd/etcd-nodes.js'
import { listedNames, type NodeFacts, nodesText, noNodes } from '../../src/storage/etcd/node-facts.js'
import { parseCheckpoints, parseCovered, ReplicaCheckpoints } from '../../src/storage/etcd/replica-checkpoints.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { until } from '../until.js'
import { BrokenProxy } from './broken-proxy.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** Longer than a machine stands still. */
const ttl_ms = 60_000

/** Of a member whose lease is to be lost. */
const short_ms = 6000

function nodesAt(t: Test, prefix: string, urls = etcd.urls): EtcdNodes {
  const client = new EtcdClient({ urls })
  t.teardown(() => client.close())
  return new EtcdNodes(client, prefix)
}

function node(name: string, slot: number): NodeFacts {
  const coordinates = 0 as LogSequence
  return {
    name,
    slot,
    address: `${name}:1027`,
    hosts: ['10.0.0.7'],
    ports: [1027],
    formats: [1],
    unreachable: [],
    isLeaving: false,
    isFull: false,
    owns: [],
    coordinates,
  }
}

/** The names of the members, as they are seen. */
function seenBy(t: Test, nodes: EtcdNodes): { names: readonly string[]; members: readonly NodeFacts[] } {
  const seen: { names: readonly string[]; members: readonly NodeFacts[] } = { names: [], members: [] }
  const following = nodes.watchMembers((members) => {
    seen.members = members
    seen.names = members.map(({ name }) => name)
  })
  t.teardown(() => following.stop())
  return seen
}

test('nodes that list themselves at the same moment are all listed, each in a slot of its own', {
  skip: noEtcd,
}, async (t) => {
  const prefix = `/${freshName()}`
  const names = ['a', 'b', 'c', 'd']
  const clients = names.map(() => nodesAt(t, prefix))
  const [one] = clients
  if (one === undefined) return
  t.match(await one.list({ node: 'a', folder: 'of a' }), { ok: false, error: /later version of Rigel, or damaged/ })
  etcd.control(['put', `${prefix}/setting/nodes`, nodesText(noNodes)])
  let seen: readonly string[] = []
  const following = one.watchListed((held) => {
    seen = listedNames(held)
  })
  t.teardown(() => following.stop())
  const listed = await Promise.all(
    clients.map((nodes, at) => nodes.list({ node: names[at] ?? '', folder: `of ${names[at]}` })),
  )
  t.ok(listed.every(({ ok }) => ok))
  await until(() => seen.length === names.length, 'all are seen')
  t.same([...seen].sort(), names)
  const all = await one.list({ node: 'a', folder: 'of a' })
  t.same(all.ok && all.value.nodes.map(({ slot }) => slot).sort(), [0, 1, 2, 3], 'who is listed is not listed again')
  t.match(await one.list({ node: 'a', folder: 'of e' }), { ok: false, error: /node a of it has another data folder/ })
})

test('a member is seen while it renews its lease, with what it says of itself', { skip: noEtcd }, async (t) => {
  const prefix = `/${freshName()}`
  const [one, other] = [nodesAt(t, prefix), nodesAt(t, prefix)]
  const seen = seenBy(t, other)
  const joined = await one.join(node('a', 0), ttl_ms)
  if (!joined.ok) throw new Error('it has not joined')
  await until(() => seen.names.join() === 'a', 'the member is seen')
  t.same(seen.members, [node('a', 0)])
  const second = await other.join(node('b', 1), ttl_ms)
  t.ok(second.ok)
  await until(() => seen.names.join() === 'a,b', 'both are seen')
  joined.value.tell({ ...node('a', 0), unreachable: ['b'] })
  await until(() => seen.members[0]?.unreachable.includes('b') === true, 'what it says is seen')
  const began_ms = performance.now()
  await joined.value.leave()
  await until(() => seen.names.join() === 'b', 'it is gone')
  t.comment(`a member that has left was gone after ${Math.round(performance.now() - began_ms)} ms`)
  await joined.value.lost
  if (second.ok) await second.value.leave()
})

test('who is cut off from the engine learns that its lease is lost, and others that it is gone', {
  skip: noEtcd,
}, async (t) => {
  const prefix = `/${freshName()}`
  const proxy = await BrokenProxy.before(t, etcd.urls[0] ?? '')
  const [cut, other] = [nodesAt(t, prefix, [proxy.url]), nodesAt(t, prefix)]
  const [seen, seenByCut] = [seenBy(t, other), seenBy(t, cut)]
  const joined = await cut.join(node('a', 0), short_ms)
  if (!joined.ok) throw new Error('it has not joined')
  await until(() => seen.names.join() === 'a' && seenByCut.names.join() === 'a', 'the member is seen')
  proxy.become('closed')
  await joined.value.lost
  await until(() => seen.names.length === 0, 'others see that it is gone')
  proxy.become('open')
  const second = await other.join(node('b', 1), ttl_ms)
  t.ok(second.ok)
  await until(() => seenByCut.names.join() === 'b', 'who was cut off follows again')
  if (second.ok) await second.value.leave()
})

test('how far all replicas are is the lowest that was said, and nothing is of who has said nothing', {
  skip: noEtcd,
}, async (t) => {
  const prefix = `/${freshName()}`
  const listedNodes = ['a', 'b', 'c']
  const [a, b, c] = listedNodes.map((name) => new ReplicaCheckpoints(nodesAt(t, prefix), name, listedNodes, new Map()))
  if (!a || !b || !c) throw new Error('there are three')
  a.reached(0, 9 as LogSequence)
  a.reached(1, 3 as LogSequence)
  b.reached(0, 7 as LogSequence)
  await b.synchronized()
  t.same(await a.synchronized(), {
    ok: true,
    value: new Map([
      [0, { all: 0, two: 7 }],
      [1, { all: 0, two: 0 }],
    ]),
  })
  c.reached(0, 8 as LogSequence)
  t.same(await c.synchronized(), { ok: true, value: new Map([[0, { all: 7, two: 8 }]]) })
  c.list(['c'])
  t.same(await c.synchronized(), { ok: true, value: new Map([[0, { all: 8, two: 8 }]]) })
})

test('records that change nothing are told with the next checkpoint, or some calls later, and nothing is truncated for them', {
  skip: noEtcd,
}, async (t) => {
  const nodes = nodesAt(t, `/${freshName()}`)
  const a = new ReplicaCheckpoints(nodes, 'a', ['a'], new Map())
  const reported = async (): Promise<readonly (number | undefined)[]> => {
    const all = await nodes.checkpoints()
    const text = (all.ok ? all.value.get('a') : undefined) ?? ''
    return [parseCheckpoints(text).get('0'), parseCovered(text).get('0')]
  }
  a.reached(0, 5 as LogSequence)
  a.covered(0, 6 as LogSequence)
  await a.synchronized()
  t.same(await reported(), [5, 6])
  a.covered(0, 7 as LogSequence)
  await a.synchronized()
  t.same(await reported(), [5, 6], 'not at once')
  for (let calls = 2; calls < 10; calls += 1) await a.synchronized()
  t.same(await a.synchronized(), { ok: true, value: new Map([[0, { all: 5, two: 5 }]]) })
  t.same(await reported(), [5, 7])
})
