import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { compareAttributes, type Entity, type Value } from '../../src/model/context/entity.js'
import { sizeOf, valueMeasure, valuesIn } from '../../src/model/context/entity-size.js'
import { LargeValue } from '../../src/model/context/large/large-value.js'
import { measureText, piecesOf } from '../../src/model/context/large/text-measure.js'
import { decodeLarge } from '../../src/storage/records/large-record.js'
import { decodeEntity, encodeEntity } from '../../src/storage/records/record.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { attribute, entity } from '../context/given-entity.js'
import { command, given, matcher, metadata, noWords, storeSettings, takeTurn, versions } from '../given.js'
import { meetings, runs } from '../runs.js'
import { unicodeText } from '../unicode-text.js'

const key = fc.oneof(fc.constantFrom('a', 'b', '7', '10', 'ä"\\', '__proto__', '', '\u2028'), unicodeText())
const value = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Value>(null, true, 'x', '"\\', '\ud800', '\n', 1e21, -0.5, 0, [], {}),
    unicodeText(),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
})).value
const compound = fc.oneof(
  fc.array(value, { maxLength: 8 }),
  fc.dictionary(key, value, { maxKeys: 8, noNullPrototype: true }),
)

test('the text of a value tells how much it has, where it ends, and what is in it', async (t) => {
  fc.assert(
    fc.property(compound, fc.constantFrom('', '[', '[1,'), fc.constantFrom('', ',2]', '}'), (held, before, after) => {
      const text = JSON.stringify(held)
      const { end, ...measure } = measureText(`${before}${text}${after}`, before.length)
      assert.equal(end, before.length + text.length)
      assert.deepEqual(measure, valueMeasure(held))
      const pieces = piecesOf(text).map((piece) => [piece.key, JSON.parse(text.slice(piece.value, piece.to))])
      const members = Array.isArray(held) ? held.map((item) => [undefined, item]) : Object.entries(held)
      assert.deepEqual(pieces, plain(members))
    }),
    { numRuns: runs(500) },
  )
  t.pass()
})

/** As JSON has it: without the sign of zero. */
function plain(members: readonly (readonly unknown[])[]): unknown {
  return members.map(([name, member]) => [name, JSON.parse(JSON.stringify(member))])
}

test('a text that ends before its value does is refused', async (t) => {
  const text = JSON.stringify({ a: ['x', { b: 'y"' }], c: null })
  for (let length = 1; length < text.length; length += 1) t.throws(() => measureText(text.slice(0, length), 0))
})

test('what operators make of a value by its text is written as what they make of the value itself', async (t) => {
  const operations: readonly ((held: LargeValue, given: readonly Value[], more: object) => LargeValue)[] = [
    (held, given) => (held.kind === 'array' ? held.inserted(Math.min(1, held.length), given) : held),
    (held, given) => (held.kind === 'array' ? held.extended(given) : held),
    (held, given) => (held.kind === 'array' ? held.reduced(given) : held),
    (held, _, more) => (held.kind === 'object' ? (held.changed({ ...more }, {}) ?? held) : held),
    (held, _, more) => (held.kind === 'object' ? (held.changed({}, { ...more, a: 1 }) ?? held) : held),
  ]
  fc.assert(
    fc.property(
      compound,
      fc.array(fc.tuple(fc.nat(operations.length - 1), fc.array(value, { maxLength: 3 }), fc.dictionary(key, value)), {
        minLength: 1,
        maxLength: 4,
      }),
      (held, steps) => {
        const text = JSON.stringify(held)
        const copy: typeof held = JSON.parse(text)
        let written = LargeValue.written(text, valueMeasure(held), () => JSON.parse(text))
        let made = LargeValue.of(copy)
        assert.equal(written.text, text)
        for (const [operation, given, more] of steps) {
          written = operations[operation]?.(written, given, more) ?? written
          made = operations[operation]?.(made, given, more) ?? made
        }
        const expected = JSON.stringify(made.value)
        assert.ok([undefined, expected].includes(written.text), `${written.text} is not ${expected}`)
        assert.equal(JSON.stringify(written.value), expected)
        assert.deepEqual(written.measure, made.measure)
      },
    ),
    { numRuns: runs(500) },
  )
  t.pass()
})

