import { type Test, test } from 'tap'
import { renderEntity } from '../../../src/api/ngsi1/render/elements.js'
import { ChangeViews } from '../../../src/api/ngsi2/render/change-view.js'
import { attributesText, attributeText, entityText } from '../../../src/api/ngsi2/render/entity-text.js'
import type { Attribute, Entity, Tenant } from '../../../src/model/context/entity.js'
import { showing } from '../../../src/model/context/entity-forms.js'
import { heapSize } from '../../../src/model/context/heap-size.js'
import { attributeOf } from '../../../src/model/context/large/large-attribute.js'
import { LargeEntity } from '../../../src/model/context/large/large-entity.js'
import { LargeValue } from '../../../src/model/context/large/large-value.js'
import { measureText } from '../../../src/model/context/large/text-measure.js'
import { alterationFor, type Change } from '../../../src/model/subscription/change.js'
import type { BodyTerms } from '../../../src/model/subscription/message.js'
import type { SubscriptionId } from '../../../src/model/subscription/subscription.js'
import { encodeEntity } from '../../../src/storage/records/record.js'
import { attribute, entity } from '../../context/given-entity.js'

const value = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, [at, { b: '"' }]]))
const isMade = new Error('the value was materialised')

/** The value by its text alone: whoever materialises it fails. */
function written(text = JSON.stringify(value)): LargeValue {
  return LargeValue.written(text, measureText(text, 0), () => {
    throw isMade
  })
}

function holder(held: Attribute): Entity {
  return entity({ attributes: [held, attribute('b', 'x')] })
}

const plain = holder(attribute('a', value))
const large = LargeEntity.of(holder(attributeOf({ ...attribute('a', null), value: written() }))) ?? plain

/** Gives the same of both entities, and materialises nothing of the large one. */
function same(t: Test, what: string, of: (entity: Entity) => unknown): void {
  t.strictSame(of(large), of(plain), what)
}

test('responses show a large value by its text, without materialising it', async (t) => {
  for (const form of ['normalized', 'keyValues', 'values', 'unique'] as const) {
    const representation = { form, attributes: [], metadata: ['*', 'dateCreated'] }
    same(t, form, (each) => entityText(each, representation))
    same(t, `${form} of attributes`, (each) => attributesText(each, { ...representation, attributes: ['a'] }))
  }
  for (const form of ['normalized', 'keyValues'] as const) {
    same(t, `${form} of one`, ({ attributes: [a] }) => a && attributeText(a, form, []))
  }
  for (const asObject of [true, false]) same(t, 'NGSIv1', (each) => renderEntity(each, [], { asObject }))
})

test('notifications show a large value by its text, without materialising it', async (t) => {
  for (const format of ['normalized', 'keyValues', 'values', 'simplifiedNormalized', 'simplifiedKeyValues'] as const) {
    for (const onlyChanged of [true, false]) {
      same(t, format, (each) => new ChangeViews().of(changeOf(each, each)).body(termsOf(format, onlyChanged)))
    }
  }
  t.ok(new ChangeViews().of(changeOf(large, large)).body(termsOf('keyValues', true))?.includes('"k99":'))
})

function changeOf(before: Entity, after: Entity): Change {
  const given = [{ name: 'a' }]
  return { kind: 'put', tenant: '' as Tenant, before, entity: after, changed: ['a'], given, isForced: false }
}

function termsOf(format: BodyTerms['notification']['format'], onlyChanged: boolean): BodyTerms {
  const target = { kind: 'http', timeout_ms: 0, custom: undefined } as const
  const id = '5718a2f1c0de000000000000' as SubscriptionId
  const metadata = ['*', 'previousValue', 'actionType']
  const notification = { target, format, excepts: false, onlyChanged, covered: false, metadata }
  return { id, attributes: [], notification, onMetadata: false }
}

test('whether only metadata have changed is told by the texts of large values', async (t) => {
  const held = { ...attribute('a', null), metadata: [{ name: 'm', type: 'Text', value: 'new' }] }
  const after = holder(attributeOf({ ...held, value: written() }))
  t.equal(alterationFor(changeOf(large, after), false), 'entityUpdate')
  const other = written(JSON.stringify({ ...value, k99: [99, { b: "'" }] }))
  t.equal(alterationFor(changeOf(large, holder(attributeOf({ ...held, value: other }))), false), 'entityChange')
})

test('a page stores, and a cache weighs, a large value without materialising it', async (t) => {
  same(t, 'all', encodeEntity)
  same(t, 'some', (each) => encodeEntity(showing(each, each.attributes.slice(0, 1))))
  t.ok(heapSize([large]) >= heapSize([plain]), 'what it may become')
})
