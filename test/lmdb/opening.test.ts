import { cpSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { command, given, matcher, noWords, storeSettings, takeTurn, versions } from '../given.js'

test('a log that was cut before its first checkpoint is refused as damage, with the way out', async (t) => {
  const [path, copied] = [join(t.testdir(), 'running'), join(t.testdir(), 'copied')]
  const store = new PartitionStore(path, storeSettings)
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
    t.throws(() => new PartitionStore(copied, storeSettings), { name: 'DamagedRecord', message: refusal })
    rmSync(copied, { recursive: true })
  }
})
