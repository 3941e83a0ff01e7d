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
