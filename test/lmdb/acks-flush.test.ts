import { join } from 'node:path'
import { test } from 'tap'
import { readCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { DiskLogFolder } from '../../src/storage/wal/log-folder.js'
import { LogScan } from '../../src/storage/wal/log-scan.js'
import type { FlushTime } from '../../src/storage/wal/record-log.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { storeSettings } from '../given.js'
import { notice, subscriptionId } from '../given-subscription.js'
import { until } from '../until.js'
import { nth } from '../wal/given.js'

test('what became of notices is flushed with what comes behind it, or soon, and before a checkpoint', async (t) => {
  const path = t.testdir()
  const checkpoints: (() => void)[] = []
  // Time stands still.
  const timeouts = t.intercept(globalThis, 'setTimeout', { value: () => {} })
  const intervals = t.intercept(globalThis, 'setInterval', {
    value: (fire: () => void) => {
      checkpoints.push(fire)
      return { unref: () => {} }
    },
  })
  const deferral = { memtable: new Memtable(Memtable.memory()), versions: new Versions(Versions.memory()) }
  const store = new PartitionStore(path, storeSettings, { deferral })
  const flushes: FlushTime[] = []
  const logged = (_: number, flush: FlushTime): void => void flushes.push(flush)
  const ack = (): void => {
    const acks = [{ subscription: subscriptionId(), gone: [], stats: undefined }]
    store.commit({ entities: [], notices: [], acks }, { logged })
  }
  const notify = (): void => {
    store.commit({ entities: [], notices: [notice()], acks: [] }, { logged })
  }
  ack()
  notify()
  ack()
  for (const fire of checkpoints) fire()
  timeouts.restore()
  intervals.restore()
  const number = (): number | undefined => {
    const checkpoint = readCheckpoint(path)
    return checkpoint.ok ? checkpoint.value?.number : undefined
  }
  await until(() => number() === 2, 'the checkpoint is durable')
  notify()
  const start = { sequence: nth(0), segment: nth(1), offset: 0, crc: 0 }
  const scan = new LogScan(new DiskLogFolder(join(path, 'log')))
  const records = [...scan.records(scan.opened(start))].map(({ frame }) => [frame.sequence, frame.flushed])
  t.same(records, [
    [1, 0],
    [2, 0],
    [3, 2],
    [4, 3],
  ])
  t.same(flushes, ['soon', 'now', 'soon', 'now'], 'what has not waited for the disk is not measured as if it had')
  await store.close()
})
