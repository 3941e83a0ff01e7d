import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { shardOf } from '../../src/hash.js'
import { compileQuery } from '../../src/model/context/match.js'
import { compareEntities } from '../../src/model/context/order.js'
import { type Page, type Query, type Selector, shownAttributes } from '../../src/model/context/query.js'
import { atOnce } from '../../src/slices.js'
import { decodeEntity } from '../../src/storage/records/record.js'
import { type Count, PartitionReader, type Snapshot } from '../../src/storage/store/partition-reader.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { scan } from '../../src/storage/store/scan.js'
import {
  command,
  everywhere,
  given,
  id,
  matcher,
  noWords,
  path,
  query,
  storeSettings,
  takeTurn,
  tenant,
  type,
  versions,
} from '../given.js'
import { limitNow_ms, processorTime_ms, staysWithin } from '../pace.js'
import { runs } from '../runs.js'

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
      fc
        .constantFrom('A', '1$', '.*', '^B', '^A', '^A1', '^A1.*')
        .map((pattern) => ({ kind: 'pattern' as const, pattern })),
    ),
    type: fc.constantFrom(undefined, type(''), type('T')),
  },
  { noNullPrototype: true },
)
const request: fc.Arbitrary<Query> = fc
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

/** What a scan gives, its records decoded. */
async function found(snapshots: readonly Snapshot[], wanted: Query): Promise<Page> {
  const page = await scan(snapshots, wanted, { page_bytes: 2 ** 20 })
  if (!page.ok) return assert.fail(page.error.kind)
  return { entities: page.value.records.map(decodeEntity), count: page.value.count }
}

/** What a list in memory would give: every entity looked at, no index. */
function plainly(entities: readonly Parameters<ReturnType<typeof compileQuery>>[0][], wanted: Query): Page {
  const results = [...entities].filter(compileQuery(wanted)).sort(compareEntities(wanted.order))
  return {
    entities: results.slice(wanted.offset, wanted.offset + wanted.limit).map((entity) => {
      return { ...entity, attributes: shownAttributes(entity, wanted.attributes) }
    }),
    count: wanted.counted ? results.length : undefined,
  }
}

test('a page is the one that looking at every entity would give, whatever index it was read from', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(create, { maxLength: 25 }),
      fc.array(request, { minLength: 1, maxLength: 8 }),
      async (creations, queries) => {
        const folders = t.testdir({ one: {}, two: {} })
        const stores = ['one', 'two'].map((name) => new PartitionStore(`${folders}/${name}`, storeSettings))
        for (const creation of creations) {
          const store = stores[shardOf(tenant, creation.id, stores.length)]
          if (store) takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, [creation])
        }
        const readers = ['one', 'two'].map(
          (name) => new PartitionReader(`${folders}/${name}`, storeSettings, versions()),
        )
        const snapshots = readers.map((reader) => reader.snapshot())
        const all = snapshots.flatMap((snapshot) =>
          [...snapshot.all(tenant)].flatMap((found) => decodeEntity(found.read() ?? '')),
        )
        for (const wanted of queries) assert.deepEqual(await found(snapshots, wanted), plainly(all, wanted))
        for (const snapshot of snapshots) snapshot.close()
        for (const part of [...readers, ...stores]) await part.close()
      },
    ),
    { numRuns: runs(40) },
  )
})

/** A partition with this many entities, whose attribute `v` holds what is given for each. */
async function stored(
  folder: string,
  values: readonly string[],
): Promise<{ snapshot: Snapshot; close(): Promise<void> }> {
  const store = new PartitionStore(folder, storeSettings)
  const commands = values.map((value, n) => command('APPEND', `Silo${n}`, [given('v', value)], { type: type('Silo') }))
  takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, commands)
  const reader = new PartitionReader(folder, storeSettings, versions())
  const snapshot = reader.snapshot()
  const close = async (): Promise<void> => {
    snapshot.close()
    await reader.close()
    await store.close()
  }
  return { snapshot, close }
}

const all: Selector = { id: { kind: 'any' }, type: undefined }

function queryOf(more: Partial<Query>): Query {
  return { ...query({ selectors: [all], limit: 1000 }), ...more }
}

