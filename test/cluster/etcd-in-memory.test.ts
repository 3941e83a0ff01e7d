import { test } from 'tap'
import { standingCluster } from '../../src/storage/etcd/cluster-state.js'
import type { EtcdCalls } from '../../src/storage/etcd/etcd-client.js'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
import { EtcdNodes } from '../../src/storage/etcd/etcd-nodes.js'
import { nodesText, noNodes } from '../../src/storage/etcd/node-facts.js'
import { patientCalls } from '../../src/storage/etcd/patient-calls.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { EtcdInMemory } from './etcd-in-memory.js'
import { checkRules } from './etcd-rules.js'

test('etcd in memory has the rules of a real one', async (t) => {
  await checkRules(t, new EtcdInMemory().client(), '/rules')
})

test('a full one takes no record, and deletes', async (t) => {
  const etcd = new EtcdInMemory()
  const engine = new EtcdEngine({ urls: [] }, '/full', etcd.client())
  const none = 0 as LogSequence
  t.ok((await engine.begin('what it is', new Map([[0, none]]), 'its nodes')).ok)
  const offer = { log: 0, expected: none, bytes: Buffer.from('record'), isOwn: () => false }
  etcd.isFull = true
  t.same(await engine.append([offer]), { ok: true, value: [{ ok: false, error: { kind: 'etcdFull' } }] })
  t.ok((await engine.truncate(new Map([[0, none]]))).ok)
  etcd.isFull = false
  t.same(await engine.append([offer]), { ok: true, value: [{ ok: true, value: 1 }] })
})

test('a response that is lost says nothing of what was carried out', async (t) => {
  const etcd = new EtcdInMemory()
  let carried = 0
  const carries = async (): Promise<void> => {
    carried += 1
  }
  const engine = new EtcdEngine({ urls: [] }, '/lost', etcd.client({ carried: carries, isLost: () => carried === 4 }))
  const none = 0 as LogSequence
  t.ok((await engine.begin('what it is', new Map([[0, none]]), 'its nodes')).ok)
  const offer = { log: 0, expected: none, bytes: Buffer.from('record'), isOwn: () => true }
  t.match(await engine.append([offer]), { ok: false, error: { kind: 'unavailable' } })
  t.same(await engine.append([offer]), { ok: true, value: [{ ok: true, value: 1 }] }, 'it stands, as its own')
})

test('a start asks again what etcd does not answer', async (t) => {
  const etcd = new EtcdInMemory()
  let messages = 0
  const carried = async (): Promise<void> => {
    messages += 1
  }
  // Of every two calls one is lost: of remainder 1 its request, of remainder 2 its response.
  const losing = (remainder: number) => etcd.client({ carried, isLost: () => messages % 4 === remainder })
  const description = JSON.stringify({ format: 1, name: 'tanks', folder: 'first', partitions: 2 })
  const begin = (client: EtcdCalls) =>
    new EtcdEngine({ urls: [] }, '/start', patientCalls(client)).begin(description, new Map(), nodesText(noNodes))
  t.same(await begin(losing(1)), { ok: true, value: true })
  for (const [node, remainder] of [
    ['a', 1],
    ['b', 2],
  ] as const) {
    const listed = await new EtcdNodes(patientCalls(losing(remainder)), '/start').list({ node, folder: node })
    t.match(listed, { ok: true })
    const found = await standingCluster(losing(remainder), '/start', t.fail)
    t.match(found, { ok: true, value: { description: { name: 'tanks' }, nodes: { nodes: [{ name: 'a' }] } } })
  }
  const unanswered = patientCalls(etcd.client({ carried, isLost: () => true }), 500)
  const before = messages
  t.match(await unanswered.call('status', {}), { ok: false, error: { kind: 'unavailable' } })
  t.ok(messages - before > 2, 'it was asked more than once')
})
