import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { command, given, id, matcher, noWords, root, storeSettings, takeTurn, tenant, versions } from '../given.js'

/** A store that was cut off behind this many turns, of which its checkpoint has none. */
async function cutOff(path: string, turns: number): Promise<string> {
  const [running, cut] = [join(path, 'running'), join(path, 'cut')]
  const store = new PartitionStore(running, storeSettings)
  for (let turn = 1; turn <= turns; turn += 1) {
    const parts = { store, interpret: noWords, matcher: matcher(), versions: versions() }
    takeTurn(parts, [command('APPEND', 'Silo1', [given('level', `${turn}`)])])
  }
  cpSync(running, cut, { recursive: true })
  await store.close()
  const restored = restoreCheckpoint(cut)
  if (!restored.ok) throw new Error(restored.error.reason)
  return cut
}

test('a store that recovers its log shows with each record that it goes on', async (t) => {
  const turns = 50
  const cut = await cutOff(t.testdir(), turns)
  let steps = 0
  const writing = { begun: () => {}, ended: () => {}, goesOn: () => (steps += 1) }
  const store = new PartitionStore(cut, storeSettings, { writing })
  t.equal(store.entities(tenant, root, id('Silo1'))[0]?.attributes[0]?.value, `${turns}`)
  t.ok(steps >= 2 * turns, `${steps} steps: each record is read, then applied`)
  await store.close()
})
