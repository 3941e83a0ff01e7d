import assert from 'node:assert/strict'
import { test } from 'tap'
import { MetadataReplica } from '../../src/partition/replica/metadata-replica.js'
import { ClusterLog } from '../../src/storage/etcd/cluster-log.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { silentLog, storeSettings } from '../given.js'
import { until } from '../until.js'
import { ImmediateLog } from './immediate-log.js'

test('behind a change that could not come into force nothing is reported to be in force', async (t) => {
  const log = new ImmediateLog()
  const faults: unknown[] = []
  const failed = (fault: unknown): void => void faults.push(fault)
  let wal: ClusterLog | undefined
  const openLog = (applied: LogSequence): ClusterLog => {
    wal = new ClusterLog(log.linkOf('a'), applied)
    return wal
  }
  const store = new MetadataStore(t.testdir(), storeSettings, failed, silentLog, openLog)
  assert(wal)
  const position = new PartitionPosition(PartitionPosition.memory())
  let inForce = 0
  const replica = new MetadataReplica({
    ...{ store, wal, node: 'a', log: silentLog, position, failed, owns: () => {} },
    enforce: async ({ writes }) => {
      if (writes.some(({ id }) => id === 'r2')) throw new Error('no thread takes it')
    },
    inForce: (sequence) => {
      inForce = sequence
    },
  })
  const put = (id: string) => store.transact({ writes: [{ database: 'registrations', id, text: '{}' }] }, true)
  replica.own()
  await until(() => replica.isOwner)
  await put('r1')
  await until(() => inForce === log.last)
  const last = inForce
  await put('r2')
  t.match(faults, [{ message: 'no thread takes it' }])
  await put('r3')
  await replica.close()
  await store.close()
  t.ok(log.last > last + 1, 'the changes stand in the log')
  t.equal(inForce, last)
  t.equal(position.appliedIndex, last)
})
