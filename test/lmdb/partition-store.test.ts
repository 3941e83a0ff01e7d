import assert from 'node:assert/strict'
import { setImmediate as nextTick } from 'node:timers/promises'
import fc from 'fast-check'
import { test } from 'tap'
import { RecentEntities } from '../../src/broker/front-end/recent-entities.js'
import type { UpdateCommand } from '../../src/model/context/update.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { Reply } from '../../src/partition/turn/commands.js'
import { decideTurn } from '../../src/partition/turn/decide.js'
import { commitTurn, endTurn } from '../../src/partition/turn/turn.js'
import { openEnvironment } from '../../src/storage/environment/environment.js'
import { decodeEntity, encodeEntity } from '../../src/storage/records/record.js'
import type { TurnChanges } from '../../src/storage/records/store.js'
import { PartitionReader } from '../../src/storage/store/partition-reader.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { entity } from '../context/given-entity.js'
import {
  command,
  given,
  id,
  matcher,
  metadata,
  noWords,
  path,
  root,
  storeSettings,
  takeTurn as takeAnyTurn,
  tenant,
  type,
  versions,
} from '../given.js'
import { notice } from '../given-subscription.js'
import { runs } from '../runs.js'
import { nthId } from '../subscription/given.js'
import { anyCommand, countsIn, Model } from './model.js'

/** A turn of commands, none of them a raw update. */
function takeTurn(store: PartitionStore, batch: readonly UpdateCommand[], published = versions()): readonly Reply[] {
  return takeAnyTurn({ store, interpret: noWords, matcher: matcher(), versions: published }, batch)
}

/** Its key is longer than LMDB takes: applying it fails, when its turn is in the log. */
const unstorable = { subscription: 'x'.repeat(5000) as SubscriptionId, gone: [], stats: undefined }

/** Logs and applies changes as a turn does. */
function commit(store: PartitionStore, changes: TurnChanges): void {
  commitTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, changes)
}

function opened(folder: string): PartitionStore {
  return new PartitionStore(folder, storeSettings)
}

function silo(value: string): UpdateCommand {
  return command('APPEND', 'Silo1', [given('level', value, { metadata: [metadata('unit', 'cm')] })], {
    type: type('Silo'),
  })
}

test('what a turn wrote is there when the store is opened again', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  takeTurn(store, [silo('1'), silo('2')])
  await store.close()
  const again = opened(folder)
  t.teardown(() => again.close())
  t.match(again.entities(tenant, root, id('Silo1')), [{ attributes: [{ name: 'level', value: '2' }] }])
  t.equal(again.highestSequence, again.entities(tenant, root, id('Silo1'))[0]?.sequence)
  t.equal(again.entityCount, 1)
})

test('a turn that throws writes nothing, and the next one goes on from what was there', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  takeTurn(store, [silo('1')])
  const poison = new Proxy(silo('2'), {
    get: (target, name) => {
      if (name === 'attributes') throw new Error('poison')
      return Reflect.get(target, name)
    },
  })
  t.throws(() => takeTurn(store, [silo('3'), poison]), { message: 'poison' })
  t.match(store.entities(tenant, root, id('Silo1')), [{ attributes: [{ value: '1' }] }])
  t.match(takeTurn(store, [command('UPDATE', 'Silo1', [given('level', '4')])]), [{ kind: 'updated' }])
  t.match(store.entities(tenant, root, id('Silo1')), [{ attributes: [{ value: '4' }] }])
})

/** What a reader finds on disk. */
async function onDisk(folder: string) {
  const environment = openEnvironment(folder, { ...storeSettings, readOnly: true })
  const { root: transactions, ...databases } = environment
  const found = Object.values(databases).map((database) => [...database.getRange({})])
  const stats: { readonly lastTxnId?: unknown } = transactions.getStats()
  const commits = Number(stats.lastTxnId)
  await transactions.close()
  return { found, commits }
}

/** Two new entities of which one is removed again, notices for one and for several subscriptions, and an ack. */
const changes: TurnChanges = {
  entities: [
    { kind: 'put', tenant, entity: entity({ id: 'Tank1', sequence: 1_000_001 }), before: undefined },
    { kind: 'put', tenant, entity: entity({ id: 'Tank2', sequence: 1_000_002 }), before: undefined },
    { kind: 'remove', tenant, entity: entity({ id: 'Tank2', sequence: 1_000_002 }) },
  ],
  notices: [
    notice({ body: '1' }),
    { ...notice(), subscriptions: [nthId(1), nthId(2)], entity: entity({ id: 'Tank1' }) },
  ],
  acks: [{ subscription: nthId(1), gone: [1], stats: undefined }],
}

