import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { damageOf } from '../../src/storage/environment/file-check.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { command, given, id, matcher, noWords, root, storeSettings, takeTurn, tenant, versions } from '../given.js'
import { made, tried } from './given-folder.js'

const everyPage = 2 ** 40
const names = Array.from({ length: 200 }, (_, number) => `Silo${number}`)

function turn(store: PartitionStore, value: string): void {
  const commands = names.map((name) => command('APPEND', name, [given('level', value)]))
  takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, commands)
}

function levelsIn(store: PartitionStore): readonly unknown[] {
  const levels = names.flatMap((name) =>
    store.entities(tenant, root, id(name)).map((held) => held.attributes[0]?.value),
  )
  return [...new Set(levels)]
}

/** A folder of one partition whose machine has lost its power after a checkpoint and 20 turns. */
async function cutFolder(t: Test): Promise<string> {
  const [running, cut] = [join(t.testdir(), 'running'), join(t.testdir(), 'cut')]
  await made(running, 1)
  const [partition, metadata] = [join(running, 'partition-0'), join(running, 'control')]
  await new MetadataStore(metadata, storeSettings, t.fail).close()
  const first = new PartitionStore(partition, storeSettings)
  turn(first, '0')
  await first.close()
  const store = new PartitionStore(partition, storeSettings)
  const flushed = readFileSync(join(partition, 'data.mdb'))
  for (let n = 1; n <= 20; n += 1) turn(store, `${n}`)
  cpSync(running, cut, { recursive: true })
  await store.close()
  // Of what was written since the checkpoint, the two meta pages have reached the disk, and not what they refer to.
  const data = join(cut, 'partition-0', 'data.mdb')
  const bytes = readFileSync(data)
  const metas = bytes.subarray(0, 8192)
  writeFileSync(
    data,
    Buffer.concat([metas, flushed.subarray(8192), Buffer.alloc(Math.max(0, bytes.length - flushed.length))]),
  )
  return cut
}

test('a folder opens after a loss of power with all that was acknowledged', async (t) => {
  const cut = await cutFolder(t)
  t.ok(damageOf(join(cut, 'partition-0', 'data.mdb'), everyPage), 'the loss of power has damaged it')
  t.equal(await tried(cut), 'opened')
  const store = new PartitionStore(join(cut, 'partition-0'), storeSettings)
  t.same(levelsIn(store), ['20'])
  await store.close()
})
