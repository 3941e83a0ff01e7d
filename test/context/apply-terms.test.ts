import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { applyUpdate } from '../../src/model/context/apply.js'
import type { Attribute, Entity } from '../../src/model/context/entity.js'
import type {
  GivenAttribute,
  UpdateAction,
  UpdateCommand,
  UpdateReply,
  UpdateTerms,
} from '../../src/model/context/update.js'
import { command, given, metadata, type } from '../given.js'

const plain: UpdateTerms = {
  entity: 'either',
  typeOfNew: type('Thing'),
  overridesMetadata: false,
  forced: false,
}

/** An update of NGSIv2. */
function by(
  action: UpdateAction,
  attributes: readonly GivenAttribute[],
  terms: Partial<UpdateTerms> = {},
  more: Partial<UpdateCommand> = {},
): UpdateCommand {
  return command(action, 'Vat1', attributes, { terms: { ...plain, ...terms }, ...more })
}

function step(held: readonly Entity[], next: UpdateCommand): readonly Entity[] {
  return applyUpdate(held, next).effects.reduce<readonly Entity[]>((entities, effect) => {
    const rest = entities.filter(({ sequence }) => sequence !== effect.entity.sequence)
    return effect.kind === 'put' ? [...rest, effect.entity].sort((a, b) => a.sequence - b.sequence) : rest
  }, held)
}

function after(...commands: readonly UpdateCommand[]): readonly Entity[] {
  return commands.reduce(step, [])
}

function replyTo(held: readonly Entity[], next: UpdateCommand): UpdateReply {
  return applyUpdate(held, next).reply
}

function refusalOf(held: readonly Entity[], next: UpdateCommand): unknown {
  const { reply, effects } = applyUpdate(held, next)
  assert.deepEqual(effects, [])
  return reply.items[0]?.refusal
}

function attributeOf(held: readonly Entity[], name: string): Attribute {
  const found = held[0]?.attributes.find((attribute) => attribute.name === name)
  assert(found)
  return found
}

const heat = given('heat', 61.5, { type: 'Number' })
const lid = given('lid', 'open', { type: 'Text' })
const unmet = (kind: string, facts = {}) => ({ kind: 'termsUnmet', why: { kind, ...facts } })

test('an entity is created with the type of the terms when none is given [NGSIv2 context 2.1]', async (t) => {
  t.match(after(by('APPEND', [heat])), [{ type: 'Thing', attributes: [{ name: 'heat', value: 61.5 }] }])
  t.match(after(by('APPEND', [heat], {}, { type: type('Vat') })), [{ type: 'Vat' }])
})

test('a creation refuses an entity that is there; what has to be there is not created [NGSIv2 context 8.2, 8.5]', async (t) => {
  const held = after(by('APPEND', [heat], { entity: 'absent' }))
  t.match(refusalOf(held, by('APPEND', [lid], { entity: 'absent' })), unmet('entityExists'))
  for (const action of ['APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE'] as const) {
    t.match(refusalOf([], by(action, [lid], { entity: 'present' })), { kind: 'entityUnknown' }, action)
  }
})

test('an element without a type means the one entity of its id, or is ambiguous [NGSIv2 context 2.1]', async (t) => {
  const vat = by('APPEND', [heat], {}, { type: type('Vat') })
  const tub = by('APPEND', [heat], {}, { type: type('Tub') })
  t.match(replyTo(after(vat), by('UPDATE', [given('heat', 1)])).items, [{ type: 'Vat' }])
  for (const action of ['APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE'] as const) {
    t.match(refusalOf(after(vat, tub), by(action, [heat])), unmet('entityAmbiguous'), action)
  }
  t.match(replyTo(after(vat, tub), by('UPDATE', [given('heat', 1)], {}, { type: type('Tub') })).items, [
    { type: 'Tub' },
  ])
})

test('value and type are those given, metadata are merged or replaced [NGSIv2 context 2.2, 2.3]', async (t) => {
  const first = given('heat', 61.5, {
    type: 'Number',
    metadata: [metadata('a', 1, 'Number'), metadata('b', 2, 'Number')],
  })
  const held = after(by('APPEND', [first]))
  const next = given('heat', null, { type: 'None', metadata: [metadata('b', 'x', 'Text')] })
  t.match(attributeOf(step(held, by('UPDATE', [next])), 'heat'), {
    type: 'None',
    value: null,
    metadata: [metadata('a', 1, 'Number'), metadata('b', 'x', 'Text')],
  })
  const overriding = { overridesMetadata: true }
  t.same(attributeOf(step(held, by('UPDATE', [next], overriding)), 'heat').metadata, [metadata('b', 'x', 'Text')])
  t.same(attributeOf(step(held, by('UPDATE', [heat], overriding)), 'heat').metadata, [])
})