test('the changes of a turn are applied in one transaction', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  t.teardown(() => store.close())
  const { commits } = await onDisk(folder)
  commit(store, changes)
  t.equal((await onDisk(folder)).commits, commits + 1)
  t.same([store.highestSequence, store.lastNotice, store.entityCount], [1_000_002, 3, 1])
  t.match(store.entities(tenant, root, id('Tank1')), [{ sequence: 1_000_001 }])
  t.same(store.entities(tenant, root, id('Tank2')), [])
})

test('changes that can not be applied change nothing, neither on disk nor in memory', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  t.teardown(() => store.close())
  takeTurn(store, [silo('1')])
  const poison = {
    ...entity({ id: 'Tank3' }),
    get attributes(): never {
      throw new Error('poison')
    },
  }
  const state = async () => ({
    ...(await onDisk(folder)),
    numbers: [store.highestSequence, store.lastNotice, store.entityCount],
    entities: ['Silo1', 'Tank1', 'Tank2'].map((name) => store.entities(tenant, root, id(name))),
  })
  const before = await state()
  const put = { kind: 'put', tenant, entity: poison, before: undefined } as const
  t.throws(() => commit(store, { ...changes, entities: [...changes.entities, put] }), { message: 'poison' })
  t.same(await state(), before, 'a fault while the record is made')
  t.throws(() => commit(store, { ...changes, acks: [...changes.acks, unstorable] }))
  t.same(await state(), before, 'a fault while it is applied')
  commit(store, changes)
  t.same((await state()).numbers, [1_000_002, 3, 2])
})

test('a store at its limit refuses what may make it grow, until something is removed', async (t) => {
  const store = new PartitionStore(t.testdir(), { ...storeSettings, sizeMax_bytes: 2 ** 20 })
  t.teardown(() => store.close())
  const level = given('level', 'x'.repeat(50_000))
  const names = Array.from({ length: 40 }, (_, n) => `Silo${n}`)
  const filling = names.map((name) => takeTurn(store, [command('APPEND', name, [level])])[0])
  t.match(filling[0], { kind: 'updated' })
  t.match(filling.at(-1), { kind: 'failed', why: 'storageFull' })
  t.equal(store.entities(tenant, root, id('Silo39')).length, 0)
  t.ok(store.size.used_bytes < 2 ** 21)
  takeTurn(
    store,
    names.map((name) => command('DELETE', name)),
  )
  t.match(takeTurn(store, [silo('1')]), [{ kind: 'updated' }])
})

test('ids that are the beginning of others, of other paths and other types are kept apart', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  const ids = ['a', 'a\u0000', 'a\u0000b', 'ab', 'a b', 'é', '\u{1f600}', '\uffee', '/', '0']
  const paths = ['/', '/a', '/a/b', '/ab'].map(path)
  for (const name of ids) {
    takeTurn(
      store,
      paths.flatMap((where) => [
        command('APPEND', name, [], { path: where }),
        command('APPEND', name, [], { path: where, type: type('T') }),
      ]),
    )
  }
  for (const name of ids) {
    for (const where of paths) {
      const found = store.entities(tenant, where, id(name))
      t.same(
        found.map((entity) => [entity.id, entity.path, entity.type]),
        [
          [name, where, ''],
          [name, where, 'T'],
        ],
      )
    }
  }
})

test('a reader in the same process sees a commit when the versions say so', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  const published = versions()
  const reader = new PartitionReader(folder, storeSettings, published)
  t.teardown(async () => {
    await reader.close()
    await store.close()
  })
  for (let n = 0; n < 50; n += 1) {
    takeTurn(store, [silo(String(n))], published)
    t.match(reader.entities(tenant, undefined, id('Silo1'), 10_000), [{ attributes: [{ value: String(n) }] }])
    await nextTick()
  }
})

test('what one reader has seen of a commit that is not counted yet, every later read sees', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  const published = versions()
  const parts = { store, interpret: noWords, matcher: matcher(), versions: published }
  const earlier = new PartitionReader(folder, storeSettings, published)
  t.teardown(async () => {
    await earlier.close()
    await store.close()
  })
  const requests = [tenant, undefined, id('Silo1'), 10_000] as const
  const [atHand, group] = [new RecentEntities(50_000), Versions.groupOf(tenant, id('Silo1'))]
  takeTurn(store, [silo('1')], published)
  t.match(
    atHand.read('Silo1', group, published, () => earlier.entities(...requests)),
    [{ attributes: [{ value: '1' }] }],
  )
  commitTurn(parts, decideTurn(parts, [silo('2')]).changes)
  // A new snapshot shows the commit as soon as the disk has it, before anybody is told.
  const first = new PartitionReader(folder, storeSettings, published)
  t.teardown(() => first.close())
  t.match(first.entities(...requests), [{ attributes: [{ value: '2' }] }])
  t.equal(atHand.get('Silo1', group, published), undefined, 'what was read before is not shown any more')
  t.match(earlier.entities(...requests), [{ attributes: [{ value: '2' }] }])
  endTurn(parts)
})

