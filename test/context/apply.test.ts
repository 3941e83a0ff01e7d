import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { applyUpdate } from '../../src/model/context/apply.js'
import { compareAttributes, type Entity } from '../../src/model/context/entity.js'
import type { GivenAttribute, UpdateCommand, UpdateReply } from '../../src/model/context/update.js'
import { at, command, given, id, metadata, type } from '../given.js'
import { runs } from '../runs.js'

/** What is held after commands were applied one after another to nothing. */
function after(...commands: readonly UpdateCommand[]): readonly Entity[] {
  return commands.reduce(step, [])
}

function step(held: readonly Entity[], next: UpdateCommand): readonly Entity[] {
  return applyUpdate(held, next).effects.reduce<readonly Entity[]>((entities, effect) => {
    const rest = entities.filter(({ sequence }) => sequence !== effect.entity.sequence)
    return effect.kind === 'put' ? [...rest, effect.entity].sort((a, b) => a.sequence - b.sequence) : rest
  }, held)
}

function replyTo(held: readonly Entity[], next: UpdateCommand): UpdateReply {
  return applyUpdate(held, next).reply
}

const silo = { id: id('Silo1'), type: type('Silo') }
const typed = { type: type('Silo') }

test('APPEND creates the entity that is not there, with the type of the request or none', async (t) => {
  const [entity] = after(command('APPEND', 'Silo1', [given('level', '64', { type: 'percent' })], typed))
  t.match(entity, { id: 'Silo1', type: 'Silo', attributes: [{ name: 'level', type: 'percent', value: '64' }] })
  t.equal(after(command('APPEND', 'Silo1'))[0]?.type, '')
})

test('UPDATE, REPLACE and DELETE of an entity that is not there are refused and write nothing', async (t) => {
  for (const action of ['UPDATE', 'REPLACE', 'DELETE'] as const) {
    const { reply, effects } = applyUpdate([], command(action, 'Silo1', [given('level', '1')]))
    t.same(reply.items, [{ id: 'Silo1', type: '', refusal: { kind: 'entityUnknown' } }])
    t.same(effects, [])
  }
})

test('an element without a type means the entities of every type, oldest first; with one only that', async (t) => {
  const held = after(
    command('APPEND', 'Silo1', [given('level', '1')], typed),
    command('APPEND', 'Silo1', [given('level', '2')], { type: type('Tank') }),
  )
  t.same(replyTo(held, command('UPDATE', 'Silo1', [given('level', '3')])).items, [silo, { ...silo, type: 'Tank' }])
  t.same(replyTo(held, command('UPDATE', 'Silo1', [given('level', '3')], { type: type('Tank') })).items, [
    { ...silo, type: 'Tank' },
  ])
  t.match(replyTo(held, command('UPDATE', 'Silo1', [given('level', '3')], { type: type('') })).items, [
    { refusal: { kind: 'entityUnknown' } },
  ])
})

test('an update without value keeps the value, without type the type, and merges metadata', async (t) => {
  const first = given('level', '64', { type: 'percent', metadata: [metadata('accuracy', '1', 'float')] })
  const held = after(command('APPEND', 'Silo1', [first]))
  const [level] =
    step(held, command('UPDATE', 'Silo1', [given('level', undefined, { metadata: [metadata('unit', 'cm')] })]))[0]
      ?.attributes ?? []
  t.match(level, { value: '64', type: 'percent' })
  t.same(level?.metadata, [metadata('accuracy', '1', 'float'), metadata('unit', 'cm')])
})

test('a metadata element that is updated without a type keeps the type it has', async (t) => {
  const held = after(
    command('APPEND', 'Silo1', [given('level', '1', { metadata: [metadata('accuracy', '1', 'float')] })]),
  )
  const updated = step(
    held,
    command('APPEND', 'Silo1', [given('level', '1', { metadata: [metadata('accuracy', '2')] })]),
  )
  t.same(updated[0]?.attributes[0]?.metadata, [metadata('accuracy', '2', 'float')])
})

