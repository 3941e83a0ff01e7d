import { type Test, test } from 'tap'
import type { Value } from '../../src/model/context/entity.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import type { Command } from '../../src/partition/turn/commands.js'
import { decideTurn } from '../../src/partition/turn/decide.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { RecordCache } from '../../src/storage/store/record-cache.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { attribute, entity } from '../context/given-entity.js'
import {
  command,
  given,
  metadata,
  noWords,
  rendering,
  silentLog,
  storeSettings,
  takeTurn,
  type,
  versions,
} from '../given.js'
import { shortBody } from '../subscription/given.js'

const limits = { size: 2_000_000, attributes: 50_000, values: 1_000_000, metadata: 100_000, types: 1000 }

type BatchOf = (n: number, id: string) => readonly Command[]

/**
 * At most this many times as long for a batch that is four times as long. What is done again for each element takes sixteen times as long;
 * what is not takes four to six times, by caches and by what the compiler of the engine has seen before.
 */
const linear = 10

/**
 * Whether the processor time of a turn grows as its batch does, when that is four times as long: by the least of several tries
 * of both, of which there are more while it seems to grow faster.
 *
 * @param first gives what an earlier turn takes
 */
async function isLinear(t: Test, batchOf: BatchOf, n: number, first: BatchOf = () => []): Promise<boolean> {
  const store = new PartitionStore(t.testdir(), storeSettings, { limits, cache_bytes: 2 ** 26 })
  const matcher = new Matcher({ legacyBody: shortBody, ...rendering, log: silentLog, memory_bytes: 10_000 })
  const parts = { store, interpret: noWords, matcher, versions: versions() }
  const time = (size: number, attempt: number): number => {
    const id = `Tank${size}-${attempt}`
    takeTurn(parts, first(size, id))
    const batch = batchOf(size, id)
    const since = process.cpuUsage()
    takeTurn(parts, batch)
    const { user, system } = process.cpuUsage(since)
    return user + system
  }
  let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let attempt = 0; attempt < 10 && !(attempt > 1 && long < linear * short); attempt += 1) {
    short = Math.min(short, time(n, attempt))
    long = Math.min(long, time(4 * n, attempt))
  }
  await store.close()
  t.comment(`${short} us, ${long} us`)
  return long < linear * short
}

function each(n: number, make: (at: number) => Command): readonly Command[] {
  return Array.from({ length: n }, (_, at) => make(at))
}

test('elements of one entity, each with another attribute, cost the same however many attributes there are', async (t) => {
  const batch = (n: number, id: string) => each(n, (at) => command('APPEND', id, [given(`a${(at * 7919) % n}`, '1')]))
  t.ok(await isLinear(t, batch, 400))
})

test('an element with many instances that are there finds each at once', async (t) => {
  const instances = (n: number) => Array.from({ length: n }, (_, at) => given('a', '1', { ID: `i${(at * 7919) % n}` }))
  const first = (n: number, id: string) => [command('APPEND', id, instances(n))]
  for (const action of ['APPEND', 'APPEND_STRICT', 'UPDATE', 'DELETE'] as const) {
    t.ok(await isLinear(t, (n, id) => [command(action, id, instances(n))], 800, first), action)
  }
})

/** Objects of which it is counted how often anybody looks at their sequence. */
function counted<Held extends { readonly sequence: Sequence }>(held: readonly Held[]) {
  let looks = 0
  const all = held.map(({ sequence, ...rest }) => {
    return Object.defineProperty(rest, 'sequence', {
      enumerable: true,
      get: () => {
        looks += 1
        return sequence
      },
    }) as Held
  })
  return { all, looks: () => looks }
}

test('an element that means all entities of an id looks at each of them a few times, however many there are', async (t) => {
  const looksAt = (n: number): number => {
    const { all, looks } = counted(
      Array.from({ length: n }, (_, at) =>
        entity({ type: `T${at}`, sequence: at + 1, attributes: [attribute('a', '1')] }),
      ),
    )
    const store = { limits, hasRoom: () => true, entities: () => all, expired: () => [] }
    const matcher = new Matcher({ legacyBody: shortBody, ...rendering, log: silentLog, memory_bytes: 10_000 })
    const { changes } = decideTurn({ store, interpret: noWords, matcher }, [
      command('UPDATE', 'Silo1', [given('a', '2')]),
    ])
    t.equal(changes.entities.length, n)
    return looks()
  }
  t.ok(looksAt(800) <= 8 * looksAt(100))
})

