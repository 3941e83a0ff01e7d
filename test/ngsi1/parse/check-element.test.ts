import fc from 'fast-check'
import { test } from 'tap'
import { checkElement } from '../../../src/api/ngsi1/parse/check-element.js'
import type { EntityId, EntityType, ServicePath } from '../../../src/model/context/entity.js'
import type { GivenAttribute, UpdateAction } from '../../../src/model/context/update.js'
import { updateActions } from '../../../src/model/context/update.js'
import { runs } from '../../runs.js'
import { givenAttribute } from '../given.js'

function check(attributes: readonly GivenAttribute[], more: object = {}, action: UpdateAction = 'UPDATE', path = '/') {
  const element = { id: 'Silo1' as EntityId, type: 'Silo' as EntityType, isPattern: false, attributes, ...more }
  return checkElement(element, action, path as ServicePath)
}

const level = givenAttribute('level')
const north = givenAttribute('level', { instance: 'north' })
const nothing = givenAttribute('empty', { type: '', metadata: [] })
const { value: _, ...empty } = nothing

test('one attribute twice is refused and the first of the two is shown', async (t) => {
  const other = givenAttribute('level', { type: 'litres' })
  t.same(check([givenAttribute('a'), level, other]), {
    refusal: { kind: 'attributeTwice', name: 'level' },
    shown: [level],
  })
  t.match(check([north, givenAttribute('level', { instance: 'north', value: '2' })]), { shown: [north] })
  t.equal(check([north, givenAttribute('level', { instance: 'south' })]), undefined)
})

test('no two different instances are taken for one', async () => {
  const text = fc.string({ maxLength: 3, unit: fc.constantFrom('a', '1', ':', '\0') })
  fc.assert(
    fc.property(text, text, text, text, (name, instance, otherName, otherInstance) => {
      const refusal = check([
        givenAttribute(name, { instance }),
        givenAttribute(otherName, { instance: otherInstance }),
      ])
      return (refusal?.refusal.kind === 'attributeTwice') === (name === otherName && instance === otherInstance)
    }),
    { numRuns: runs(2000) },
  )
})

test('a name with and without ID is refused under every action, by the first such name', async (t) => {
  for (const action of updateActions) {
    const attributes = [givenAttribute('a'), givenAttribute('b', { instance: 'x' }), north, level]
    t.same(check(attributes, {}, action), {
      refusal: { kind: 'instancesMixedInRequest', name: 'level' },
      shown: attributes,
    })
  }
})

test('a pattern is refused without attributes', async (t) => {
  t.same(check([level, empty], { isPattern: true }), { refusal: { kind: 'patternInUpdate' }, shown: [] })
})

test('an attribute with nothing but a name is refused except in DELETE', async (t) => {
  for (const action of updateActions) {
    const refusal =
      action === 'DELETE' ? undefined : { refusal: { kind: 'attributeEmpty', name: 'empty' }, shown: [empty] }
    t.same(check([level, empty], {}, action), refusal)
  }
  t.equal(check([{ ...empty, value: '' }]), undefined)
  t.equal(check([{ ...empty, type: 'a' }]), undefined)
  t.equal(check([{ ...empty, instance: 'a' }]), undefined)
  t.equal(check([{ ...empty, location: 'WGS84' }]), undefined)
  t.equal(check([{ ...empty, metadata: [{ name: 'a', type: '', value: '1' }] }]), undefined)
})

test('id, type and path may have 1024 bytes together', async (t) => {
  const refusal = { refusal: { kind: 'keyTooLong' }, shown: [level] }
  t.equal(check([level], { id: 'é'.repeat(509), type: 'abcd' }, 'APPEND', '/a'), undefined)
  t.same(check([level], { id: 'é'.repeat(509), type: 'abcde' }, 'APPEND', '/a'), refusal)
  t.same(check([level], { id: 'a'.repeat(1024) }, 'APPEND', '/a'), refusal)
})

test('the first row that holds decides', async (t) => {
  const all = [level, level, north, empty]
  const long = { id: 'a'.repeat(2000), isPattern: true }
  t.match(check(all, long), { refusal: { kind: 'attributeTwice' } })
  t.match(check(all.slice(1), long), { refusal: { kind: 'instancesMixedInRequest' } })
  t.match(check(all.slice(2), long), { refusal: { kind: 'patternInUpdate' } })
  t.match(check(all.slice(2), { ...long, isPattern: false }), { refusal: { kind: 'attributeEmpty' } })
})

test('an element has no more attributes than an entity may have, and one with more is not looked at', async (t) => {
  const many = Array.from({ length: 5000 }, (_, at) => givenAttribute('a', { instance: String(at) }))
  t.equal(check(many), undefined)
  t.match(check([...many.slice(1), givenAttribute('a', { instance: '4999' })]), { refusal: { kind: 'attributeTwice' } })
  t.match(check([...many, givenAttribute('a', { instance: '4999' })]), {
    refusal: { kind: 'entityTooLarge', what: 'attributes', max: 5000 },
    shown: [],
  })
  const metadata = Array.from({ length: 10_001 }, (_, at) => ({ name: `${at}`, type: '', value: '1' }))
  t.match(check([{ ...givenAttribute('a'), metadata }]), { refusal: { what: 'metadata', max: 10_000 }, shown: [] })
})