test('of two metadata elements of one name in a request the last one is stored', async (t) => {
  const twice = given('level', '1', { metadata: [metadata('a', '1'), metadata('a', '2')] })
  t.same(after(command('APPEND', 'Silo1', [twice]))[0]?.attributes[0]?.metadata, [metadata('a', '2')])
  const typedOnce = given('level', '1', { metadata: [metadata('a', '1', 'first'), metadata('a', '2')] })
  t.same(after(command('APPEND', 'Silo1', [typedOnce]))[0]?.attributes[0]?.metadata, [metadata('a', '2')])
  const held = after(command('APPEND', 'Silo1', [given('level', '1', { metadata: [metadata('a', '0', 'held')] })]))
  t.same(step(held, command('UPDATE', 'Silo1', [typedOnce]))[0]?.attributes[0]?.metadata, [metadata('a', '2', 'held')])
})

test('an update that changes nothing writes nothing and leaves the dates alone', async (t) => {
  const level = given('level', { rows: ['1', '2'], open: 'true' }, { type: 'percent', metadata: [metadata('a', '1')] })
  const held = after(command('APPEND', 'Silo1', [level]))
  const again = given('level', { open: 'true', rows: ['1', '2'] }, { metadata: [metadata('a', '1')] })
  t.same(applyUpdate(held, command('UPDATE', 'Silo1', [again])).effects, [])
  t.same(applyUpdate(held, command('APPEND', 'Silo1')).effects, [])
})

test('a change of the metadata alone is a change, and dates it', async (t) => {
  const held = after(command('APPEND', 'Silo1', [given('level', '1'), given('door', 'shut')], { time: at(1000) }))
  const next = command('UPDATE', 'Silo1', [given('level', '1', { metadata: [metadata('a', '1')] })], { time: at(2000) })
  const [effect] = applyUpdate(held, next).effects
  t.match(effect, { kind: 'put', changed: ['level'], entity: { created: 1000, modified: 2000 } })
  t.same(
    effect?.entity.attributes.map(({ name, created, modified }) => [name, created, modified]),
    [
      ['door', 1000, 1000],
      ['level', 1000, 2000],
    ],
  )
})

test('an UPDATE of which some attributes are missing updates the others and reports those at the end', async (t) => {
  const held = after(command('APPEND', 'Silo1', [given('level', '1')], typed))
  const next = command('UPDATE', 'Silo1', [given('smell', 'none'), given('level', '2')], typed)
  t.same(replyTo(held, next), {
    items: [{ ...silo, shown: [1] }],
    missing: [{ ...silo, shown: [0], refusal: { kind: 'attributesMissing' } }],
  })
  t.equal(step(held, next)[0]?.attributes[0]?.value, '2')
})

test('an UPDATE of which no attribute exists names the last one missing, a DELETE the first one', async (t) => {
  const held = after(command('APPEND', 'Silo1', [given('level', '1')], typed))
  const absent = [given('a', '1'), given('b', '1')]
  t.same(replyTo(held, command('UPDATE', 'Silo1', absent)).items[0]?.refusal, { kind: 'attributeUnknown', name: 'b' })
  t.same(replyTo(held, command('DELETE', 'Silo1', absent)).items[0]?.refusal, { kind: 'attributeUnknown', name: 'a' })
})

test('a DELETE removes the attributes that exist, without attributes the entity', async (t) => {
  const held = after(command('APPEND', 'Silo1', [given('level', '1'), given('door', 'shut')], typed))
  const left = step(held, command('DELETE', 'Silo1', [given('nothing'), given('level')]))
  t.same(
    left[0]?.attributes.map(({ name }) => name),
    ['door'],
  )
  t.same(step(left, command('DELETE', 'Silo1', [given('door')]))[0]?.attributes, [])
  t.same(step(held, command('DELETE', 'Silo1')), [])
})

test('APPEND_STRICT adds what is new and reports what exists, in this order', async (t) => {
  const held = after(command('APPEND', 'Silo1', [given('level', '1')], typed))
  const next = command('APPEND_STRICT', 'Silo1', [given('level', '2'), given('door', 'shut')], typed)
  t.same(replyTo(held, next).items, [
    { ...silo, shown: [1] },
    { ...silo, shown: [], refusal: { kind: 'attributesExist', names: ['level'] } },
  ])
  t.same(
    step(held, next)[0]?.attributes.map(({ value }) => value),
    ['shut', '1'],
  )
  t.equal(replyTo(held, command('APPEND_STRICT', 'Silo1', [given('level', '2')])).items.length, 1)
})