test('an update without any change writes nothing, a forced one everything that it gives [NGSIv2 context 2.4]', async (t) => {
  const held = after(by('APPEND', [heat, lid]))
  t.same(applyUpdate(held, by('UPDATE', [heat])).effects, [])
  const { effects } = applyUpdate(held, by('UPDATE', [heat], { forced: true }))
  t.match(effects, [{ kind: 'put', changed: ['heat'] }])
  const [effect] = effects
  assert(effect?.kind === 'put')
  t.ok(effect.entity.modified > (held[0]?.modified ?? 0))
  t.equal(attributeOf([effect.entity], 'heat').created, attributeOf(held, 'heat').created)
  t.equal(attributeOf([effect.entity], 'lid'), attributeOf(held, 'lid'))
})

test('a replace starts from nothing [NGSIv2 context 2.3, 8.5]', async (t) => {
  const held = after(by('APPEND', [given('heat', 1, { type: 'Number', metadata: [metadata('a', 1, 'Number')] }), lid]))
  const replaced = step(held, by('REPLACE', [given('heat', { $inc: 3 }, { type: 'Number' })]))
  t.match(replaced[0]?.attributes, [{ name: 'heat', value: 3, metadata: [] }])
  t.equal(replaced[0]?.created, held[0]?.created)
  t.ok(attributeOf(replaced, 'heat').created > attributeOf(held, 'heat').created)
})

test('of refused attributes the others are done, and the reply tells which were refused [NGSIv2 context 8.5]', async (t) => {
  const held = after(by('APPEND', [heat]))
  const both = [given('smell', 'none', { type: 'Text' }), given('heat', 70, { type: 'Number' })]
  t.match(replyTo(held, by('UPDATE', both)), { items: [{ shown: [1] }], missing: [{ shown: [0] }] })
  t.match(replyTo(held, by('UPDATE', [both[0] ?? heat])), { items: [{ refusal: { kind: 'attributeUnknown' } }] })
  t.match(replyTo(held, by('APPEND_STRICT', both)).items, [
    { shown: [0] },
    { refusal: { kind: 'attributesExist', names: ['heat'] } },
  ])
})

test('operators are resolved on what earlier updates left; one that does not fit leaves the entity as it was [NGSIv2 context 12]', async (t) => {
  const held = after(by('APPEND', [heat, lid]), by('UPDATE', [given('heat', { $inc: 1 }, { type: 'Number' })]))
  t.equal(attributeOf(held, 'heat').value, 62.5)
  const unfit = [given('heat', 0, { type: 'Number' }), given('lid', { $mul: 2 }, { type: 'Text' })]
  t.same(refusalOf(held, by('UPDATE', unfit)), unmet('operatorUnfit', { operator: '$mul', name: 'lid' }))
  const equal = applyUpdate(held, by('UPDATE', [given('heat', { $max: 1 }, { type: 'Number' })])).effects
  t.match(equal, [{ kind: 'put', changed: ['heat'] }], 'what it leaves equal has changed')
  t.same(attributesNamed(step(held, by('APPEND', [given('new', { $pull: 1 }, { type: 'StructuredValue' })]))), [
    'heat',
    'lid',
  ])
})

function attributesNamed([entity]: readonly Entity[]): readonly string[] {
  return (entity?.attributes ?? []).map(({ name, instance }) => (instance === '' ? name : `${name}/${instance}`))
}

const barn = command('APPEND', 'Vat1', [
  given('wet', '71', { ID: 'south' }),
  given('wet', '64', { ID: 'north', metadata: [metadata('acc', '0.5', 'float')] }),
  given('door', 'open'),
])

test('a name means the instance with the smallest ID, an ID that instance [NGSIv2 context 14.3]', async (t) => {
  const held = after(barn)
  const values = (entities: readonly Entity[]): unknown =>
    Object.fromEntries(
      (entities[0]?.attributes ?? []).map(({ name, instance, value }) => [`${name}/${instance}`, value]),
    )
  t.match(values(step(held, by('UPDATE', [given('wet', 65)]))), { 'wet/north': 65, 'wet/south': '71' })
  t.match(values(step(held, by('UPDATE', [given('wet', 72, { ID: 'south' })]))), { 'wet/north': '64', 'wet/south': 72 })
  t.match(values(step(held, by('APPEND', [given('wet', 1, { ID: 'east' })]))), { 'wet/east': 1, 'wet/north': '64' })
  t.match(refusalOf(held, by('UPDATE', [given('wet', 1, { ID: 'east' })])), { kind: 'attributeUnknown', name: 'wet' })
})

