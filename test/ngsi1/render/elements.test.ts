import fc from 'fast-check'
import { test } from 'tap'
import {
  renderEcho,
  renderElement,
  renderEntity,
  renderItem,
  renderNotice,
  renderStored,
} from '../../../src/api/ngsi1/render/elements.js'
import { okStatus, statusOf } from '../../../src/api/ngsi1/render/status.js'
import type { Attribute, ServicePath, Tenant } from '../../../src/model/context/entity.js'
import type { GivenAttribute } from '../../../src/model/context/update.js'
import type { Subscription, SubscriptionId } from '../../../src/model/subscription/subscription.js'
import type { Milliseconds } from '../../../src/time.js'
import { unicodeText } from '../../unicode-text.js'
import { attribute, entity, givenAttribute } from '../given.js'

const text = fc.oneof(unicodeText({ maxLength: 5 }), fc.string({ maxLength: 5 }), fc.constant('ID'))

const array = { asObject: false }
const object = { asObject: true }

const given = fc.record({
  name: text,
  instance: text,
  type: fc.oneof(text, fc.constant('geo:point')),
  metadata: fc.array(fc.record({ name: text, type: text, value: text }), { maxLength: 3 }),
})
const locatedGiven = fc.oneof(
  given,
  fc.tuple(given, text).map(([held, location]) => ({ ...held, location })),
)

/** What an echo says, as an object: the rules of [context 6.3] written down once more, plainly. */
function echoed({ name, instance, type, location, metadata }: GivenAttribute) {
  const metadatas = [
    ...(instance === '' ? [] : [{ name: 'ID', type: 'string', value: instance }]),
    ...(location === undefined || type === 'geo:point' ? [] : [{ name: 'location', type: 'string', value: location }]),
    ...metadata,
  ]
  return { name, type, value: '', ...(metadatas.length > 0 && { metadatas }) }
}

test('an echo is the text of the object that it stands for', async () => {
  fc.assert(
    fc.property(
      text,
      text,
      fc.boolean(),
      fc.array(locatedGiven, { maxLength: 3 }),
      (id, type, isPattern, attributes) => {
        const expected = {
          type,
          isPattern: String(isPattern),
          id,
          ...(attributes.length > 0 && { attributes: attributes.map(echoed) }),
        }
        return renderElement({ id, type, isPattern }, renderEcho(attributes, array)) === JSON.stringify(expected)
      },
    ),
  )
})

test('as an object, attributes are keyed by name, and of instances the one with the smallest ID is shown', async (t) => {
  const attributes = [
    givenAttribute('level', { instance: 'b' }),
    givenAttribute('__proto__'),
    givenAttribute('level', { instance: 'a' }),
  ]
  t.equal(
    renderEcho(attributes, object),
    '"attributes":{"level":{"type":"percent","value":"","metadatas":[{"name":"ID","type":"string","value":"a"}]},' +
      '"__proto__":{"type":"percent","value":""}}',
  )
})

function rendered(...attributes: readonly Attribute[]): unknown {
  const read: { readonly attributes?: unknown } = JSON.parse(`{${renderStored(attributes, array)}}`)
  return read.attributes
}

test('ID comes before location and location before the other metadata', async (t) => {
  const metadata = [{ name: 'accuracy', type: 'float', value: '0.8' }]
  t.same(rendered(attribute('position', '1, 2', { type: 'coords', instance: 'x', isLocation: true, metadata })), [
    {
      name: 'position',
      type: 'coords',
      value: '1, 2',
      metadatas: [
        { name: 'ID', type: 'string', value: 'x' },
        { name: 'location', type: 'string', value: 'WGS84' },
        { name: 'accuracy', type: 'float', value: '0.8' },
      ],
    },
  ])
})

test('an attribute of type geo:point is a location without metadata', async (t) => {
  t.same(rendered(attribute('position', '1, 2', { type: 'geo:point', isLocation: true })), [
    { name: 'position', type: 'geo:point', value: '1, 2' },
  ])
  const geometry = { type: 'Point', coordinates: [2, 1] }
  t.same(rendered(attribute('position', geometry, { type: 'geo:json', isLocation: true })), [
    { name: 'position', type: 'geo:json', value: geometry },
  ])
})

test('values keep their JSON kind', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), (json) => {
      const value = JSON.parse(JSON.stringify(json)) as Attribute['value']
      const stored = attribute('a', value, { type: 't', metadata: [{ name: 'm', type: 't', value }] })
      const expected = [{ name: 'a', type: 't', value, metadatas: [{ name: 'm', type: 't', value }] }]
      return renderStored([stored], array) === `"attributes":${JSON.stringify(expected)}`
    }),
  )
})

test('the number of a date is shown as ISO 8601', async (t) => {
  const date = (type: string, value: number) => rendered(attribute('seen', value, { type }))
  t.match(date('DateTime', 1497684084.238), [{ value: '2017-06-17T07:21:24.238Z' }])
  t.match(date('ISO8601', 0), [{ value: '1970-01-01T00:00:00.000Z' }])
  t.match(date('Number', 5), [{ value: 5 }])
  t.match(date('DateTime', 1e300), [{ value: 1e300 }], 'no date has this number')
})