test('REPLACE leaves the attributes of the request only: these are changed, even if they are as they were', async (t) => {
  const held = after(command('APPEND', 'Silo1', [given('level', '1'), given('door', 'shut')], typed))
  const next = command('REPLACE', 'Silo1', [given('level', '1')], typed)
  const [effect] = applyUpdate(held, next).effects
  t.same(
    effect?.entity.attributes.map(({ name }) => name),
    ['level'],
  )
  t.match(effect, { changed: ['level'], entity: { modified: next.time } })
})

test('REPLACE with nothing empties an entity, and does nothing to an empty one', async (t) => {
  const held = after(command('APPEND', 'Silo1', [given('level', '1')]))
  const next = command('REPLACE', 'Silo1')
  const { reply, effects } = applyUpdate(held, next)
  t.match(effects, [{ changed: [], before: held[0], entity: { attributes: [], modified: next.time } }])
  const emptied = step(held, next)
  t.same(applyUpdate(emptied, command('REPLACE', 'Silo1')), { reply, effects: [], untouched: emptied })
})

test('instances of an attribute live side by side, and an update of one leaves the other', async (t) => {
  const held = after(
    command('APPEND', 'Tank7', [given('level', '3', { ID: 'low' }), given('level', '9', { ID: 'high' })]),
  )
  const updated = step(held, command('UPDATE', 'Tank7', [given('level', '4', { ID: 'low' })]))
  t.same(
    updated[0]?.attributes.map(({ instance, value }) => [instance, value]),
    [
      ['high', '9'],
      ['low', '4'],
    ],
  )
  t.match(replyTo(held, command('UPDATE', 'Tank7', [given('level', '4')])).items, [
    { refusal: { kind: 'attributeUnknown' } },
  ])
})

test('a name that is stored with ID can not be appended without, nor the other way round', async (t) => {
  const withId = after(command('APPEND', 'Tank7', [given('level', '3', { ID: 'low' })]))
  const without = after(command('APPEND', 'Tank7', [given('level', '3')]))
  for (const action of ['APPEND', 'APPEND_STRICT'] as const) {
    const refusal = { kind: 'instancesMixed', name: 'level' }
    t.same(
      replyTo(withId, command(action, 'Tank7', [given('new', '1'), given('level', '4')])).items[0]?.refusal,
      refusal,
    )
    t.same(replyTo(without, command(action, 'Tank7', [given('level', '4', { ID: 'low' })])).items[0]?.refusal, refusal)
  }
  t.same(applyUpdate(withId, command('APPEND', 'Tank7', [given('new', '1'), given('level', '4')])).effects, [])
})

test('an entity has one location, which stays when an update says nothing about it', async (t) => {
  const held = after(command('APPEND', 'Bus1', [given('at', '48.2, 16.4', { location: 'WGS84' })]))
  const moved = step(held, command('APPEND', 'Bus1', [given('at', '48.3, 16.5')]))
  t.match(moved[0]?.attributes[0], { isLocation: true, value: '48.3, 16.5' })
  t.match(replyTo(moved, command('UPDATE', 'Bus1', [given('at', 'lost')])).items[0]?.refusal, {
    kind: 'coordinatesMalformed',
    value: 'lost',
    when: 'update',
  })
  t.match(
    replyTo(moved, command('APPEND', 'Bus1', [given('depot', '1, 1', { type: 'geo:point' })])).items[0]?.refusal,
    {
      kind: 'locationTwice',
      held: 'at',
    },
  )
})

test('location errors say whether an entity was created, an attribute appended or something else', async (t) => {
  const bad = given('at', 'lost', { location: 'WGS84' })
  const held = after(command('APPEND', 'Bus1', [given('line', '13A')]))
  t.match(replyTo([], command('APPEND', 'Bus1', [bad])).items[0]?.refusal, { when: 'creation' })
  t.match(replyTo(held, command('APPEND', 'Bus1', [bad])).items[0]?.refusal, { when: 'newAttribute' })
  t.match(replyTo(held, command('APPEND_STRICT', 'Bus1', [bad])).items[0]?.refusal, { when: 'newAttribute' })
  t.match(replyTo(held, command('REPLACE', 'Bus1', [bad])).items[0]?.refusal, { when: 'update' })
  t.match(replyTo(held, command('APPEND', 'Bus1', [given('line', '1, 1', { location: 'UTM' })])).items[0]?.refusal, {
    kind: 'coordinateSystemUnknown',
    found: 'UTM',
  })
})

