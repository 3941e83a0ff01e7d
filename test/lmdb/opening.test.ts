import assert from 'node:assert/strict'
import { cpSync, readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { openDatabase, openRoot } from '../../src/storage/environment/environment.js'
import type { Key } from '../../src/storage/records/keys.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
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

test('of a store that cannot be opened, whatever it finds, no file stays open', async (t) => {
  for (const [kind, open] of Object.entries(stores)) {
    const [path, damaged] = [join(t.testdir(), kind), join(t.testdir(), `${kind}-damaged`)]
    const refused = (what: string): void => {
      t.throws(() => open(damaged), { name: 'DamagedRecord' }, `${kind}: ${what}`)
      t.same(openFilesIn(damaged), [], `${kind}: ${what}`)
      rmSync(damaged, { recursive: true })
    }
    const store = open(path)
    store.wal.appendSync(store.wal.last, Buffer.from('no record'))
    cpSync(path, damaged, { recursive: true })
    store.wal.retract(store.wal.last)
    await store.close()
    refused('a record of the log cannot be read')
    for (const [what, damage] of Object.entries(damages)) {
      cpSync(path, damaged, { recursive: true })
      await damage(damaged)
      refused(what)
    }
  }
})

const stores = {
  partition: (path: string) => new PartitionStore(path, storeSettings),
  metadata: (path: string) => new MetadataStore(path, storeSettings, assert.fail),
}

const damages: Readonly<Record<string, (path: string) => Promise<void> | void>> = {
  'the last notice is no number': (path) => putFact(path, ['notice'], 'x'),
  'the last applied record is no number': (path) => putFact(path, ['applied'], 'x'),
  'the log does not have what was applied': (path) => putFact(path, ['applied'], '1000'),
  'the log is missing': (path) => rmSync(join(path, 'log'), { recursive: true }),
}

async function putFact(path: string, fact: Key, text: string): Promise<void> {
  const root = openRoot(path, { ...storeSettings, readOnly: false }, true)
  openDatabase(root, 'facts').putSync(fact, text)
  await root.close()
}

/** The files in a folder that this process has open. */
function openFilesIn(path: string): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${descriptor}`)
      return file.startsWith(path) ? [file] : []
    } catch {
      return [] // The descriptor with which the folder was listed.
    }
  })
}
