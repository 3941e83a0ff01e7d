import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Entity, Value } from '../../src/model/context/entity.js'
import { compileQuery } from '../../src/model/context/match.js'
import type { Query, Scope } from '../../src/model/context/query.js'
import type { UpdateCommand } from '../../src/model/context/update.js'
import { openEnvironment } from '../../src/storage/environment/environment.js'
import { decodeEntity } from '../../src/storage/records/record.js'
import { entriesOf } from '../../src/storage/store/index-entries.js'
import { PartitionReader, type Snapshot } from '../../src/storage/store/partition-reader.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { scan } from '../../src/storage/store/scan.js'
import { command, given, matcher, noWords, query, storeSettings, takeTurn, tenant, type, versions } from '../given.js'
import { meetings, runs } from '../runs.js'

const terms = { entity: 'either', typeOfNew: type('Thing'), overridesMetadata: false, forced: false } as const

const latitude = fc.integer({ min: -3, max: 3 })
const longitude = fc.integer({ min: 177, max: 183 }).map((degrees) => (degrees > 180 ? degrees - 360 : degrees))
const position = fc.tuple(longitude, latitude)

/** Locations around the 180th meridian, where boxes are in two parts. */
const location: fc.Arbitrary<readonly [type: string, value: Value]> = fc.oneof(
  position.map(([east, north]) => ['geo:point', `${north},${east}`] as const),
  position.map((coordinates) => ['geo:json', { type: 'Point', coordinates }] as const),
  fc
    .array(position, { minLength: 2, maxLength: 4 })
    .map((coordinates) => ['geo:json', { type: 'LineString', coordinates }] as const),
  fc
    .array(position, { minLength: 1, maxLength: 40 })
    .map((coordinates) => ['geo:json', { type: 'MultiPoint', coordinates }] as const),
  fc
    .array(position, { minLength: 3, maxLength: 5 })
    .map((ring) => ['geo:json', { type: 'Polygon', coordinates: [[...ring, ...ring.slice(0, 1)]] }] as const),
  fc.constant(['Text', 'nowhere'] as const),
)

const names = ['Tank1', 'Tank12', 'Tank2', 'Silo1', 'Silo12']

const update: fc.Arbitrary<UpdateCommand> = fc
  .record({
    name: fc.constantFrom(...names),
    kind: fc.constantFrom(undefined, type('Tank')),
    what: location,
    action: fc.constantFrom('APPEND' as const, 'UPDATE' as const, 'REPLACE' as const, 'DELETE' as const),
    isWhole: fc.boolean(),
  })
  .map(({ name, kind, what: [of, value], action, isWhole }) => {
    const attributes = action === 'DELETE' && isWhole ? [] : [given('at', value, { type: of }), given('n', 1)]
    return command(action, name, attributes, { terms, type: kind })
  })

const point = fc.tuple(latitude, longitude).map(([north, east]) => ({ latitude: north, longitude: east }))
const scope: fc.Arbitrary<Scope> = fc.oneof(
  fc.tuple(point, fc.integer({ min: 0, max: 400_000 })).map(
    ([centre, maxDistance_m]): Scope => ({
      kind: 'place',
      place: { relation: 'near', centre, minDistance_m: undefined, maxDistance_m },
    }),
  ),
  fc
    .tuple(
      fc.constantFrom('intersects' as const, 'disjoint' as const, 'equals' as const),
      fc.array(point, { minLength: 1, maxLength: 3 }),
    )
    .map(([relation, points]): Scope => ({ kind: 'place', place: { relation, shape: { kind: 'points', points } } })),
  fc
    .tuple(
      fc.constantFrom('intersects' as const, 'coveredBy' as const),
      fc.array(point, { minLength: 3, maxLength: 5 }),
    )
    .map(
      ([relation, ring]): Scope => ({
        kind: 'place',
        place: { relation, shape: { kind: 'polygons', polygons: [[[...ring, ...ring.slice(0, 1)]]] } },
      }),
    ),
  fc
    .tuple(point, fc.boolean())
    .map(
      ([centre, inverted]): Scope => ({ kind: 'area', area: { kind: 'circle', centre, radius_m: 200_000, inverted } }),
    ),
)

