import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { isStartGivenUp } from '../../src/faults.js'
import { restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { ThreadBeats } from '../../src/threads/shared-memory/thread-beats.js'
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
  const goesOn = (): void => {
    steps += 1
  }
  const writing = { begun: () => {}, ended: () => {}, goesOn, recovers: goesOn }
  const store = new PartitionStore(cut, storeSettings, { writing })
  t.equal(store.entities(tenant, root, id('Silo1'))[0]?.attributes[0]?.value, `${turns}`)
  t.ok(steps >= 2 * turns, `${steps} steps: each record is read, then applied`)
  await store.close()
})

test('a store stops to recover its log when the start is given up, and the next one recovers it', async (t) => {
  const turns = 50
  const cut = await cutOff(t.testdir(), turns)
  const beats = new ThreadBeats(ThreadBeats.memory(1))
  const writing = beats.writing(0)
  let left = turns
  const recovers = (): void => {
    left -= 1
    if (left === 0) beats.giveUpStart()
    writing.recovers()
  }
  let thrown: unknown
  try {
    new PartitionStore(cut, storeSettings, { writing: { ...writing, recovers } })
  } catch (fault) {
    thrown = fault
  }
  t.ok(isStartGivenUp(thrown))
  t.equal(left, 0, 'nothing more is recovered')
  const store = new PartitionStore(cut, storeSettings)
  t.equal(store.entities(tenant, root, id('Silo1'))[0]?.attributes[0]?.value, `${turns}`)
  await store.close()
})
