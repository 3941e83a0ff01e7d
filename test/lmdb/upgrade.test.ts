import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { ControlStore } from '../../src/lmdb/control-store.js'
import { damageOf } from '../../src/lmdb/file-check.js'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import { command, given, id, matcher, noWords, root, storeSettings, takeTurn, tenant, versions } from '../given.js'
import { rigel } from '../offline/given-command.js'
import { made, opened, tried } from './given-folder.js'

const everyPage = 2 ** 40
const names = Array.from({ length: 200 }, (_, number) => `Silo${number}`)

function turn(store: LmdbPartitionStore, value: string): void {
  const commands = names.map((name) => command('APPEND', name, [given('level', value)]))
  takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, commands)
}

function levelsIn(store: LmdbPartitionStore): readonly unknown[] {
  const levels = names.flatMap((name) =>
    store.entities(tenant, root, id(name)).map((held) => held.attributes[0]?.value),
  )
  return [...new Set(levels)]
}

/** A folder of one partition whose machine has lost its power after a checkpoint and 20 turns, as one of an earlier format. */
async function cutFolder(t: Test, format: 3 | 4): Promise<string> {
  const [running, cut] = [join(t.testdir(), 'running'), join(t.testdir(), 'cut')]
  await made(running, 1)
  const [partition, control] = [join(running, 'partition-0'), join(running, 'control')]
  await new ControlStore(control, storeSettings, t.fail).close()
  const first = new LmdbPartitionStore(partition, storeSettings)
  turn(first, '0')
  await first.close()
  const store = new LmdbPartitionStore(partition, storeSettings)
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
  const { folder } = JSON.parse(readFileSync(join(cut, 'format.json'), 'utf8'))
  writeFileSync(join(cut, 'format.json'), JSON.stringify({ format, partitions: 1, folder }))
  return cut
}

for (const format of [3, 4] as const) {
  test(`a folder of format ${format} opens after a loss of power with all that was acknowledged`, async (t) => {
    const cut = await cutFolder(t, format)
    t.ok(damageOf(join(cut, 'partition-0', 'data.mdb'), everyPage), 'the loss of power has damaged it')
    t.equal(await tried(cut), 'opened')
    const store = new LmdbPartitionStore(join(cut, 'partition-0'), storeSettings)
    t.same(levelsIn(store), ['20'])
    await store.close()
  })
}

test('what an upgrade after a loss of power keeps as the way back is whole', async (t) => {
  const cut = await cutFolder(t, 3)
  t.equal(await tried(cut), 'opened')
  t.equal(damageOf(join(cut, 'previous', 'partition-0', 'data.mdb'), everyPage), undefined)
  const upgraded = new LmdbPartitionStore(join(cut, 'partition-0'), storeSettings)
  turn(upgraded, 'after the upgrade')
  await upgraded.close()
  t.match(await rigel('restore', '--previous', '-dbPath', cut), { code: 0 })
  t.match(await rigel('restore', '--forget-previous', '-dbPath', cut), { code: 0 })
  const held = await opened(cut)
  if (typeof held === 'string') throw new Error(held)
  held.release()
  const store = new LmdbPartitionStore(join(cut, 'partition-0'), storeSettings)
  t.same(levelsIn(store), ['20'])
  await store.close()
})