const request: fc.Arbitrary<Query> = fc
  .record({
    selectors: fc.array(
      fc.record({
        id: fc.oneof(
          fc.constant({ kind: 'any' } as const),
          fc
            .constantFrom('^Tank', '^Tank1', '^Tank12', '^Silo1$', '1')
            .map((pattern) => ({ kind: 'pattern' as const, pattern })),
        ),
        type: fc.constantFrom(undefined, type('Tank')),
      }),
      { minLength: 1, maxLength: 2 },
    ),
    scopes: fc.array(scope, { maxLength: 2 }),
    order: fc.constantFrom<Query['order']>([], [{ by: 'id', reversed: true }]),
    offset: fc.nat(2),
    limit: fc.integer({ min: 1, max: 10 }),
    counted: fc.boolean(),
  })
  .map(query)

async function idsOf(snapshot: Snapshot, wanted: Query): Promise<unknown> {
  const page = await scan([snapshot], wanted, { page_bytes: 2 ** 20 })
  if (!page.ok) return assert.fail(page.error.kind)
  return { sequences: page.value.records.map((text) => decodeEntity(text).sequence), count: page.value.count }
}

/** What looking at every entity would give. */
function plainly(all: readonly Entity[], wanted: Query): unknown {
  const results = all.filter(compileQuery(wanted))
  if (wanted.order.length > 0) results.sort((a, b) => (a.id === b.id ? a.sequence - b.sequence : a.id < b.id ? 1 : -1))
  const page = results.slice(wanted.offset, wanted.offset + wanted.limit)
  return { sequences: page.map(({ sequence }) => sequence), count: wanted.counted ? results.length : undefined }
}

/** What is in the index of cells of a partition. */
function cellsIn(folder: string): readonly unknown[] {
  const environment = openEnvironment(folder, { ...storeSettings, readOnly: true })
  return [...environment.cells.getRange()]
}

test('a page of places and prefixes is the one that looking at every entity would give, and no cell is left behind', async (t) => {
  let found = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(update, { maxLength: 40 }),
      fc.array(request, { minLength: 1, maxLength: 10 }),
      async (updates, queries) => {
        const folder = t.testdir({})
        const store = new PartitionStore(folder, storeSettings)
        for (const next of updates) {
          takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, [next])
        }
        const reader = new PartitionReader(folder, storeSettings, versions())
        const snapshot = reader.snapshot()
        const all = [...snapshot.all(tenant)].map((candidate) => decodeEntity(candidate.read()))
        for (const wanted of queries) {
          const page = await idsOf(snapshot, wanted)
          assert.deepEqual(page, plainly(all, wanted))
          if (all.length > 0 && wanted.scopes.length > 0) found += 1
        }
        const cells = all.flatMap((entity) => entriesOf(tenant, entity)).filter(({ index }) => index === 'cells')
        assert.deepEqual(new Set(cellsIn(folder)), new Set(cells.map(({ key, value }) => ({ key, value }))))
        snapshot.close()
        await reader.close()
        await store.close()
      },
    ),
    { numRuns: runs(60) },
  )
  t.ok(found > meetings(50))
})

test('an update that leaves the location alone, and one that moves it, leave the index as it should be', async (t) => {
  const folder = t.testdir({})
  const store = new PartitionStore(folder, storeSettings)
  const turn = (...attributes: Parameters<typeof given>[]): void => {
    const next = command(
      'APPEND',
      'Tank1',
      attributes.map((one) => given(...one)),
      { terms },
    )
    takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, [next])
  }
  turn(['at', '1,2', { type: 'geo:point' }])
  const first = cellsIn(folder)
  t.equal(first.length, 1)
  turn(['level', 5])
  t.same(cellsIn(folder), first)
  turn(['at', '1.5,2', { type: 'geo:point' }])
  t.equal(cellsIn(folder).length, 1)
  t.not(JSON.stringify(cellsIn(folder)), JSON.stringify(first))
  turn(['at', null, { type: 'geo:point' }])
  t.same(cellsIn(folder), [])
  await store.close()
})