test('with autocast a text becomes what its type says, or stays text', async (t) => {
  const numbers = [
    given('n', '21.5', { type: 'Number' }),
    given('b', 'true', { type: 'Boolean' }),
    given('x', 'many', { type: 'Number' }),
  ]
  const held = after(command('APPEND', 'Silo1', numbers, { autocast: true }))
  t.same(
    held[0]?.attributes.map(({ value }) => value),
    [true, 21.5, 'many'],
  )
  t.equal(step(held, command('UPDATE', 'Silo1', [given('n', '3')], { autocast: true }))[0]?.attributes[1]?.value, 3)
})

const anyName = fc.constantFrom('a', 'b', 'c', 'é', '\u{1f600}', '\uffee')
const anyMetadata = fc.record({ name: anyName, type: fc.constantFrom('', 't', 'u'), value: fc.constantFrom('1', '2') })
const anyAttribute: fc.Arbitrary<GivenAttribute> = fc.record(
  {
    name: anyName,
    instance: fc.constantFrom('', 'i', 'j'),
    type: fc.constantFrom('', 't', 'u'),
    value: fc.oneof(fc.constantFrom('1', '2'), fc.constant({ k: ['1'] })),
    metadata: fc.array(anyMetadata, { maxLength: 3 }),
  },
  { requiredKeys: ['name', 'instance', 'type', 'metadata'] },
)
const anyCommand = fc
  .record({
    action: fc.constantFrom('APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE'),
    type: fc.constantFrom(undefined, type(''), type('T'), type('U')),
    attributes: fc.uniqueArray(anyAttribute, { maxLength: 4, selector: ({ name, instance }) => `${name} ${instance}` }),
  })
  .map(({ action, attributes, type: entityType }) =>
    command(action, 'E', attributes, entityType === undefined ? {} : { type: entityType }),
  )

test('after any sequence of updates attributes are sorted, unique and never mixed with and without ID by APPEND', async () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 12 }), (commands) => {
      for (const { attributes } of after(...commands)) {
        const sorted = [...attributes].sort(compareAttributes)
        assert.deepEqual(attributes, sorted)
        assert.equal(new Set(attributes.map(({ name, instance }) => `${name} ${instance}`)).size, attributes.length)
      }
    }),
    { numRuns: runs(200) },
  )
})

test('APPEND and UPDATE never lose an attribute or a metadata element', async () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 8 }), anyCommand, (commands, last) => {
      if (last.action === 'DELETE' || last.action === 'REPLACE') return
      const held = after(...commands)
      const updated = step(held, last)
      for (const entity of held) {
        const now = updated.find(({ sequence }) => sequence === entity.sequence)
        for (const attribute of entity.attributes) {
          const same = now?.attributes.find((other) => compareAttributes(other, attribute) === 0)
          const names = new Set(same?.metadata.map(({ name }) => name))
          assert.ok(attribute.metadata.every(({ name }) => names.has(name)))
        }
      }
    }),
    { numRuns: runs(200) },
  )
})

test('an effect is written exactly when something changed, and its dates say so', async () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 8 }), anyCommand, (commands, last) => {
      for (const effect of applyUpdate(after(...commands), last).effects) {
        if (effect.kind === 'remove') continue
        const left = effect.before === undefined || effect.entity.attributes.length === 0
        assert.ok(effect.changed.length > 0 || left)
        assert.equal(effect.entity.modified, last.time)
      }
    }),
    { numRuns: runs(200) },
  )
})

