import { test } from 'tap'
import { shardOf } from '../src/hash.js'
import type { Tenant } from '../src/model/context/entity.js'
import { id, tenant } from './given.js'

test('ids that count up spread evenly over the partitions', async (t) => {
  for (const partitions of [2, 3, 8]) {
    const counts = new Array<number>(partitions).fill(0)
    for (let n = 0; n < 8000; n += 1) {
      const shard = shardOf(tenant, id(`Device${n}`), partitions)
      counts[shard] = (counts[shard] ?? 0) + 1
    }
    t.ok(
      counts.every((count) => Math.abs(count * partitions - 8000) < 800),
      `${counts}`,
    )
  }
})

test('where an entity lives is part of the format on disk and never changes', async (t) => {
  const shards = ['Silo1', 'Tank7', 'é', '\u{1f600}', ''].map((name) => shardOf(tenant, id(name), 256))
  t.same(shards, [137, 194, 218, 89, 27])
  t.equal(shardOf('acme' as Tenant, id('Silo1'), 256), 45)
})