test('an ID joins a name without one, overridden metadata keep it, DELETE removes all instances [NGSIv2 context 14.3]', async (t) => {
  t.same(attributesNamed(step(after(barn), by('UPDATE', [given('door', 1, { ID: 'west' })]))), [
    'door/west',
    'wet/north',
    'wet/south',
  ])
  const overridden = step(after(barn), by('UPDATE', [given('wet', '64')], { overridesMetadata: true }))
  t.match(overridden[0]?.attributes[1], { name: 'wet', instance: 'north', metadata: [] })
  t.same(attributesNamed(step(after(barn), by('DELETE', [given('wet')]))), ['door'])
  t.same(attributesNamed(step(after(barn), by('REPLACE', [given('wet', 9)]))), ['wet'])
})

test('many attributes are found as few are', async (t) => {
  const many = Array.from({ length: 40 }, (_, number) => given(`a${number}`, number, { type: 'Number' }))
  const held = after(by('APPEND', [...many, given('wet', 1, { ID: 'x' }), given('dry', 1)]))
  t.match(attributeOf(step(held, by('UPDATE', [given('wet', 2)])), 'wet'), { instance: 'x', value: 2 })
  t.match(attributeOf(step(held, by('UPDATE', [given('dry', 2, { ID: 'y' })])), 'dry'), { instance: 'y', value: 2 })
  t.match(refusalOf(held, by('APPEND_STRICT', [given('a7', 1)])), { kind: 'attributesExist', names: ['a7'] })
})

test('PUT of a value leaves type and metadata, and the stored type reads the value [NGSIv2 context 9.3]', async (t) => {
  const when = given('when', 0, { type: 'DateTime', metadata: [metadata('a', 1, 'Number')] })
  const held = after(by('APPEND', [when, lid, given('free', '<', { type: 'TextUnrestricted' })]))
  const put = (name: string, value: unknown, valueOnly: UpdateTerms['valueOnly'] = 'plain') =>
    by('UPDATE', [given(name, JSON.parse(JSON.stringify(value)))], {
      entity: 'present',
      valueOnly,
      overridesMetadata: true,
    })
  t.match(attributeOf(step(held, put('when', '1970-01-02')), 'when'), { ...when, instance: '', value: 86_400 })
  t.match(attributeOf(step(held, put('when', { $max: '1970-01-03' })), 'when'), { type: 'DateTime', value: 172_800 })
  t.match(attributeOf(step(held, put('when', null)), 'when'), { value: null })
  for (const value of ['soon', 5, [1], { $inc: 1 }]) {
    t.same(refusalOf(held, put('when', value)), unmet('dateMalformed', { name: 'when' }))
  }
  t.match(attributeOf(step(held, put('lid', { $set: 5 })), 'lid'), { type: 'Text', value: 5 })
  t.same(refusalOf(held, put('lid', '<', 'forbiddenCharacters')), unmet('valueForbidden', { name: 'lid' }))
  t.match(attributeOf(step(held, put('free', '<<', 'forbiddenCharacters')), 'free'), { value: '<<' })
})

test('to a stored date NGSIv1 writes a date or any text [NGSIv2 context 14.2]', async (t) => {
  const held = after(by('APPEND', [given('when', 0, { type: 'DateTime' })]))
  const wrote = (text: string) => attributeOf(step(held, command('UPDATE', 'Vat1', [given('when', text)])), 'when')
  t.match(wrote('1970-01-02T01:00+01:00'), { type: 'DateTime', value: 86_400 })
  t.match(wrote('soon'), { type: 'DateTime', value: 'soon' })
  const empty = after(by('APPEND', [given('when', null, { type: 'DateTime' })]))
  const filled = step(empty, command('UPDATE', 'Vat1', [given('when', '1970-01-02')]))
  t.match(attributeOf(filled, 'when'), { type: 'DateTime', value: 86_400 })
  const texts = after(command('APPEND', 'Vat1', [given('when', '1970-01-02', { type: 'DateTime' })]))
  t.match(attributeOf(step(texts, command('UPDATE', 'Vat1', [given('when', '1970-01-03')])), 'when'), {
    value: '1970-01-03',
  })
})

test('a geo:point is the location by its type; ignoreType, null and another type are none [NGSIv2 context 3.5]', async (t) => {
  const here = given('here', '48.2, 16.37', { type: 'geo:point' })
  t.equal(attributeOf(after(by('APPEND', [here])), 'here').isLocation, true)
  const ignored = { ...here, metadata: [metadata('ignoreType', true, 'Boolean')] }
  t.equal(attributeOf(after(by('APPEND', [ignored])), 'here').isLocation, false)
  t.equal(attributeOf(after(by('APPEND', [{ ...here, value: null }])), 'here').isLocation, false)
  t.equal(
    attributeOf(after(by('APPEND', [here]), by('UPDATE', [given('here', 'x', { type: 'Text' })])), 'here').isLocation,
    false,
  )
})

