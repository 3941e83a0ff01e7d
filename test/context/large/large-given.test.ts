import fc from 'fast-check'
import { type Test, test } from 'tap'
import { applyUpdate } from '../../../src/model/context/apply.js'
import type { Entity, Value } from '../../../src/model/context/entity.js'
import { maxAttributes, maxMetadata, maxValues } from '../../../src/model/context/entity-size.js'
import { largeGiven } from '../../../src/model/context/large/large-given.js'
import { LargeValue } from '../../../src/model/context/large/large-value.js'
import { measureText } from '../../../src/model/context/large/text-measure.js'
import type { UpdateCommand, UpdateTerms } from '../../../src/model/context/update.js'
import { sameValue } from '../../../src/model/context/value.js'
import { changeBy, isSmallChange } from '../../../src/model/subscription/change.js'
import { decodeLarge } from '../../../src/storage/records/large-record.js'
import { decodeEntity, encodeEntity } from '../../../src/storage/records/record.js'
import { command, given } from '../../given.js'
import { runs } from '../../runs.js'

const limits = {
  ...{ size: 2 ** 20, attributes: maxAttributes, values: maxValues, metadata: maxMetadata, types: 1000 },
}
const terms: UpdateTerms = {
  ...{ entity: 'either', typeOfNew: 'T' as UpdateTerms['typeOfNew'], overridesMetadata: false, forced: false },
}

function object(members: number, last: Value): { readonly [key: string]: Value } {
  const entries = Array.from({ length: members }, (_, at): [string, Value] => [`k${at}`, at])
  return Object.fromEntries([...entries, ['last', last]])
}

/** A value as its partition gets it, which fails the test when somebody makes it. */
function unread(t: Test, text: string): LargeValue {
  return LargeValue.written(text, measureText(text, 0), () => {
    t.fail('a large value is materialised only to be stored')
    return JSON.parse(text) as Value
  })
}

function giving(t: Test, value: Value, more: Partial<UpdateCommand> = {}): UpdateCommand {
  const { value: _, ...attribute } = given('a', '')
  return { ...command('APPEND', 'Silo1', [largeGiven(attribute, unread(t, JSON.stringify(value)))]), ...more }
}

function put(held: readonly Entity[], update: UpdateCommand) {
  const [effect, ...others] = applyUpdate(held, update, limits).effects
  if (effect?.kind !== 'put' || others.length > 0) throw new Error('one entity is put')
  return effect
}

/** An entity as its partition reads it from a record. */
function stored(value: Value): Entity {
  const plain = applyUpdate([], command('APPEND', 'Silo1', [given('a', value)]), limits).effects[0]?.entity
  if (plain === undefined) throw new Error('nothing is put')
  const text = encodeEntity(plain)
  return decodeLarge(text, () => decodeEntity(text)) ?? plain
}

for (const [api, more] of [
  ['NGSIv1', {}],
  ['NGSIv2', { terms }],
] as const) {
  test(`an update of ${api} that gives a large value is applied, measured and encoded without materialising it`, async (t) => {
    const value = object(2000, 1)
    const created = put([], giving(t, value, more))
    t.strictSame(decodeEntity(encodeEntity(created.entity)).attributes[0]?.value, value)
    t.notOk(isSmallChange(changeBy(giving(t, value, more), created)))
    const changed = put([stored(object(2000, 7))], giving(t, value, more))
    t.strictSame(changed.changed, ['a'])
    t.strictSame(decodeEntity(encodeEntity(changed.entity)).attributes[0]?.value, value)
    t.strictSame(
      applyUpdate([stored(value)], giving(t, value, more), limits).effects,
      [],
      'an equal value changes nothing',
    )
    const large = Object.fromEntries(
      Object.entries(object(60_000, 1)).concat(Object.entries(object(60_000, 1)).map(([key]) => [`x${key}`, 1])),
    )
    const outcome = applyUpdate([], giving(t, large, more), limits)
    t.match(outcome.reply.items, [{ refusal: { kind: 'entityTooLarge' } }])
  })
}

