import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { compareAttributes, type Entity } from '../../src/model/context/entity.js'
import { LargeEntity } from '../../src/model/context/large/large-entity.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import { encodeEntity } from '../../src/storage/records/record.js'
import { CountChanges } from '../../src/storage/store/count-changes.js'
import { KnownEntities } from '../../src/storage/store/known-entities.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { attribute, entity } from '../context/given-entity.js'
import {
  command,
  given,
  id,
  noWords,
  rendering,
  root,
  silentLog,
  storeSettings,
  takeTurn,
  tenant,
  versions,
} from '../given.js'
import { shortBody } from '../subscription/given.js'

const level = (value: string): Entity => {
  const attributes = Array.from({ length: 200 }, (_, at) => attribute(`a${1000 + at}`, value))
  return entity({ attributes })
}

test('a large entity is decoded once for all turns that meet it, and again when its record is another one', async (t) => {
  const known = new KnownEntities(2 ** 20)
  let decoded = 0
  const read = (from: Entity): Entity =>
    known.entity(1, encodeEntity(from), () => {
      decoded += 1
      return from
    })
  const [one, two] = [level('1'), level('2')]
  t.equal(read(one), read(one))
  t.equal(decoded, 1)
  t.same(read(two).attributes, two.attributes)
  const left = LargeEntity.of(one)
  known.put(1, encodeEntity(one), left ?? one)
  t.equal(read(one), left)
  t.equal(decoded, 2)
})

test('small entities, those that have nothing but a long text, and those for which there is no memory, are decoded for each turn', async (t) => {
  const small = entity({ attributes: [attribute('a', '1')] })
  const roomy = new KnownEntities(2 ** 20)
  const cramped = new KnownEntities(0)
  const long = entity({ attributes: [attribute('a', 'x'.repeat(10_000))] })
  for (const [known, held] of [[roomy, small] as const, [roomy, long] as const, [cramped, level('1')] as const]) {
    let decoded = 0
    for (let turn = 0; turn < 3; turn += 1) {
      known.entity(1, encodeEntity(held), () => {
        decoded += 1
        return held
      })
    }
    t.equal(decoded, 3)
  }
})

test('the next turn goes on with a large entity as the last one has left it, and another thread reads the same', async (t) => {
  const folder = t.testdir()
  const store = new PartitionStore(folder, storeSettings)
  const matcher = new Matcher({ legacyBody: shortBody, ...rendering, log: silentLog, memory_bytes: 10_000 })
  const parts = { store, interpret: noWords, matcher, versions: versions() }
  for (let turn = 0; turn < 8; turn += 1) {
    const batch = Array.from({ length: 50 }, (_, at) =>
      command('APPEND', 'Tank1', [given(`a${turn}-${at % 40}`, `${turn}`), given('last', `${at}`)]),
    )
    takeTurn(parts, [...batch, command('DELETE', 'Tank1', [given(`a${turn}-7`)])])
  }
  const held = store.entities(tenant, root, id('Tank1'))
  t.equal(held[0], store.entities(tenant, root, id('Tank1'))[0])
  await store.close()
  const again = new PartitionStore(folder, storeSettings)
  t.teardown(() => again.close())
  const stored = again.entities(tenant, root, id('Tank1'))
  t.equal(stored[0]?.attributes.length, 8 * 39 + 1)
  t.equal(held.map(encodeEntity).join(), stored.map(encodeEntity).join())
})

const anyAttribute = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c'),
    instance: fc.constantFrom('', 'i', 'j'),
    type: fc.constantFrom('', 't', 'u'),
    value: fc.constantFrom('1', 2),
  })
  .map(({ name, value, ...more }) => attribute(name, value, more))
const anyAttributes = fc
  .uniqueArray(anyAttribute, { selector: ({ name, instance }) => `${name} ${instance}` })
  .map((attributes) => attributes.sort(compareAttributes))

test('what a change of an entity makes of the counts is the difference between counting it after and before', async () => {
  const differences = (changes: CountChanges) =>
    [...changes.differences].map(([name, { amount }]) => [name, amount] as const).filter(([, amount]) => amount !== 0)
  fc.assert(
    fc.property(anyAttributes, anyAttributes, fc.nat(9), (left, right, shared) => {
      const before = entity({ attributes: left })
      const kept = left.slice(0, shared)
      const others = right.filter((one) => kept.every((held) => compareAttributes(held, one) !== 0))
      const after = entity({ attributes: [...kept, ...others].sort(compareAttributes) })
      const [found, expected] = [new CountChanges(), new CountChanges()]
      found.note({ kind: 'put', tenant, entity: after, before, text: '' })
      expected.note({ kind: 'remove', tenant, entity: before })
      expected.note({ kind: 'put', tenant, entity: after, before: undefined, text: '' })
      assert.deepEqual(new Map(differences(found)), new Map(differences(expected)))
    }),
  )
})