test('a page that takes more bytes than it may is refused, a smaller one and one of fewer attributes are not', async (t) => {
  const { snapshot, close } = await stored(t.testdir(), Array(10).fill('x'.repeat(100_000)))
  const limits = { page_bytes: 550_000 }
  t.match(await scan([snapshot], queryOf({}), limits), { ok: false, error: { kind: 'pageTooLarge' } })
  t.match(await scan([snapshot], queryOf({ limit: 5, offset: 2 }), limits), {
    ok: true,
    value: { records: { length: 5 } },
  })
  t.match(await scan([snapshot], queryOf({ offset: 7 }), limits), { ok: true, value: { records: { length: 3 } } })
  const byId = [{ by: 'id', reversed: true }]
  t.match(await scan([snapshot], queryOf({ order: byId }), limits), { ok: false, error: { kind: 'pageTooLarge' } })
  t.match(await scan([snapshot], queryOf({ order: byId, limit: 5 }), limits), { ok: true })
  await close()
})

test('what is sorted is bounded by bytes, whatever the offset is', async (t) => {
  const { snapshot, close } = await stored(t.testdir(), Array(2000).fill('v'))
  const order = [{ by: 'id', reversed: false }]
  const far = { order, offset: Number.MAX_SAFE_INTEGER, counted: true }
  const refusal = { ok: false, error: { kind: 'pageTooLarge' } }
  t.match(await scan([snapshot], queryOf(far), { page_bytes: 100_000 }), refusal)
  t.match(await scan([snapshot], queryOf(far), { page_bytes: 2 ** 20 }), {
    ok: true,
    value: { records: [], count: 2000 },
  })
  // Only what is sorted counts, not what is sorted out.
  const near = { order, offset: 100, limit: 10 }
  t.match(await scan([snapshot], queryOf(near), { page_bytes: 100_000 }), {
    ok: true,
    value: { records: { length: 10 } },
  })
  await close()
})

test('a query whose patterns take too long for one entity is refused at once', async (t) => {
  const letters = Array.from({ length: 500_000 }, (_, n) => 'ab'[(n * n * 7919 + (n >> 3)) & 1]).join('')
  const { snapshot, close } = await stored(t.testdir(), ['ab', letters])
  const costly = (pattern: string): Query => {
    const condition = { kind: 'matches', pattern } as const
    return queryOf({
      scopes: [
        { kind: 'filter', filter: { on: 'attributes', dialect: 'ngsi1', statements: [{ path: ['v'], condition }] } },
      ],
    })
  }
  const limits = { page_bytes: 2 ** 22 }
  const refusal = { ok: false, error: { kind: 'queryTooCostly' } }
  const isSoon = await staysWithin(2000, async () => {
    t.match(await scan([snapshot], costly('[ab]*a[ab]{200}[cd]'), limits), refusal)
  })
  t.ok(isSoon, 'it is found out before the search')
  t.match(await scan([snapshot], costly('^[ab]*$'), limits), { ok: true, value: { records: { length: 2 } } })
  t.match(await scan([snapshot], costly('aba'), limits), { ok: true, value: { records: { length: 1 } } })
  await close()
})

test('the entries of a prefix are counted up to a limit', async (t) => {
  const { snapshot, close } = await stored(t.testdir(), Array(200).fill('v'))
  for (const limit of [1, 2, 63, 64, 65, 191, 192, 193, 199, 200, 201, 1000]) {
    t.equal(atOnce(snapshot.countWithPrefix(tenant, 'Silo', limit)), Math.min(200, limit), `${limit}`)
    t.equal(atOnce(snapshot.countWithPrefix(tenant, 'Silo19', limit)), Math.min(11, limit), `${limit} of few`)
    t.equal(atOnce(snapshot.countWithPrefix(tenant, 'Sit', limit)), 0, `${limit} of none`)
  }
  await close()
})

test('prefixes that begin with another one cost no more than that one, and each of the others no more than it has', async (t) => {
  const { snapshot, close } = await stored(t.testdir(), Array(20_000).fill('v'))
  const prefixed = (patterns: readonly string[]): Query =>
    queryOf({
      selectors: patterns.map((pattern) => ({ id: { kind: 'pattern', pattern }, type: undefined })),
      limit: 1,
      counted: true,
    })
  const numbered = (map: (at: number) => string) => Array.from({ length: 1000 }, (_, at) => map(at))
  const isCheap = (patterns: readonly string[], count: number) =>
    staysWithin(800, async () => {
      t.match(await scan([snapshot], prefixed(patterns), { page_bytes: 2 ** 25 }), { ok: true, value: { count } })
    })
  t.ok(
    await isCheap(
      numbered((at) => `^Silo${at === 0 ? '' : at % 10}`),
      20_000,
    ),
    'one has all',
  )
  t.ok(
    await isCheap(
      numbered((at) => `^Silo1${1000 + at}`),
      1000,
    ),
    'each has one',
  )
  await close()
})

