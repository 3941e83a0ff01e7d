import { type Test, test } from 'tap'
import { decodeClusterRecord } from '../../src/storage/etcd/cluster-record.js'
import { command, given, id, root, tenant } from '../given.js'
import { until } from '../until.js'
import { ImmediateLog } from './immediate-log.js'
import { OwnedPartition, type PartitionMemory, partitionMemory } from './owned-partition.js'
import { keepFree_bytes, PlayedDisks } from './played-disk.js'

/** Threads of a partition on a node, one after the other, and a thread of it on another node. */
function around(t: Test, keepFree_bytes?: number) {
  const log = new ImmediateLog()
  const folder = t.testdir({ a: {}, b: {} })
  const opened = (node: 'a' | 'b', memory: PartitionMemory = partitionMemory()): OwnedPartition =>
    new OwnedPartition(`${folder}/${node}`, log.linkOf(node), memory, (fault) => t.fail(String(fault)), keepFree_bytes)
  return { folder, log, opened }
}

function level(value: string) {
  return command('APPEND', 'Tank1', [given('level', value)])
}

function levelOf({ store }: OwnedPartition): unknown {
  return store.entities(tenant, root, id('Tank1'))[0]?.attributes[0]?.value
}

/** The last record that the files of a partition name as applied. */
function notedBy({ store }: OwnedPartition): number {
  const { applied } = store.pin('transfer')
  store.unpin('transfer')
  return applied
}

test('an owner publishes its turns, and every record waits for etcd', async (t) => {
  const { log, opened } = around(t)
  const owner = opened('a')
  await owner.own()
  const epoch = log.last
  t.match(owner.run(level('1')), [{ kind: 'updated' }])
  t.equal(log.last, epoch + 1)
  t.equal(owner.memtable.isApplied, false)
  t.equal(owner.position.appliedIndex, log.last)
  const flushed: unknown[] = []
  const changes = { entities: [], notices: [], acks: [{ subscription: 'x' as never, gone: [], stats: undefined }] }
  owner.store.commit(changes, { logged: (_, flush) => flushed.push(flush) })
  t.same(flushed, ['now'], 'acks as well')
  await owner.close()
  t.same(owner.warnings, [])
})

test('a heartbeat has LMDB follow, and while the disk is full it notes nothing behind what LMDB lacks', async (t) => {
  const disks = new PlayedDisks()
  t.teardown(disks.install())
  const { folder, log, opened } = around(t, keepFree_bytes)
  const owner = opened('a')
  await owner.own()
  owner.run(level('1'))
  t.ok(owner.replica.beat())
  t.equal(owner.memtable.isApplied, true)
  const noted = notedBy(owner)
  owner.run(level('2'))
  disks.leave(folder, 'none')
  owner.store.lookForRoom()
  for (let beats = 0; beats < 300; beats += 1) owner.replica.beat()
  t.equal(owner.memtable.isApplied, false)
  t.equal(owner.position.appliedIndex, log.last, 'who reads it finds it in the memtable')
  t.equal(notedBy(owner), noted)
  await owner.close()
  t.match(owner.warnings, [/lacks records 4 to 4 of its log, which etcd has/], 'the folder is not complete')

  disks.leave(folder, 'plenty')
  const next = opened('a')
  await until(() => levelOf(next) === '2', 'a new process reads it from the log')
  await next.close()
})

test('a turn that is fenced is not published, and what was published before stays', async (t) => {
  const { log, opened } = around(t)
  const owner = opened('a')
  await owner.own()
  owner.run(level('1'))
  owner.isFull = true
  log.put('b', 'election')
  t.match(owner.run(level('2')), [{ kind: 'failed', why: 'notOwner' }])
  t.equal(levelOf(owner), '1')
  t.equal(owner.memtable.isApplied, false)
  owner.isFull = false
  await owner.close()
  t.same(owner.warnings, ['another node owns the partition now'])
})

test('who was the owner applies what it has published before it follows the next one', async (t) => {
  const { log, opened } = around(t)
  const [one, other] = [opened('a'), opened('b')]
  await one.own()
  one.run(level('1'))
  one.isFull = true
  await one.replica.close()
  t.equal(one.memtable.isApplied, false)
  await other.own()
  other.run(level('2'))
  const { last: sequence } = log
  const turns = [{ sequence, bytes: decodeClusterRecord(log.records.at(-1)?.bytes ?? new Uint8Array()).payload }]
  t.throws(() => one.store.follow(turns, sequence), { name: 'StorageFull' })
  t.equal(levelOf(one), '1')
  one.isFull = false
  one.store.follow(turns, sequence)
  t.equal(one.memtable.isApplied, true)
  one.store.applyPublished()
  t.equal(levelOf(one), '2')
  t.equal(notedBy(one), sequence)
  await one.store.close()
  await other.close()
})

test('a thread that takes the place of a dead one has what that one has published, and a new process reads it later', async (t) => {
  const { log, opened } = around(t)
  const memory = partitionMemory()
  const dead = opened('a', memory)
  await dead.own()
  dead.run(level('1'))
  dead.run(level('2'))
  const shown = log.last
  dead.isFull = true
  dead.replica.beat()
  await dead.die()
  const next = opened('a', memory)
  t.equal(levelOf(next), '2', 'at once')
  t.ok(next.store.applied >= shown)
  t.ok(next.position.appliedIndex >= shown)
  t.equal(next.memtable.isApplied, true)
  await next.own()
  t.match(next.run(level('3')), [{ kind: 'updated' }])
  await next.die()

  const fresh = opened('a')
  t.equal(levelOf(fresh), '2', 'nothing is shown here yet, so nobody waits for the log')
  await until(() => levelOf(fresh) === '3')
  await fresh.close()
})
