import assert from 'node:assert/strict'
import { test } from 'tap'
import { applyUpdate } from '../../src/model/context/apply.js'
import type { Entity, Value } from '../../src/model/context/entity.js'
import type { GivenAttribute, UpdateAction, UpdateCommand } from '../../src/model/context/update.js'
import { command, given, metadata, type } from '../given.js'

/** An update of NGSIv2. */
function by(action: UpdateAction, attributes: readonly GivenAttribute[], overridesMetadata = false): UpdateCommand {
  const terms = { entity: 'either', typeOfNew: type('Thing'), overridesMetadata, forced: false } as const
  return command(action, 'Vat1', attributes, { terms })
}

function after(...commands: readonly UpdateCommand[]): readonly Entity[] {
  return commands.reduce<readonly Entity[]>((held, next) => {
    const { reply, effects } = applyUpdate(held, next)
    assert.deepEqual(
      reply.items.map(({ refusal }) => refusal),
      [undefined],
    )
    return effects.length === 0 ? held : effects.flatMap((effect) => (effect.kind === 'put' ? [effect.entity] : []))
  }, [])
}

/** The attribute that is the location. */
function located(held: readonly Entity[]): string | undefined {
  const [location, ...others] = held.flatMap(({ attributes }) => attributes.filter(({ isLocation }) => isLocation))
  assert.equal(others.length, 0)
  return location?.name
}

function refusal(held: readonly Entity[], next: UpdateCommand): unknown {
  const { reply, effects } = applyUpdate(held, next)
  assert.equal(effects.length, 0)
  const found = reply.items[0]?.refusal
  return found?.kind === 'termsUnmet' ? found.why : found
}

function json(name: string, longitude: number, ...flags: readonly string[]): GivenAttribute {
  const value = { type: 'Point', coordinates: [longitude, 2] }
  return given(name, value, { type: 'geo:json', metadata: flags.map((mark) => metadata(mark, true, 'Boolean')) })
}

function point(name: string, value: Value): GivenAttribute {
  return given(name, value, { type: 'geo:point' })
}

const note = given('note', 'x', { type: 'Text' })

test('each of the five types makes a location [NGSIv2 context 3.5]', async (t) => {
  const ring = ['0,0', '0,1', '1,1', '0,0']
  const all = [
    json('a', 1),
    point('a', '1,2'),
    given('a', ring, { type: 'geo:line' }),
    given('a', ['0,0', '1,1'], { type: 'geo:box' }),
    given('a', ring, { type: 'geo:polygon' }),
  ]
  for (const one of all) t.equal(located(after(by('APPEND', [one]))), 'a', one.type)
  t.equal(located(after(by('APPEND', [given('a', '1,2', { type: 'geo:circle' })]))), undefined)
})

test('a second location is refused when an entity is created, appended to or replaced [NGSIv2 context 3.5]', async (t) => {
  const held = after(by('APPEND', [json('here', 1), note]))
  const twice = { kind: 'locationsTooMany' }
  t.match(refusal([], by('APPEND', [json('a', 1), point('b', '1,2')])), twice)
  t.match(refusal(held, by('APPEND', [point('there', '1,2')])), { ...twice, name: 'there', held: 'here' })
  t.match(refusal(held, by('APPEND_STRICT', [point('there', '1,2')])), twice)
  t.match(refusal(held, by('APPEND', [point('note', '1,2')])), twice)
  t.match(refusal(held, by('REPLACE', [point('a', '1,2'), point('b', '1,2')])), twice)
  t.equal(located(after(by('APPEND', [json('here', 1)]), by('REPLACE', [point('a', '1,2')]))), 'a')
  t.equal(located(after(by('APPEND', [json('here', 1)]), by('APPEND', [json('here', 5), note]))), 'here')
})

test('an append may move the location when it takes it away from where it was, in any order', async (t) => {
  const gone = given('here', null, { type: 'geo:json' })
  for (const moving of [
    [gone, point('there', '1,2')],
    [point('there', '1,2'), gone],
  ]) {
    t.equal(located(after(by('APPEND', [json('here', 1)]), by('APPEND', moving))), 'there')
  }
})

test('an update takes the location over; the former one stays an ordinary attribute [NGSIv2 context 3.5]', async (t) => {
  const held = after(by('APPEND', [json('here', 1), note]), by('UPDATE', [point('note', '1,2')]))
  t.equal(located(held), 'note')
  t.match(held[0]?.attributes[0], { name: 'here', type: 'geo:json', value: json('here', 1).value, isLocation: false })
  const back = after(
    by('APPEND', [json('here', 1), note]),
    by('UPDATE', [point('note', '1,2')]),
    by('UPDATE', [json('here', 1)]),
  )
  t.equal(located(back), 'here')
})