/** The processor time of the longest slice of a scan, and of all of it. */
async function slicesOf(snapshot: Snapshot, wanted: Query): Promise<{ longest_ms: number; whole_ms: number }> {
  const began_ms = processorTime_ms()
  let since_ms = began_ms
  let longest_ms = 0
  const over = (): void => {
    longest_ms = Math.max(longest_ms, processorTime_ms() - since_ms)
    since_ms = processorTime_ms()
  }
  const page = await scan([snapshot], wanted, { page_bytes: 2 ** 26, giveWay: async () => over() })
  assert.equal(page.ok, true)
  over()
  return { longest_ms, whole_ms: processorTime_ms() - began_ms }
}

test('a page of large entities is read, or sorted, in slices', async (t) => {
  const large = Array.from({ length: 40 }, (_, at) => `${at}`.padEnd(500_000, 'x'))
  const { snapshot, close } = await stored(t.testdir(), large)
  const inSmallSlices = async (wanted: Query) => {
    for (let tried = 0; tried < 3; tried += 1) {
      const { longest_ms, whole_ms } = await slicesOf(snapshot, wanted)
      if (longest_ms < Math.max(whole_ms / 4, limitNow_ms(12, processorTime_ms))) return true
    }
    return false
  }
  t.ok(await inSmallSlices(queryOf({})), 'in the order of creation')
  t.ok(await inSmallSlices(queryOf({ offset: 39 })), 'one behind all others')
  t.ok(await inSmallSlices(queryOf({ order: [{ by: 'id', reversed: true }] })), 'in another order')
  await close()
})

const manyNames = fc.constantFrom(0, 1, 31, 32, 33, 100)
const typeName = fc.constantFrom(
  '',
  'T',
  'T1',
  'T ',
  'T\u0001',
  'T\u0001x',
  'T\u0000',
  'é',
  '\u{10ffff}',
  'x'.repeat(63),
  'x'.repeat(64),
)
const nameBegin = fc.constantFrom('', 'a', '\u{10ffff}', '\uffff', '\u0001')

test('the counts of types are found however many attributes the types have', async (t) => {
  const creation = fc.record({
    where: fc.constantFrom('/', '/a', '/a/b').map(path),
    kind: typeName.map(type),
    names: manyNames,
    begin: nameBegin,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(creation, { maxLength: 12 }), async (creations) => {
      const folder = t.testdir({})
      const store = new PartitionStore(folder, storeSettings)
      const commands = creations.map(({ where, kind, names, begin }, at) => {
        const attributes = Array.from({ length: names }, (_, n) => given(`${begin}n${n}`, 'v'))
        return command('APPEND', `E${at}`, attributes, { path: where, type: kind })
      })
      takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, commands)
      const reader = new PartitionReader(folder, storeSettings, versions())
      const snapshot = reader.snapshot()
      const ofTypes = (counts: Iterable<Count>) => [...counts].filter(({ attribute }) => attribute === undefined)
      assert.deepEqual(ofTypes(snapshot.typeCounts(tenant)), ofTypes(snapshot.counts(tenant)))
      snapshot.close()
      await reader.close()
      await store.close()
    }),
    { numRuns: runs(100) },
  )
})

test('most of the attribute names of a type are passed over where only types are counted', async (t) => {
  const folder = t.testdir({})
  const store = new PartitionStore(folder, storeSettings)
  const commands = ['T', 'U', 'V'].map((kind) => {
    const attributes = Array.from({ length: 2000 }, (_, n) => given(`n${n}`, 'v'))
    return command('APPEND', 'E', attributes, { type: type(kind) })
  })
  takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, commands)
  const reader = new PartitionReader(folder, storeSettings, versions())
  const snapshot = reader.snapshot()
  t.ok([...snapshot.typeCounts(tenant)].length < 120)
  t.match(await scan([snapshot], queryOf({ limit: 1, counted: true }), { page_bytes: 2 ** 20 }), {
    ok: true,
    value: { count: 3 },
  })
  snapshot.close()
  await reader.close()
  await store.close()
})
