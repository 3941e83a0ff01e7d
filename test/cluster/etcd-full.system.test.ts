import { test } from 'tap'
import { encodeClusterRecord } from '../../src/storage/etcd/cluster-record.js'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { whenAvailable } from './given.js'

const at = (sequence: number): LogSequence => sequence as LogSequence

function record(text: string): Buffer {
  const payload = Buffer.from(text)
  return encodeClusterRecord({ kind: 'turn', epoch: at(1), time_ms: 1, metadataVersion: at(0), node: 'here', payload })
}

test('what is refused since etcd is full does not stand, and what stands is not refused', {
  skip: noEtcd,
}, async (t) => {
  const quota = ['--quota-backend-bytes', `${16 * 2 ** 20}`]
  const small = await EtcdMembers.start(t, 1, quota)
  const engine = new EtcdEngine({ urls: small.urls }, '/full')
  t.teardown(() => engine.close())
  const logs = Array.from({ length: 6 }, (_, number) => number)
  t.ok(
    (await whenAvailable(() => engine.begin('what it is', new Map(logs.map((log) => [log, at(0)])), 'its nodes'))).ok,
  )
  // A request that would not fit is refused before it is ordered; of those that pass together one is carried out and refused.
  const filled = logs.map(async (log) => {
    for (let last = 0; ; last += 1) {
      const bytes = Buffer.concat([record(`${log}`), Buffer.alloc(2 ** 20)])
      const isOwn = (standing: Uint8Array): boolean => Buffer.from(standing).equals(bytes)
      const appended = await whenAvailable(() => engine.append([{ log, expected: at(last), bytes, isOwn }]))
      if (!appended.ok) throw new Error(appended.error.reason)
      const [outcome] = appended.value
      if (outcome?.ok) continue
      t.same(outcome, { ok: false, error: { kind: 'etcdFull' } })
      const extent = await whenAvailable(() => engine.extent(log))
      return t.equal(extent.ok && extent.value?.last, last)
    }
  })
  await Promise.all(filled)
})
