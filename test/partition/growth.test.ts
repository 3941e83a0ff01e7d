import { type Test, test } from 'tap'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import type { Command } from '../../src/partition/commands.js'
import { Matcher } from '../../src/subscription/matcher.js'
import { command, given, noWords, rendering, silentLog, storeSettings, takeTurn, versions } from '../given.js'
import { shortWording } from '../subscription/given.js'

const limits = { size: 10_000_000, attributes: 50_000, values: 1_000_000, metadata: 100_000, types: 1000 }

/** How the processor time of a turn grows when its batch is four times as long: the least of several tries of both. */
function growth(
  t: Test,
  batchOf: (n: number, id: string) => readonly Command[],
  n: number,
  first?: typeof batchOf,
): number {
  const store = new LmdbPartitionStore(t.testdir(), storeSettings, { limits, cache_bytes: 2 ** 26 })
  t.teardown(() => store.close())
  const matcher = new Matcher({ word: shortWording, ...rendering, log: silentLog, memory_bytes: 10_000 })
  const parts = { store, interpret: noWords, matcher, versions: versions() }
  const least = [n, 4 * n].map((size) => {
    const tries = Array.from({ length: 4 }, (_, at) => {
      const id = `Tank${size}-${at}`
      if (first) takeTurn(parts, first(size, id))
      const batch = batchOf(size, id)
      const since = process.cpuUsage()
      takeTurn(parts, batch)
      const { user, system } = process.cpuUsage(since)
      return user + system
    })
    return Math.min(...tries)
  })
  const [short = 1, long = 1] = least
  t.comment(`${short} us, ${long} us`)
  return long / short
}

/** Less than two and a half times as much for twice as many. */
const linear = 2.5 ** 2

function each(n: number, make: (at: number) => Command): readonly Command[] {
  return Array.from({ length: n }, (_, at) => make(at))
}

test('elements of one entity, each with another attribute, cost the same however many attributes there are', async (t) => {
  const batch = (n: number, id: string) => each(n, (at) => command('APPEND', id, [given(`a${(at * 7919) % n}`, '1')]))
  t.ok(growth(t, batch, 600) < linear)
})

test('an element with many instances that are there finds each at once', async (t) => {
  const instances = (n: number) => Array.from({ length: n }, (_, at) => given('a', '1', { ID: `i${(at * 7919) % n}` }))
  const first = (n: number, id: string) => [command('APPEND', id, instances(n))]
  for (const action of ['APPEND', 'APPEND_STRICT', 'UPDATE', 'DELETE'] as const) {
    t.ok(growth(t, (n, id) => [command(action, id, instances(n))], 1000, first) < linear, action)
  }
})