/** Values that are laid aside, among others. */
const large = fc
  .tuple(compound, fc.string())
  .map(
    ([held, text]): Value => ({ held, rest: Array.from({ length: 100 }, (_, at) => `${text}${'x'.repeat(30)}${at}`) }),
  )

test('a record whose large values are laid aside is the same entity, and is written as it was', async (t) => {
  const anyAttribute = fc
    .record({
      name: fc.constantFrom('a', 'b', 'c', 'ä"'),
      instance: fc.constantFrom('', 'i'),
      type: fc.constantFrom('', 't'),
      value: fc.oneof(large, large, value),
      isLocation: fc.boolean(),
      metadata: fc.array(
        fc.tuple(fc.string(), value).map(([name, its]) => metadata(name, its)),
        { maxLength: 2 },
      ),
    })
    .map(({ name, value: its, ...more }) => attribute(name, its, more))
  const attributes = fc
    .uniqueArray(anyAttribute, { selector: ({ name, instance }) => `${name} ${instance}`, maxLength: 5 })
    .map((all) => all.sort(compareAttributes))
  let [laidAside, decoded] = [0, 0]
  fc.assert(
    fc.property(attributes, fc.constantFrom(undefined, 'c"1'), (all, correlator) => {
      const text = encodeEntity({ ...entity({ id: 'a"b', attributes: all }), correlator })
      const read = decodeLarge(text, () => {
        decoded += 1
        return decodeEntity(text)
      })
      if (read === undefined) return
      laidAside += 1
      const before = decoded
      assert.equal(encodeEntity(read), text)
      assert.equal(read.measure.size, sizeOf(decodeEntity(text)))
      assert.equal(read.measure.values, valuesIn(decodeEntity(text).attributes))
      assert.equal(decoded, before, 'nothing of it was needed')
      const plainOf = ({ attributes: its }: Entity): unknown => JSON.parse(JSON.stringify(its))
      assert.deepEqual(plainOf(read), plainOf(decodeEntity(text)))
      assert.equal(decoded, before + 1, 'all of them are made together')
    }),
    { numRuns: runs(300) },
  )
  t.ok(laidAside > meetings(100), `${laidAside} laid aside`)
})

test('records without large values, and what is no record, are left to whoever decodes all of it', async (t) => {
  const none = (): never => t.fail('nothing is decoded') as never
  const small = encodeEntity(entity({ attributes: [attribute('a', { b: 'x'.repeat(5000) })] }))
  const big = encodeEntity(
    entity({
      attributes: [
        attribute(
          'a',
          Array.from({ length: 2000 }, (_, at) => at),
        ),
      ],
    }),
  )
  t.ok(decodeLarge(big, none))
  for (const text of [small, '', '[]', '["","","/",0,0,0]', big.slice(0, -3), big.slice(0, 3000)]) {
    t.equal(decodeLarge(text, none), undefined)
  }
})

test('an update of one attribute, or of one member of an object, does not make an object of thousands of members', async (t) => {
  const store = new PartitionStore(t.testdir(), storeSettings, { cache_bytes: 2 ** 24 })
  t.teardown(() => store.close())
  const parts = { store, interpret: noWords, matcher: matcher(), versions: versions() }
  const held = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, at]))
  takeTurn(parts, [command('APPEND', 'Tank1', [given('o', held), given('a', '1')])])
  const { parse, stringify } = JSON
  let longest = 0
  t.teardown(() => Object.assign(JSON, { parse, stringify }))
  const long = (text: string): void => {
    longest = Math.max(longest, text.length)
  }
  JSON.parse = (text: string) => {
    long(text)
    return parse(text)
  }
  JSON.stringify = (its: unknown) => {
    const text = stringify(its)
    long(text)
    return text
  }
  takeTurn(parts, [command('APPEND', 'Tank1', [given('a', '2')])])
  const terms = { entity: 'any', typeOfNew: '', overridesMetadata: false, forced: false } as const
  takeTurn(parts, [command('UPDATE', 'Tank1', [given('o', { $set: { k7: 'seven', more: 1 } })], { terms } as never)])
  t.ok(longest < 1000, `a text of ${longest} characters`)
  Object.assign(JSON, { parse, stringify })
  const [after] = store.entities(...(['', '/', 'Tank1'] as never as Parameters<typeof store.entities>))
  t.same(after?.attributes.find(({ name }) => name === 'o')?.value, { ...held, k7: 'seven', more: 1 })
})