test('the mark of NGSIv1 stays until overrideMetadata takes it [NGSIv2 context 14.4]', async (t) => {
  const held = after(command('APPEND', 'Vat1', [given('here', '48.2, 16.37', { type: 'coords', location: 'WGS84' })]))
  const moved = given('here', '41.3, 2.1', { type: 'coords' })
  t.match(refusalOf(held, by('UPDATE', [given('here', 'north', { type: 'coords' })])), unmet('shapeMalformed'))
  t.equal(attributeOf(step(held, by('UPDATE', [moved])), 'here').isLocation, true)
  t.equal(attributeOf(step(held, by('UPDATE', [moved], { overridesMetadata: true })), 'here').isLocation, false)
})

test('ordinary metadata location goes when the attribute has the mark of NGSIv1 [NGSIv2 context 14.4]', async (t) => {
  const ordinary = metadata('location', 'hall', 'Text')
  const coordinates = { type: 'coords', metadata: [ordinary, metadata('unit', 'm', 'Text')] }
  const marked = after(command('APPEND', 'Vat1', [given('here', '1, 2', { type: 'coords', location: 'WGS84' })]))
  const names = (held: readonly Entity[]) => attributeOf(held, 'here').metadata.map(({ name }) => name)
  t.same(names(step(marked, by('UPDATE', [given('here', '3, 4', coordinates)]))), ['unit'])
  t.same(names(step(marked, by('UPDATE', [given('here', '3, 4', coordinates)], { overridesMetadata: true }))), [
    'location',
    'unit',
  ])
  const wroteAsRead = by('UPDATE', [given('here', '1, 2', { type: 'coords', metadata: [ordinary] })])
  t.same(applyUpdate(marked, wroteAsRead).effects, [])
  const unmarked = after(by('APPEND', [given('here', '1, 2', coordinates)]))
  t.same(names(unmarked), ['location', 'unit'])
  t.same(names(step(unmarked, command('UPDATE', 'Vat1', [given('here', '1, 2', { location: 'WGS84' })]))), ['unit'])
})

test('ordinary metadata ID goes when the attribute is an instance [NGSIv2 context 14.3]', async (t) => {
  const ordinary = metadata('ID', 5, 'Number')
  const held = after(by('APPEND', [given('heat', 1, { type: 'Number', metadata: [ordinary] })]))
  t.same(attributeOf(held, 'heat').metadata, [ordinary])
  const named = step(held, by('UPDATE', [given('heat', 1, { type: 'Number', ID: 'q' })]))
  t.match(attributeOf(named, 'heat'), { instance: 'q', metadata: [] })
  const again = by('UPDATE', [given('heat', 2, { type: 'Number', metadata: [ordinary] })])
  t.match(attributeOf(step(named, again), 'heat'), { instance: 'q', value: 2, metadata: [] })
})

test('an entity notes the root of the correlator of the last update [NGSIv2 subscriptions 4.4]', async (t) => {
  const from = (correlator: string) => ({ origin: { correlator, token: '' } })
  const created = after(by('APPEND', [heat, lid], {}, from('root1; cbnotif=2')))
  t.equal(created[0]?.correlator, 'root1')
  t.equal(step(created, command('UPDATE', 'Vat1', [given('heat', '5')], from('root2')))[0]?.correlator, 'root2')
  t.equal(step(created, by('DELETE', [lid], {}, from('root3')))[0]?.correlator, 'root3')
  t.equal(step(created, by('REPLACE', [lid], {}, from('root4')))[0]?.correlator, 'root4')
  t.equal(after(by('APPEND', [], {}, from('x'.repeat(1000))))[0]?.correlator, 'x'.repeat(256))
})

test('merged metadata are those held and those given, of one name those given', async () => {
  const element = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    type: fc.constant('Number'),
    value: fc.integer(),
  })
  const elements = fc.uniqueArray(element, { selector: ({ name }) => name })
  fc.assert(
    fc.property(elements, elements, (first, second) => {
      const held = after(by('APPEND', [given('heat', 1, { type: 'Number', metadata: first })]))
      const merged = attributeOf(
        step(held, by('UPDATE', [given('heat', 2, { type: 'Number', metadata: second })])),
        'heat',
      )
      const expected = new Map([...first, ...second].map(({ name, value }) => [name, value]))
      assert.deepEqual(new Map(merged.metadata.map(({ name, value }) => [name, value])), expected)
      const names = merged.metadata.map(({ name }) => name)
      assert.deepEqual(names, [...names].sort())
    }),
  )
})
