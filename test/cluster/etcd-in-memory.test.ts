import { test } from 'tap'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
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
