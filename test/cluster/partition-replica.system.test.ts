import { join } from 'node:path'
import { before, t as file, type Test, test } from 'tap'
import { lastNotified } from '../../src/model/subscription/clocks.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { partitionReplica } from '../../src/partition/replica/partition-replica.js'
import { readLease_ms } from '../../src/partition/replica/read-lease.js'
import { ClusterLog } from '../../src/storage/etcd/cluster-log.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import {
  command,
  given,
  id,
  matcher,
  noWords,
  root,
  silentLog,
  storeSettings,
  takeTurn,
  tenant,
  versions,
} from '../given.js'
import { inForce } from '../given-subscription.js'
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

/** Partition 0 of a cluster on one of its nodes, with a store and a connection of its own. */
async function startedReplica(t: Test, prefix: string, node: string) {
  const thread = await startedLogThread(t, etcd, prefix, node)
  await thread.begin({ description: 'a test', after: new Map([[0, 0 as LogSequence]]), nodes: 'its nodes' })
  thread.follow({ replicas: 2, nodes: [] }, new Map())
  const writer = linkTo(thread, 0, node)
  let wal: ClusterLog | undefined
  const openLog = (applied: LogSequence): ClusterLog => {
    wal = new ClusterLog(writer, applied)
    return wal
  }
  const [memtable, common] = [new Memtable(Memtable.memory()), { versions: versions() }]
  const deferral = { memtable, ...common }
  const store = new PartitionStore(join(t.testdirName, node), storeSettings, { openLog, deferral })
  if (wal === undefined) throw new Error('the log was not opened')
  const position = new PartitionPosition(PartitionPosition.memory())
  const parts = { store, interpret: noWords, matcher: matcher(), ...common }
  const subscribed = inForce({ throttling_ms: 3_600_000, attributes: [] })
  parts.matcher.put({ ...subscribed, subscription: { ...subscribed.subscription, id: throttled } })
  const replica = partitionReplica({
    ...{ store, wal, node, versions: parts.versions, position, log: silentLog },
    figures: Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 }).replicas.row(0),
    owns: () => {},
    awaitsOwner: true,
    notified: (subscription, made) => parts.matcher.notified(subscription, made),
    failed: (fault) => t.fail(String(fault)),
  })
  t.teardown(async () => {
    await replica.close()
    await store.close()
  })
  const take = (value: string): void => {
    takeTurn(parts, [command('APPEND', id('Tank1'), [given('level', value)])])
    replica.turned()
  }
  const notified = () => lastNotified(subscribed.clock)
  const notices = () => store.lastNotice
  const level = () => store.entities(tenant, root, id('Tank1'))[0]?.attributes[0]?.value
  return { replica, position, take, level, notified, notices, memtable }
}

const throttled = '5718a2f1c0de00112233aabb' as SubscriptionId

/** Has a replica campaign for its log, as often as somebody else's record is in its way. */
async function campaigns({
  replica,
  position,
}: Pick<Awaited<ReturnType<typeof startedReplica>>, 'replica' | 'position'>): Promise<void> {
  const isOwner = (): boolean => {
    replica.own()
    return position.epoch > 0
  }
  await until(isOwner, 'it owns its log')
}

test('a replica follows its log, and owns it when it is released or taken over', { skip: noEtcd }, async (t) => {
  t.testdir({ a: {}, b: {} })
  const prefix = `/${freshName()}`
  const a = await startedReplica(t, prefix, 'a')
  const b = await startedReplica(t, prefix, 'b')
  await campaigns(a)
  await until(() => a.replica.isOwner, 'it owns a log that nobody has owned')
  const isConfirmed = (): boolean => {
    a.take('1')
    return a.position.isConfirmed()
  }
  await until(isConfirmed, 'what it shows is confirmed')
  a.take('1')
  t.notOk(a.memtable.isApplied, 'before LMDB has it')
  await until(() => b.level() === '1' && b.position.appliedIndex >= a.position.appliedIndex, 'the other one follows')
  t.notOk(b.position.isConfirmed())
  t.equal(b.notices(), 1, 'with the notice that it has caused')
  t.ok(a.notified() > 0)
  t.equal(b.notified(), a.notified(), 'which moves the clock of its subscription')

  a.replica.release()
  t.ok(a.memtable.isApplied, 'LMDB has all turns of an owner that has released its log')
  t.notOk(a.replica.isOwner)
  t.notOk(a.position.isConfirmed(), 'it shows nothing any more when it has released the log')
  a.replica.turned()
  t.notOk(a.position.isConfirmed(), 'nor when it refuses a turn')
  await campaigns(b)
  await until(() => b.replica.isOwner, 'it owns a log that was released')
  b.take('2')
  await until(() => a.level() === '2', 'who was the owner follows')
  t.equal(b.notices(), 1, 'throttling goes on where it was')

  const metadataVersion = 5 as LogSequence
  b.replica.metadataInForce(metadataVersion)
  t.ok(b.replica.beat(), 'its log says what is in force')
  t.notOk(a.replica.beat(), 'only the owner says so')
  b.replica.release()
  await campaigns(a)
  t.notOk(a.replica.isOwner, 'it takes no turns without what was in force for those before it')
  a.replica.metadataInForce(metadataVersion)
  await until(() => a.replica.isOwner, 'it has that in force')
  a.replica.release()
  const last_ms = performance.now()
  await campaigns(b)
  await until(() => b.replica.isOwner, 'it owns the log again')

  await campaigns(a)
  const isOwner = a.replica.isOwner
  // Campaigns that take longer than the read lease have nothing to wait for.
  const isOver = performance.now() - last_ms >= readLease_ms
  t.ok(!isOwner || isOver, 'it takes no turns while the one before may show what it has')
  await until(() => !b.replica.isOwner, 'that one hears of it')
  t.notOk(b.position.isConfirmed())
  t.ok(b.position.epoch === 0)
})
