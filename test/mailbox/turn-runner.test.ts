import { test } from 'tap'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { DamageLog } from '../../src/observe/log/worker-log.js'
import type { StorageMeter } from '../../src/observe/measure/meters.js'
import { TurnRunner, TurnTimes } from '../../src/partition/mailbox/turn-runner.js'
import type { Command, Reply } from '../../src/partition/turn/commands.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { LocalLog } from '../../src/storage/wal/local-log.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { diskOf } from '../disk-left.js'
import { command, given, id, matcher, noWords, root, silentLog, storeSettings, tenant, versions } from '../given.js'
import { fullLogFolder } from '../wal/given.js'

const ack: Command = { kind: 'ack', acks: [{ subscription: 'x' as SubscriptionId, gone: [], stats: undefined }] }

/** A runner of turns on a store, whose figures go to a test. */
function runnerOf(store: PartitionStore, figures: Partial<StorageMeter>, changed = versions()): TurnRunner {
  const unheard = (): void => {}
  const storage = {
    ...{ committed: unheard, logged: unheard, secondPassed: unheard, checkpointed: unheard, size: unheard },
    ...{ writing: unheard, full: unheard },
    ...figures,
  }
  return new TurnRunner({
    ...{ store, interpret: noWords, matcher: matcher(), versions: changed, bell: new Bell(), storage },
    ...{ log: silentLog, damages: new DamageLog(silentLog, () => {}), deprecated: { note: () => {} } },
  })
}

test('when the log has no space for a turn, what removes something is carried out, and what grows is refused', async (t) => {
  const { folder, fill } = fullLogFolder()
  const openLog = (applied: LogSequence) => LocalLog.begin(folder, applied, { durable: true, failed: () => t.fail() })
  const store = new PartitionStore(t.testdir(), storeSettings, { openLog })
  t.teardown(() => store.close())
  const full: boolean[] = []
  const runner = runnerOf(store, { full: (isFull) => full.push(isFull) })
  // A turn that is long leaves what is behind it to the next one.
  const replies = (...batch: readonly Command[]): readonly Reply[] => {
    const taken = runner.run(batch, new TurnTimes())
    return taken.length < batch.length ? [...taken, ...replies(...batch.slice(taken.length))] : taken
  }
  replies(command('APPEND', 'Silo1', [given('level', '1')]))
  fill()
  const large = command('APPEND', 'Silo2', [given('page', 'x'.repeat(2 ** 19))])
  const [failed, removed, acked] = replies(large, command('DELETE', 'Silo1', []), ack)
  t.match(failed, { kind: 'failed', why: 'storageFull' })
  t.match(removed, { kind: 'updated' })
  t.match(acked, { kind: 'acked' })
  t.same(store.entities(tenant, root, id('Silo1')), [])
  t.equal(full.at(-1), true, 'operators are told')
})

for (const { what, entities, characters, left_bytes } of [
  { what: 'grow', entities: 8, characters: 160_000, left_bytes: 5 * 2 ** 20 },
  { what: 'remove', entities: 64, characters: 100, left_bytes: 2 * 2 ** 20 },
]) {
  test(`turns that ${what} and do not fit on the disk as a whole are taken in parts`, async (t) => {
    const disk = diskOf(t)
    const store = new PartitionStore(t.testdir(), { ...storeSettings, keepFree_bytes: 2 ** 22, writers: 2 })
    t.teardown(() => store.close())
    const full: boolean[] = []
    const runner = runnerOf(store, { full: (isFull) => full.push(isFull) })
    const all = (commandOf: (name: string) => Command): readonly Reply[] => {
      const batch = Array.from({ length: entities }, (_, number) => commandOf(`Silo${number}`))
      const replies: Reply[] = []
      while (replies.length < entities) replies.push(...runner.run(batch.slice(replies.length), new TurnTimes()))
      return replies
    }
    const append = (name: string): Command => command('APPEND', name, [given('page', 'x'.repeat(characters))])
    const isGrowth = what === 'grow'
    if (!isGrowth) all(append)
    disk.left_bytes = left_bytes
    const replies = all(isGrowth ? append : (name) => command('DELETE', name, []))
    t.ok(replies.every(({ kind }) => kind === 'updated'))
    t.equal(store.entityCount, isGrowth ? entities : 0)
    t.equal(full.includes(true), !isGrowth, 'it is full below what is kept free')
  })
}

test('the time of a turn of acks alone, which has not waited for the disk, is none of an append; its bytes are', async (t) => {
  const changed = versions()
  const deferral = { memtable: new Memtable(Memtable.memory()), versions: changed }
  const store = new PartitionStore(t.testdir(), storeSettings, { deferral })
  t.teardown(() => store.close())
  const logged: { readonly bytes: number; readonly isTimed: boolean }[] = []
  const figures = {
    logged: (bytes: number, duration: bigint | undefined) =>
      void logged.push({ bytes, isTimed: duration !== undefined && duration > 0n }),
  }
  const runner = runnerOf(store, figures, changed)
  const update = (level: string): Command => command('APPEND', 'Silo1', [given('level', level)])
  for (const batch of [[update('1')], [ack], [ack, update('2')]]) runner.run(batch, new TurnTimes())
  t.same(
    logged.map(({ isTimed }) => isTimed),
    [true, false, true],
  )
  t.ok(logged.every(({ bytes }) => bytes > 0))
})
