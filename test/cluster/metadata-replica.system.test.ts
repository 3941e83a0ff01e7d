import { before, t as file, test } from 'tap'
import { MetadataReplica } from '../../src/partition/replica/metadata-replica.js'
import { ClusterLog } from '../../src/storage/etcd/cluster-log.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { silentLog, storeSettings } from '../given.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { linkTo, startedLogThread } from './log-threads.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

test('who coordinates has its own records in force, as the nodes have that follow', { skip: noEtcd }, async (t) => {
  const prefix = `/${freshName()}`
  const thread = await startedLogThread(t, etcd, prefix, 'a')
  await thread.begin({ description: 'a test', after: new Map([['control', 0 as LogSequence]]), nodes: 'its nodes' })
  thread.follow({ replicas: 2, nodes: [] }, new Map())
  const writer = linkTo(thread, 'control', 'a')
  let wal: ClusterLog | undefined
  const openLog = (applied: LogSequence): ClusterLog => {
    wal = new ClusterLog(writer, applied)
    return wal
  }
  const failed = (fault: unknown): void => {
    t.fail(String(fault))
  }
  const store = new MetadataStore(t.testdir(), storeSettings, failed, silentLog, openLog)
  if (wal === undefined) throw new Error('the log was not opened')
  let inForce = 0
  let epoch = 0
  const replica = new MetadataReplica({
    ...{ store, wal, node: 'a', log: silentLog, failed, enforce: async () => {} },
    position: new PartitionPosition(PartitionPosition.memory()),
    inForce: (sequence) => {
      inForce = sequence
    },
    owns: (elected) => {
      epoch = elected ?? 0
    },
  })
  t.teardown(async () => {
    await replica.close()
    await store.close()
  })
  replica.own()
  await until(() => epoch > 0, 'it coordinates')
  // Partitions of other nodes have such records in force: this node may own them when it has.
  await until(() => inForce > epoch, 'the records that say it is there are in force')
  const last = Number(etcd.control(['get', '--print-value-only', `${prefix}/head/control`]))
  t.ok(inForce <= last, 'none that does not stand in the log')
})