test('another type, null, ignoreType and a removal take the location away [NGSIv2 context 3.5]', async (t) => {
  const created = by('APPEND', [json('here', 1)])
  t.equal(located(after(created, by('UPDATE', [given('here', 'gone', { type: 'Text' })]))), undefined)
  t.equal(located(after(created, by('UPDATE', [given('here', null, { type: 'geo:json' })]))), undefined)
  t.equal(located(after(created, by('UPDATE', [json('here', 1, 'ignoreType')]))), undefined)
  t.equal(located(after(created, by('UPDATE', [json('here', 1, 'otherwise')]))), 'here')
  t.equal(located(after(created, by('DELETE', [json('here', 1)]))), undefined)
})

test('a stored ignoreType counts until overrideMetadata takes it away [NGSIv2 context 3.5]', async (t) => {
  const created = by('APPEND', [json('here', 1, 'ignoreType')])
  t.equal(located(after(created)), undefined)
  t.equal(located(after(created, by('UPDATE', [json('here', 1)]))), undefined)
  t.equal(located(after(created, by('UPDATE', [json('here', 1)], true))), 'here')
})

test('the value of an ignored location is not looked at, but for being an object or null [NGSIv2 context 3.5]', async (t) => {
  const ignored = (kind: string, value: Value): UpdateCommand =>
    by('APPEND', [given('a', value, { type: kind, metadata: [metadata('ignoreType', true, 'Boolean')] })])
  t.equal(located(after(ignored('geo:point', 'somewhere'))), undefined)
  t.equal(located(after(ignored('geo:line', 7))), undefined)
  t.equal(located(after(ignored('geo:json', { type: 'Feature' }))), undefined)
  t.equal(located(after(ignored('geo:json', null))), undefined)
  for (const value of ['somewhere', 7, [1, 2]]) {
    t.match(refusal([], ignored('geo:json', value)), { kind: 'shapeMalformed', why: { kind: 'geoJsonNoObject' } })
  }
})

test('a value that is no shape says where it was to go [NGSIv2 context 3.5]', async (t) => {
  const malformed = (when: string): object => ({
    kind: 'shapeMalformed',
    name: 'note',
    when,
    why: { kind: 'pointMalformed', text: 'north' },
  })
  const held = after(by('APPEND', [note]))
  const placed = after(by('APPEND', [point('note', '1,2')]))
  const north = [point('note', 'north')]
  t.same(refusal([], by('APPEND', north)), malformed('other'))
  t.same(refusal(after(by('APPEND', [])), by('APPEND', north)), malformed('newAttribute'))
  t.same(refusal(held, by('APPEND', north)), malformed('existingAttribute'))
  t.same(refusal(placed, by('APPEND', north)), malformed('other'))
  t.same(refusal(held, by('UPDATE', north)), malformed('other'))
  t.same(refusal(held, by('REPLACE', north)), malformed('other'))
})

test('metadata location of NGSIv2 never makes a location, the mark of NGSIv1 keeps one [NGSIv2 context 14.4]', async (t) => {
  t.equal(located(after(by('APPEND', [{ ...note, metadata: [metadata('location', 'WGS84', 'Text')] }]))), undefined)
  const marked = after(command('APPEND', 'Vat1', [given('here', '1,2', { type: 'coords', location: 'WGS84' })]))
  t.match(refusal(marked, by('UPDATE', [json('here', 1)])), { kind: 'shapeMalformed', why: { kind: 'pointMalformed' } })
  t.match(refusal(marked, by('UPDATE', [given('here', null, { type: 'None' })])), { why: { text: 'null' } })
  t.match(refusal(marked, by('APPEND', [point('there', '1,2')])), { kind: 'locationsTooMany' })
  const step = (next: UpdateCommand): string | undefined =>
    located(applyUpdate(marked, next).effects.flatMap((effect) => (effect.kind === 'put' ? [effect.entity] : [])))
  t.equal(step(by('UPDATE', [given('here', '3,4', { type: 'Text' })])), 'here')
  t.equal(step(by('UPDATE', [json('here', 1)], true)), 'here')
  t.equal(step(by('UPDATE', [given('here', '3,4', { type: 'Text' })], true)), undefined)
})