test('nothing is found under a name that is longer than any key', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  const reader = new PartitionReader(folder, storeSettings, versions())
  t.teardown(async () => {
    await reader.close()
    await store.close()
  })
  takeTurn(store, [silo('1')])
  for (const length of [1, 300, 600, 700, 2000, 20_000, 1_000_000]) {
    const [name, where] = ['é'.repeat(length), path(`/${'p'.repeat(500)}`)]
    const snapshot = reader.snapshot()
    t.same(reader.entities(tenant, undefined, id(name), 10_000), [])
    t.same(reader.entities(tenant, where, id(name), 10_000), [])
    t.same([...snapshot.ofType(tenant, type(name))], [])
    t.same([...snapshot.ofId(tenant, id(name))], [])
    snapshot.close()
  }
})

test('a snapshot stays as it is while the store goes on', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  const published = versions()
  const reader = new PartitionReader(folder, storeSettings, published)
  t.teardown(async () => {
    await reader.close()
    await store.close()
  })
  takeTurn(store, [silo('1')], published)
  const snapshot = reader.snapshot()
  takeTurn(store, [silo('2'), command('APPEND', 'Silo2')], published)
  const later = reader.snapshot()
  t.equal([...snapshot.all(tenant)].length, 1)
  t.match(decodeEntity([...snapshot.ofType(tenant, type('Silo'))][0]?.read() ?? ''), { attributes: [{ value: '1' }] })
  t.equal([...later.all(tenant)].length, 2)
  t.match(decodeEntity([...later.ofType(tenant, type('Silo'))][0]?.read() ?? ''), { attributes: [{ value: '2' }] })
  snapshot.close()
  later.close()
})

test('the store holds what a list in memory would, in every index, over turns of any size and restarts', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(anyCommand, { minLength: 1, maxLength: 5 }), { maxLength: 6 }),
      async (turns) => {
        const folder = t.testdir()
        const model = new Model()
        for (const turn of turns) {
          const store = opened(folder)
          takeTurn(store, turn)
          for (const next of turn) model.apply(next)
          await store.close()
        }
        const store = opened(folder)
        const reader = new PartitionReader(folder, storeSettings, versions())
        const snapshot = reader.snapshot()
        assert.deepEqual(
          [...snapshot.all(tenant)].map((candidate) => decodeEntity(candidate.read() ?? '')),
          model.entities,
        )
        for (const kind of ['', 'T', 'U'].map(type)) {
          const expected = model.entities.filter((entity) => entity.type === kind)
          assert.deepEqual(
            [...snapshot.ofType(tenant, kind)].map((candidate) => decodeEntity(candidate.read() ?? '')),
            expected,
          )
        }
        assert.deepEqual(countsIn(snapshot), model.counts())
        snapshot.close()
        await reader.close()
        await store.close()
      },
    ),
    { numRuns: runs(30) },
  )
})

test('what a store keeps in memory is what it has on disk, also after turns that fail', async (t) => {
  const turn = fc.record({ commands: fc.array(anyCommand, { minLength: 1, maxLength: 5 }), fails: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(
      fc.array(turn, { maxLength: 12 }),
      fc.integer({ min: 0, max: 4000 }),
      async (turns, cache_bytes) => {
        const store = new PartitionStore(t.testdir(), storeSettings, { cache_bytes })
        const model = new Model()
        for (const { commands, fails } of turns) {
          const parts = { store, interpret: noWords, matcher: matcher(), versions: versions() }
          if (fails) {
            const { changes } = decideTurn(parts, commands)
            assert.throws(() => commitTurn(parts, { ...changes, acks: [unstorable] }))
          } else {
            takeAnyTurn(parts, commands)
            for (const next of commands) model.apply(next)
          }
          for (const name of ['E', 'F'].map(id)) {
            for (const where of ['/', '/a'].map(path)) {
              const expected = model.entities.filter((entity) => entity.id === name && entity.path === where)
              assert.deepEqual(store.entities(tenant, where, name), expected)
            }
          }
        }
        await store.close()
      },
    ),
    { numRuns: runs(50) },
  )
})

test('an entity is read back from its record as it was', async () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 5 }), (commands) => {
      const model = new Model()
      for (const next of commands) model.apply(next)
      for (const entity of model.entities) assert.deepEqual(decodeEntity(encodeEntity(entity)), entity)
    }),
  )
})
