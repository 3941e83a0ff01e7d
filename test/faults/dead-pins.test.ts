import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { openRoot } from '../../src/lmdb/environment.js'
import { RunningBroker } from '../running.js'
import { type Death, ThreadKiller, withDebugger } from './thread-killer.js'

/** One more within a minute ends the broker. */
const kills: readonly Death[] = ['throws', 'exits', 'throws', 'exits']

/** The transactions that readers of an environment hold, by what LMDB says of its table; other readers have a dash. */
function heldTransactions(list: string): readonly number[] {
  return Array.from(list.matchAll(/^\s*\d+ [0-9a-f]+ (\d+)$/gm), ([, transaction]) => Number(transaction))
}

test('what the thread of a partition had pinned when it died is let go of', async (t) => {
  t.setTimeout(300_000)
  const folder = join(t.testdir(), 'data')
  const broker = await RunningBroker.startOn(t, folder, ['-partitions', '1', '-httpThreads', '1'], {
    nodeOptions: withDebugger,
  })
  const root = openRoot(join(folder, 'partition-0'), { readOnly: true, sizeMax_bytes: 2 ** 30, maxReaders: 512 })
  t.teardown(() => root.close())
  let [goesOn, updates] = [true, 0]
  const updating = (async (): Promise<void> => {
    while (goesOn) {
      const attributes = [{ name: 'level', type: 'Number', value: `${updates}` }]
      const { status } = await broker.update('APPEND', { id: `Tank${updates % 50}`, type: 'Tank', attributes })
      if (status === 200) updates += 1
      await delay(2)
    }
  })()
  const killer = await ThreadKiller.connect(broker.output)
  const held: number[] = []
  for (const [at, death] of kills.entries()) {
    const before = updates
    while (updates < before + 100) await delay(10)
    await killer.kill('partition', death)
    while (broker.output.split('runs again in a new thread').length - 1 <= at) await delay(10)
    held.push(Math.max(...heldTransactions(root.readerList())))
  }
  killer.close()
  const lastDeath = held.at(-1) ?? 0
  t.ok(lastDeath > 0, 'checkpoints are pinned')
  // The thread that runs holds the transactions of its checkpoints, each for a second or two.
  let list = root.readerList()
  for (let tries = 0; Math.min(...heldTransactions(list)) <= lastDeath && tries < 300; tries += 1) {
    await delay(100)
    list = root.readerList()
  }
  t.ok(Math.min(...heldTransactions(list)) > lastDeath, list)
  goesOn = false
  await updating
  t.equal(await broker.end('SIGTERM'), 0)
})
