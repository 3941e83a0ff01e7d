import { test } from 'tap'
import type { ServicePath, Tenant } from '../../../src/context/entity.js'
import { renderNotice } from '../../../src/ngsi1/render/notifications.js'
import type { Subscription, SubscriptionId } from '../../../src/subscription/subscription.js'
import type { Milliseconds } from '../../../src/time.js'
import { attribute, entity } from '../given.js'

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
    attribute('soil', '14.0', { instance: 'north', isLocation: true, metadata: [unit] }),
    attribute('soil', '12.5', { instance: 'south' }),
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
