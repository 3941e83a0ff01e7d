import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { compileQuery } from '../../src/context/match.js'
import { compareEntities } from '../../src/context/order.js'
import type { Page, Query, Selector } from '../../src/context/query.js'
import { PartitionReader } from '../../src/lmdb/partition-reader.js'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import { scan } from '../../src/lmdb/scan.js'
import { shardOf } from '../../src/partition/shard.js'
import { takeTurn } from '../../src/partition/turn.js'
import {
  command,
  everywhere,
  given,
  id,
  marks,
  noWords,
  path,
  query,
  storeSettings,
  tenant,
  type,
  wakes,
} from '../given.js'

const names = ['A1', 'A2', 'B1', 'B2', 'C1']
const create = fc
  .record({
    name: fc.constantFrom(...names),
    where: fc.constantFrom('/', '/a', '/a/b').map(path),
    kind: fc.constantFrom('', 'T', 'U').map(type),
    value: fc.constantFrom('1', '2', '3'),
    attribute: fc.constantFrom('v', 'w'),
  })
  .map(({ name, where, kind, value, attribute }) =>
    command('APPEND', name, [given(attribute, value)], { path: where, type: kind }),
  )

const selector: fc.Arbitrary<Selector> = fc.record(
  {
    id: fc.oneof(
      fc.constant({ kind: 'any' } as const),
      fc.constantFrom(...names).map((name) => ({ kind: 'exact' as const, id: id(name) })),
      fc.constantFrom('A', '1$', '.*', '^B').map((pattern) => ({ kind: 'pattern' as const, pattern })),
    ),
    type: fc.constantFrom(undefined, type(''), type('T')),
  },
  { noNullPrototype: true },
)
const asked: fc.Arbitrary<Query> = fc
  .record({
    selectors: fc.array(selector, { minLength: 1, maxLength: 3 }),
    paths: fc.constantFrom(everywhere, [{ path: path('/a'), below: true }], [{ path: path('/a'), below: false }]),
    attributes: fc.constantFrom<readonly string[]>([], ['v'], ['v', 'w']),
    scopes: fc.constantFrom<Query['scopes']>([], [{ kind: 'typed' }], [{ kind: 'untyped' }]),
    order: fc.constantFrom<Query['order']>(
      [],
      [
        { by: 'v', reversed: true },
        { by: 'id', reversed: false },
      ],
    ),
    offset: fc.nat(4),
    limit: fc.integer({ min: 1, max: 4 }),
    counted: fc.boolean(),
  })
  .map(query)

/** What a list in memory would give: every entity looked at, no index. */
function plainly(entities: readonly Parameters<ReturnType<typeof compileQuery>>[0][], wanted: Query): Page {
  const results = [...entities].filter(compileQuery(wanted)).sort(compareEntities(wanted.order))
  return {
    entities: results.slice(wanted.offset, wanted.offset + wanted.limit),
    count: wanted.counted ? results.length : undefined,
  }
}

test('a page is the one that looking at every entity would give, whatever index it was read from', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(create, { maxLength: 25 }),
      fc.array(asked, { minLength: 1, maxLength: 8 }),
      async (creations, queries) => {
        const folders = t.testdir({ one: {}, two: {} })
        const stores = ['one', 'two'].map((name) => new LmdbPartitionStore(`${folders}/${name}`, storeSettings))
        for (const creation of creations) {
          const store = stores[shardOf(tenant, creation.id, stores.length)]
          if (store) takeTurn({ store, interpret: noWords, wakes: wakes(), marks: marks() }, [creation])
        }
        const readers = ['one', 'two'].map((name) => new PartitionReader(`${folders}/${name}`, storeSettings, marks()))
        const snapshots = readers.map((reader) => reader.snapshot())
        const all = snapshots.flatMap((snapshot) => [...snapshot.all(tenant)].flatMap((found) => found.load() ?? []))
        for (const wanted of queries) assert.deepEqual(await scan(snapshots, wanted), plainly(all, wanted))
        for (const snapshot of snapshots) snapshot.close()
        for (const part of [...readers, ...stores]) await part.close()
      },
    ),
    { numRuns: 40 },
  )
})