test('values are equal whatever the order of their members, and only where all of them are', async (t) => {
  const written = (value: Value) => unread(t, JSON.stringify(value))
  const one = object(100, { b: [1, { c: 2, d: 'e' }] })
  const reversed = Object.fromEntries(Object.entries(object(100, { b: [1, { d: 'e', c: 2 }] })).reverse())
  t.ok(written(one).isSame(written(reversed)))
  t.ok(written(one).isSame(written(one)))
  for (const other of [
    object(100, { b: [1, { c: 2, d: 'f' }] }),
    object(100, { b: [1, { c: 3, d: 'e' }] }),
    { ...object(99, { b: [1, { c: 2, d: 'e' }] }), k98: 99, k77: 98 },
    object(101, { b: [1, { c: 2, d: 'e' }] }),
    [1, 2],
  ]) {
    t.notOk(written(one).isSame(written(other)), JSON.stringify(other).slice(-40))
    t.notOk(written(other).isSame(written(one)))
  }
  t.notOk(written([1, 2]).isSame(written([2, 1])))
  t.ok(written([1, [2]]).isSame(written([1, [2]])))
  t.notOk(written([1, [2]]).isSame('text'))
  const key = fc.constantFrom('a', 'b', '"', 'ä', '1', '__proto__')
  const scalar = fc.constantFrom<Value>(1, 2, true, null, 'x', 'ä"')
  const parts = fc.array(fc.tuple(key, fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }))), { maxLength: 4 })
  type Parts = readonly (readonly [string, Value])[]
  const forms = [(all: Parts) => Object.fromEntries(all), (all: Parts) => all.map(([, part]) => part)]
  const pair = parts.chain((all) =>
    fc.tuple(fc.constant(all), fc.oneof(parts, fc.shuffledSubarray(all, { minLength: all.length }))),
  )
  fc.assert(
    fc.property(pair, fc.constantFrom(...forms), ([one, other], form) => {
      const [a, b] = [form(one), form(other)]
      t.equal(written(a).isSame(written(b)), sameValue(a, b), JSON.stringify([a, b]))
    }),
    { numRuns: runs(5000) },
  )
})

test('an operation that is given by its text is carried out without making its operands or what is stored', async (t) => {
  const numbered = (from: number): Value =>
    Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`${from + at}`, at]))
  const arrays = Array.from({ length: 2000 }, (_, at): Value => [at, 'x'])
  const operations: readonly (readonly [held: Value, operation: Value])[] = [
    [object(2000, 1), { $set: object(3000, 2) }],
    [
      object(2000, 1),
      { $set: { k1: [1] }, $unset: Object.fromEntries([...Array(1000).keys()].map((at) => [`k${at + 5}`, 1])) },
    ],
    [numbered(0), { $set: numbered(1000) }],
    [arrays, { $pullAll: arrays.slice(1) }],
    [[], { $addToSet: object(3000, 'x') }],
    [[object(2000, 1), object(2000, 2)], { $addToSet: object(2000, 2) }],
    [[object(2000, 1)], { $addToSet: object(2000, 2) }],
    [arrays, { $push: { $each: arrays, $position: 1 } }],
  ]
  for (const [held, operation] of operations) {
    const plain = put([stored(held)], { ...command('APPEND', 'Silo1', [given('a', operation)]), terms })
    const [entity, update] = [stored(held), giving(t, operation, { terms })]
    const read = t.capture(JSON, 'parse', JSON.parse)
    const { entity: after } = put([entity], update)
    const text = encodeEntity(after)
    t.ok(read().length <= 4, `${read().length} parts are read`)
    read.restore()
    const [value] = decodeEntity(text).attributes
    t.equal(JSON.stringify(value?.value), JSON.stringify(plain.entity.attributes[0]?.value))
  }
})