test('an entity is shown with the attributes named, and without the member when it has none to show', async (t) => {
  const silo = entity('Silo1', 'Silo', attribute('humidity', '40'), attribute('level', '64'))
  t.same(JSON.parse(renderEntity(silo, ['level', 'smell'], array)), {
    type: 'Silo',
    isPattern: 'false',
    id: 'Silo1',
    attributes: [{ name: 'level', type: 'percent', value: '64' }],
  })
  t.same(JSON.parse(renderEntity(silo, ['smell'], object)), { type: 'Silo', isPattern: 'false', id: 'Silo1' })
})

test('an item has its status, and attributes when there are some', async (t) => {
  t.equal(renderItem('', okStatus), '{"statusCode":{"code":"200","reasonPhrase":"OK"}}')
  t.same(JSON.parse(renderItem(renderStored([attribute('a', '1')], object), statusOf(404, '<&>'))), {
    attributes: { a: { type: 'percent', value: '1' } },
    statusCode: { code: '404', reasonPhrase: 'No context element found', details: '<&>' },
  })
})

function subscription(...attributes: readonly string[]): Subscription {
  return {
    id: '5718a2f1c0de00112233aabb' as SubscriptionId,
    order: 1,
    tenant: '' as Tenant,
    path: { path: '/' as ServicePath, below: true },
    selectors: [],
    attributes,
    reference: 'http://alerts.example:8080/inbox',
    expires: 0 as Milliseconds,
    throttling_ms: 0,
    onChange: [],
    interval_ms: undefined,
    scopes: [],
  }
}

test('a notification has its members in the order of the document', async (t) => {
  const accuracy = { name: 'accuracy', type: 'float', value: '0.2' }
  const airTemp = attribute('airTemp', '21.4', { type: 'float', metadata: [accuracy] })
  t.equal(
    renderNotice(subscription('airTemp'), [entity('Greenhouse-7', 'Greenhouse', airTemp, attribute('co2', '410'))]),
    '{"subscriptionId":"5718a2f1c0de00112233aabb","originator":"localhost","contextResponses":[' +
      '{"contextElement":{"type":"Greenhouse","isPattern":"false","id":"Greenhouse-7","attributes":[' +
      '{"name":"airTemp","type":"float","value":"21.4",' +
      '"metadatas":[{"name":"accuracy","type":"float","value":"0.2"}]}' +
      ']},"statusCode":{"code":"200","reasonPhrase":"OK"}}]}',
  )
})

test('types without a name and empty values are empty texts, compound values are JSON', async (t) => {
  const attributes = [
    attribute('a', '', { type: '' }),
    attribute('b', { deep: ['1', { x: '"' }] }),
    attribute('c', { empty: [] }),
  ]
  const body: unknown = JSON.parse(renderNotice(subscription(), [entity('x', '', ...attributes)]))
  t.match(body, {
    contextResponses: [
      {
        contextElement: {
          type: '',
          attributes: [
            { name: 'a', type: '', value: '' },
            { value: { deep: ['1', { x: '"' }] } },
            { value: { empty: [] } },
          ],
        },
      },
    ],
  })
  t.notMatch(body, { contextResponses: [{ contextElement: { attributes: [{ metadatas: [] }] } }] })
})

test('all instances of the attributes named are shown in the order of the entity, each with ID, then location', async (t) => {
  const unit = { name: 'Unit', type: 'string', value: 'C' }
  const held = entity(
    'x',
    'T',
    attribute('a', '1'),
    attribute('soil', '14.0', { instance: 'north', isLocation: true, metadata: [unit, { ...unit, name: 'location' }] }),
    attribute('soil', '12.5', { instance: 'south', metadata: [{ ...unit, name: 'ID' }] }),
  )
  const shown = (...names: readonly string[]) => {
    const body = JSON.parse(renderNotice(subscription(...names), [held]))
    return body.contextResponses[0].contextElement.attributes
  }
  const id = (value: string) => ({ name: 'ID', type: 'string', value })
  const north = [id('north'), { name: 'location', type: 'string', value: 'WGS84' }, unit]
  const soil = [
    { name: 'soil', type: 'percent', value: '14.0', metadatas: north },
    { name: 'soil', type: 'percent', value: '12.5', metadatas: [id('south')] },
  ]
  t.same(shown('soil'), soil)
  t.same(shown('soil', 'none', 'a', 'soil'), [{ name: 'a', type: 'percent', value: '1' }, ...soil])
})

test('several entities are in their order, one without attributes has no such member', async (t) => {
  const body = JSON.parse(renderNotice(subscription(), [entity('b', 'T', attribute('x', '1')), entity('a', 'T')]))
  const status = { code: '200', reasonPhrase: 'OK' }
  t.same(body.contextResponses[1], {
    contextElement: { type: 'T', isPattern: 'false', id: 'a' },
    statusCode: status,
  })
  t.equal(body.contextResponses[0].contextElement.id, 'b')
})
