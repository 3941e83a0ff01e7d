import { cpSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { Checkpoints, restoreCheckpoint } from '../../src/lmdb/checkpoint.js'
import { openDatabase } from '../../src/lmdb/environment.js'
import { damageOf } from '../../src/lmdb/file-check.js'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import { at, command, given, id, matcher, noWords, root, storeSettings, takeTurn, tenant, versions } from '../given.js'
import { checkpointIn } from './given-checkpoints.js'

const everyPage = 2 ** 40
const indexes = ['attributeTypes', 'expirations', 'cells'] as const

/** A partition's environment that was written before there were indexes, with a checkpoint. */
async function withoutIndexes(path: string): Promise<void> {
  const store = new LmdbPartitionStore(path, storeSettings)
  for (let n = 0; n < 400; n += 1) {
    const attributes = [given('dateExpires', 10 + n, { type: 'DateTime' }), given('page', 'x'.repeat(n))]
    takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, [
      command('APPEND', `Silo${n}`, attributes),
    ])
  }
  await store.close()
  const checkpoints = Checkpoints.open(path, storeSettings)
  for (const name of indexes) {
    openDatabase(checkpoints.root, name).dropSync()
    openDatabase(checkpoints.root, 'facts').removeSync([name])
  }
  checkpoints.takeSync(checkpointIn(path).note)
  checkpoints.close()
  await checkpoints.root.close()
}

test('a log that was cut before its first checkpoint is refused as damage, with the way out', async (t) => {
  const [path, copied] = [join(t.testdir(), 'running'), join(t.testdir(), 'copied')]
  const store = new LmdbPartitionStore(path, storeSettings)
  t.teardown(() => store.close())
  for (let n = 0; n < 200; n += 1) {
    takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, [
      command('APPEND', `Silo${n}`, [given('level', n)]),
    ])
  }
  for (const size of [0, 2 ** 17]) {
    cpSync(path, copied, { recursive: true })
    truncateSync(join(copied, 'log', '0000000000000001.log'), size)
    t.match(restoreCheckpoint(copied), { ok: true })
    const refusal = /0000000000000001\.log is damaged .*shorter than it was.*: restore the data folder from a backup/
    t.throws(() => new LmdbPartitionStore(copied, storeSettings), { name: 'DamagedRecord', message: refusal })
    rmSync(copied, { recursive: true })
  }
})

test('power that is lost while indexes are made at the opening leaves the checkpoint, and they are made again', async (t) => {
  const [path, cut] = [join(t.testdir(), 'running'), join(t.testdir(), 'cut')]
  await withoutIndexes(path)
  const openLog = (): never => {
    // All that was written so far has reached the disk; no checkpoint was taken.
    cpSync(path, cut, { recursive: true })
    throw new Error('the power is gone')
  }
  t.throws(() => new LmdbPartitionStore(path, storeSettings, { openLog }), { message: 'the power is gone' })
  t.match(restoreCheckpoint(cut), { ok: true })
  t.equal(damageOf(join(cut, 'data.mdb'), everyPage), undefined)
  const store = new LmdbPartitionStore(cut, storeSettings)
  t.teardown(() => store.close())
  t.equal(store.entities(tenant, root, id('Silo399')).length, 1)
  t.equal(store.expired(at(1_000_000), 1000).length, 400)
})