test('the entities of one id in one path have the room of one, so that no update reads or writes more', async (t) => {
  const limits = { size: 1000, attributes: 1000, types: 100, values: 1000, metadata: 1000 }
  let held: readonly Entity[] = []
  const apply = (...next: Parameters<typeof command>) => {
    const { reply, effects } = applyUpdate(held, command(...next), limits)
    for (const { kind, entity } of effects) {
      const others = held.filter(({ sequence }) => sequence !== entity.sequence)
      held = kind === 'put' ? [...others, entity] : others
    }
    return reply.items.map(({ refusal }) =>
      refusal?.kind === 'entityTooLarge' ? refusal.what : (refusal?.kind ?? 'done'),
    )
  }
  const of = (name: string) => ({ type: type(name) })
  t.same(apply('APPEND', 'Silo1', [given('a', 'x'.repeat(400))], of('A')), ['done'])
  t.same(apply('APPEND', 'Silo1', [given('a', 'x'.repeat(400))], of('B')), ['done'])
  t.same(apply('APPEND', 'Silo1', [given('a', 'x'.repeat(400))], of('C')), ['sizes'])
  t.same(apply('APPEND', 'Silo1', [given('a', 'x')], of('C')), ['done'])
  t.same(
    apply('UPDATE', 'Silo1', [given('a', 'y'.repeat(500))]),
    ['done', 'sizes', 'sizes'],
    'each sees the one before',
  )
  t.same(apply('UPDATE', 'Silo1', [given('a', 'y'.repeat(2000))], of('B')), ['size'])
  t.same(apply('UPDATE', 'Silo1', [given('a', 'z'.repeat(300))], of('B')), ['done'], 'it may shrink')
  t.same(apply('APPEND', 'Silo1', [given('b', 'x'.repeat(60))], of('C')), ['done'])
  t.same(apply('DELETE', 'Silo1', [], of('A')), ['done'])
  t.same(apply('APPEND', 'Silo1', [given('a', 'x'.repeat(400))], of('C')), ['done'])
})

test('an entity grows up to its limits, and nothing of what would make it larger is done; it may change and shrink', async (t) => {
  const limits = { size: 1000, attributes: 3, values: 200, metadata: 40, types: 2 }
  const apply = (held: readonly Entity[], ...next: Parameters<typeof command>) =>
    applyUpdate(held, command(...next), limits)
  const large = given('a', 'x'.repeat(900))
  const silo = { type: type('Silo') }
  const [made] = apply([], 'APPEND', 'Silo1', [large], silo).effects
  if (made?.kind !== 'put') throw new Error('nothing was made')
  const refusalOf = (what: string, max: number) => ({ items: [{ refusal: { kind: 'entityTooLarge', what, max } }] })
  const beyond = apply([made.entity], 'APPEND', 'Silo1', [given('b', 'y'.repeat(100))], silo)
  t.match(beyond, { reply: refusalOf('size', 1000), effects: [] })
  t.match(apply([], 'APPEND', 'Silo1', [given('a', 'x'.repeat(2000))], silo), {
    reply: refusalOf('size', 1000),
    effects: [],
  })
  t.match(apply([made.entity], 'UPDATE', 'Silo1', [given('a', 'z'.repeat(900))], silo), { effects: [{ kind: 'put' }] })
  const numbers = (number: number) => ({ ...given('a'), value: Array.from({ length: number }, () => []) })
  t.match(apply([], 'APPEND', 'Silo1', [numbers(201)], silo), { reply: refusalOf('values', 200), effects: [] })
  t.match(apply([], 'APPEND', 'Silo1', [numbers(200)], silo), { effects: [{ kind: 'put' }] })
  const many = Array.from({ length: 41 }, (_, at) => ({ name: `${at}`, type: '', value: '' }))
  const described = { ...given('a', '1'), metadata: many }
  t.match(apply([], 'APPEND', 'Silo1', [described], silo), { reply: refusalOf('metadata', 40), effects: [] })
  const four = ['a', 'b', 'c', 'd'].map((name) => given(name, '1'))
  t.match(apply([], 'APPEND', 'Silo1', four, silo), { reply: refusalOf('attributes', 3), effects: [] })
  const [grown] = applyUpdate([], command('APPEND', 'Silo1', [...four, given('e', 'x'.repeat(2000))], silo)).effects
  if (grown?.kind !== 'put') throw new Error('nothing was made')
  t.match(apply([grown.entity], 'DELETE', 'Silo1', [given('a')], silo), { effects: [{ kind: 'put' }] })
  t.match(apply([grown.entity], 'UPDATE', 'Silo1', [given('e', 'y'.repeat(1999))], silo), {
    effects: [{ kind: 'put' }],
  })
  t.match(apply([grown.entity], 'UPDATE', 'Silo1', [given('e', 'y'.repeat(2001))], silo), { effects: [] })
  const others = ['A', 'B'].map((name) => ({ ...made.entity, type: type(name) }))
  t.match(apply(others, 'APPEND', 'Silo1', [given('a', '1')], { type: type('C') }), {
    reply: { items: [{ refusal: { kind: 'typesTooMany', max: 2 } }] },
    effects: [],
  })
  t.match(apply(others, 'APPEND', 'Silo1', [given('a', '1')], { type: type('B') }), { effects: [{ kind: 'put' }] })
})
