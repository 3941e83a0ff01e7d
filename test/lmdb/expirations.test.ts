import fc from 'fast-check'
import { test } from 'tap'
import type { EntityType } from '../../src/model/context/entity.js'
import type { UpdateCommand } from '../../src/model/context/update.js'
import { expirationOf, parseDate } from '../../src/model/context/value.js'
import type { Command, Reply } from '../../src/partition/turn/commands.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { at, command, given, id, matcher, noWords, root, storeSettings, takeTurn, tenant, versions } from '../given.js'
import { runs } from '../runs.js'

function opened(folder: string): PartitionStore {
  return new PartitionStore(folder, storeSettings)
}

function turn(store: PartitionStore, ...batch: readonly Command[]): readonly Reply[] {
  return takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, batch)
}

/** Gives an entity a date of expiration, in seconds since 1970. */
function expiring(name: string, seconds: number | string | null, type = 'DateTime'): UpdateCommand {
  return command('APPEND', name, [given('dateExpires', seconds, { type })])
}

function sweep(time: number): Command {
  return { kind: 'sweep', time: at(time) }
}

function isHeld(store: PartitionStore, name: string): boolean {
  return store.entities(tenant, root, id(name)).length > 0
}

test('a sweep removes what had expired at its time, and tells nobody [NGSIv2 context 3.4]', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  turn(store, expiring('Past', 5), expiring('Then', 10, 'ISO8601'), expiring('Later', 10.001), expiring('Never', null))
  t.same(turn(store, sweep(10_000)), [{ kind: 'swept', removed: 2, more: false }])
  t.same(
    ['Past', 'Then', 'Later', 'Never'].filter((name) => isHeld(store, name)),
    ['Later', 'Never'],
  )
  t.equal(store.entityCount, 2)
  t.same(turn(store, sweep(10_000)), [{ kind: 'swept', removed: 0, more: false }])
})

test('a date that is moved or removed in time saves the entity, also in the turn of the sweep', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  turn(
    store,
    expiring('Moved', 5),
    expiring('Text', 5),
    expiring('Removed', 5),
    expiring('Replaced', 5),
    expiring('Late', 5),
  )
  turn(
    store,
    expiring('Moved', 20),
    expiring('Text', 5, 'Text'),
    command('DELETE', 'Removed', [given('dateExpires')]),
    command('REPLACE', 'Replaced', [given('level', '1')]),
  )
  t.same(turn(store, expiring('Late', 20), sweep(10_000)).at(-1), { kind: 'swept', removed: 0, more: false })
  t.same(turn(store, sweep(20_000)), [{ kind: 'swept', removed: 2, more: false }])
})

test('what is removed and made again within a turn has its new date', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  turn(store, expiring('Silo1', 5))
  turn(store, sweep(6000), expiring('Silo1', 7), sweep(6500))
  t.ok(isHeld(store, 'Silo1'))
  t.same(turn(store, sweep(7000)), [{ kind: 'swept', removed: 1, more: false }])
})

test('many are removed a few hundred at a time, large ones fewer', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  turn(store, ...Array.from({ length: 300 }, (_, number) => expiring(`Silo${number}`, number)))
  t.same(turn(store, sweep(1_000_000)), [{ kind: 'swept', removed: 256, more: true }])
  t.ok(isHeld(store, 'Silo256') && !isHeld(store, 'Silo255'), 'the oldest dates go first')
  t.same(turn(store, sweep(1_000_000)), [{ kind: 'swept', removed: 44, more: false }])
  const page = given('page', 'x'.repeat(300_000))
  for (let number = 0; number < 6; number += 1) {
    turn(store, command('APPEND', `Book${number}`, [given('dateExpires', 1, { type: 'DateTime' }), page]))
  }
  t.same(turn(store, sweep(2000)), [{ kind: 'swept', removed: 4, more: true }])
})

test('what shares the ids of what is removed is read for it, and counts as much', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  const typed = (name: string, type: string, ...attributes: UpdateCommand['attributes']) =>
    command('APPEND', name, attributes, { type: type as EntityType })
  const ids = Array.from({ length: 5 }, (_, n) => `Id${n}`)
  for (const name of ids) {
    turn(store, ...Array.from({ length: 200 }, (_, n) => typed(name, `T${n}`, given('level', n))))
    turn(store, typed(name, 'gone', given('dateExpires', 1, { type: 'DateTime' })))
  }
  t.same(turn(store, sweep(2000)), [{ kind: 'swept', removed: 2, more: true }], 'two ids have 402 entities')
  t.same(turn(store, sweep(2000)), [{ kind: 'swept', removed: 2, more: true }])
  t.same(turn(store, sweep(2000)), [{ kind: 'swept', removed: 1, more: false }])
  for (const name of ids) {
    turn(store, typed(name, 'large', given('text', 'x'.repeat(600_000))))
    turn(store, typed(name, 'gone', given('dateExpires', 1, { type: 'DateTime' })))
  }
  t.same(turn(store, sweep(2000)), [{ kind: 'swept', removed: 2, more: true }], 'two ids have 1.2 million characters')
})

test('the index is that of the entities, whatever turns come in whatever order', async (t) => {
  const name = fc.integer({ min: 0, max: 3 }).map((number) => `Silo${number}`)
  const change: fc.Arbitrary<Command> = fc.oneof(
    fc.tuple(name, fc.integer({ min: 0, max: 6 })).map(([entity, date]) => expiring(entity, date)),
    name.map((entity) => command('REPLACE', entity, [given('level', '1')])),
    name.map((entity) => command('DELETE', entity)),
    fc.integer({ min: 0, max: 2000 }).map(sweep),
  )
  const folders = t.testdir()
  let folder = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 6 }), async (turns) => {
      folder += 1
      const store = opened(`${folders}/${folder}`)
      for (const batch of turns) turn(store, ...batch)
      const indexed = store.expired(at(3000), 10).map(({ id: found }) => String(found))
      const held = [0, 1, 2, 3].flatMap((number) => store.entities(tenant, root, id(`Silo${number}`)))
      await store.close()
      const expired = held.filter((entity) => (expirationOf(entity) ?? Number.POSITIVE_INFINITY) <= 3000)
      return JSON.stringify(indexed.sort()) === JSON.stringify(expired.map((entity) => String(entity.id)).sort())
    }),
    { numRuns: runs(40) },
  )
})

test('a date before 1970 has expired', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  turn(store, expiring('Old', parseDate('1950-01-01') ?? 0))
  t.same(turn(store, sweep(0)), [{ kind: 'swept', removed: 1, more: false }])
})