test('a cache of records looks at those of an id a few times when many of them are written', async (t) => {
  const looksAt = (n: number): number => {
    const cache = new RecordCache(2 ** 24)
    const { all, looks } = counted(Array.from({ length: n }, (_, at) => ({ sequence: at as Sequence, text: 'a' })))
    cache.put('x', all)
    cache.changeAll('x', new Map(all.map((_, at) => [at as Sequence, at === 0 ? undefined : 'b'])))
    t.same(
      cache
        .get('x')
        ?.map(({ text }) => text)
        .join(''),
      'b'.repeat(n - 1),
    )
    return looks()
  }
  t.equal(looksAt(800), 800)
})

test('elements that give one attribute another element of metadata each cost the same however many there are', async (t) => {
  const batch = (n: number, id: string) =>
    each(n, (at) => command('APPEND', id, [given('a', '1', { metadata: [metadata(`m${(at * 7919) % n}`, '1')] })]))
  t.ok(await isLinear(t, batch, 400))
})

const terms = { entity: 'either', typeOfNew: type('Tank'), overridesMetadata: false, forced: false } as const

/** What an update operator is given at each place of a batch. */
type Operands = (at: number, n: number) => Value

test('update operators on one value in a batch cost the same however large it has become', async (t) => {
  const rows: readonly (readonly [what: string, n: number, first: Value, operands: Operands])[] = [
    ['$push', 1200, [], (at) => ({ $push: at })],
    ['$push in front', 400, [], (at) => ({ $push: { $each: [at], $position: 0 } })],
    ['$addToSet', 400, [], (at, n) => ({ $addToSet: { $each: [at, `${at % (n / 2)}`] } })],
    ['$set', 400, {}, (at, n) => ({ $set: { [`k${(at * 7919) % n}`]: at } })],
  ]
  for (const [what, n, first, operands] of rows) {
    const start = (_: number, id: string) => [command('APPEND', id, [given('a', first)], { terms })]
    const batch = (n: number, id: string) =>
      each(n, (at) => command('UPDATE', id, [given('a', operands(at, n))], { terms }))
    t.ok(await isLinear(t, batch, n, start), what)
  }
})

test('update operators that take away from one value cost the same however large it is', async (t) => {
  const items = (n: number) => Array.from({ length: n }, (_, at) => `item ${at}`)
  const rows: readonly (readonly [what: string, first: (n: number) => Value, operands: Operands])[] = [
    ['$pull', items, (at, n) => ({ $pull: `item ${(at * 7919) % n}` })],
    ['$pullAll', items, (at, n) => ({ $pullAll: [`item ${(at * 7919) % n}`, 'none'] })],
    [
      '$unset',
      (n) => Object.fromEntries(items(n).map((key) => [key, 1])),
      (at, n) => ({ $unset: { [`item ${(at * 7919) % n}`]: 1 } }),
    ],
  ]
  for (const [what, first, operands] of rows) {
    const start = (n: number, id: string) => [command('APPEND', id, [given('a', first(n))], { terms })]
    const batch = (n: number, id: string) =>
      each(n, (at) => command('UPDATE', id, [given('a', operands(at, n))], { terms }))
    t.ok(await isLinear(t, batch, 400, start), what)
  }
})

test('operators that are refused because the entity would be too large cost the same however large it is', async (t) => {
  const n = 300
  const start = (size: number, id: string) => {
    const value = Array<Value>(size * 10).fill(0)
    const rest = 'x'.repeat(limits.size - 5 * value.length - 100)
    return [command('APPEND', id, [given('a', value), given('b', rest)], { terms })]
  }
  const batch = (size: number, id: string) =>
    each(size, () => command('UPDATE', id, [given('a', { $push: 'x'.repeat(100) })], { terms }))
  t.ok(await isLinear(t, batch, n, start))
})
