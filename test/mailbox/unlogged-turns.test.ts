import { type Test, test } from 'tap'
import type { Command } from '../../src/partition/turn/commands.js'
import { command, given } from '../given.js'
import { ImmediateLog } from '../replica/immediate-log.js'
import { OwnedPartition, partitionMemory } from '../replica/owned-partition.js'
import { stillClock } from './given.js'

/** A partition that this node owns, and the log that it shares with other nodes. */
async function ownedPartition(t: Test) {
  const log = new ImmediateLog()
  const owned = new OwnedPartition(t.testdir(), log.linkOf('a'), partitionMemory(), (fault) => t.fail(String(fault)))
  t.teardown(() => owned.close())
  await owned.own()
  stillClock(t)
  const { position, replica, store, measures } = owned
  return { log, position, replica, run: owned.run.bind(owned), store, measures }
}

const appended = command('APPEND', 'Tank1', [given('level', '1')])
/** Both are answered without a change: of the first the entity is there, of the second it is not. */
const unchanging = [command('APPEND_STRICT', 'Tank1', [given('level', '2')]), command('DELETE', 'Tank2', [])] as const
const ping: Command = { kind: 'ping' }
const notOwner = { kind: 'failed', why: 'notOwner' } as const

test('an owner whose read lease is over does not answer what changes nothing once another node has taken the log', async (t) => {
  const { log, position, replica, run } = await ownedPartition(t)
  t.match(run(appended), [{ kind: 'updated' }])
  position.revoke()
  log.put('b', 'election')
  t.match(run(...unchanging, ping), [notOwner, notOwner, { kind: 'pong' }])
  t.notOk(replica.isOwner, 'it has heard of the other owner')
})

test('it answers behind a heartbeat where the log is still its own, and without one while the lease is in force', async (t) => {
  const { log, position, run } = await ownedPartition(t)
  run(appended)
  const { last } = log
  t.match(run(...unchanging), [{ kind: 'updated' }, { kind: 'updated' }])
  t.equal(log.last, last, 'the lease is in force')
  position.revoke()
  t.match(run(ping), [{ kind: 'pong' }])
  t.equal(log.last, last, 'a ping says nothing of what is held')
  t.match(run(...unchanging), [{ kind: 'updated' }, { kind: 'updated' }])
  t.equal(log.last, last + 1)
  t.ok(position.isConfirmed(), 'the heartbeat has renewed the lease')
})

test('it answers nothing that it cannot confirm: the engine has no room for a heartbeat, or the process ends', async (t) => {
  const { log, position, replica, run } = await ownedPartition(t)
  run(appended)
  position.revoke()
  log.isFull = true
  t.match(run(...unchanging), [
    { kind: 'failed', why: 'storageFull' },
    { kind: 'failed', why: 'storageFull' },
  ])
  log.isFull = false
  log.isGivenUp = true
  t.match(run(...unchanging), [notOwner, notOwner])
  t.notOk(replica.isOwner)
})

test('a full etcd refuses turns, and is not taken for a full disk, of which other nodes would take over what this one owns', async (t) => {
  const { log, replica, run, store, measures } = await ownedPartition(t)
  t.match(run(appended), [{ kind: 'updated' }])
  const full = { kind: 'failed', why: 'storageFull' } as const
  log.isFull = true
  t.match(run(command('APPEND', 'Tank2', [given('level', '1')])), [full])
  t.match(run(command('DELETE', 'Tank1', [])), [full])
  t.equal(measures.partitions.value('isFull', 0), 0)
  t.equal(store.isFull, false)
  t.ok(replica.isOwner)
  log.isFull = false
  t.match(run(command('DELETE', 'Tank1', [])), [{ kind: 'updated' }])
})
