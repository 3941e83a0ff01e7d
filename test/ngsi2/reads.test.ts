import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { attribute, tenantClient, WGS84 } from '../wire/client.js'

const broker = await RunningBroker.shared()

const heat = { type: 'Number', value: '61', metadata: {} }
const unknown = { error: 'NotFound', description: 'The requested entity has not been found. Check type and id' }
const ambiguous = { error: 'TooManyResults', description: 'More than one matching entity. Please refine your query' }

test('one entity is shown with or without id and type [NGSIv2 context 8.3]', async (t) => {
  const client = tenantClient(broker)
  await client.given({ type: 'Vat', id: 'Vat1', attributes: [attribute('heat', 'Number', '61')] })
  for (const round of ['first', 'from what was read before']) {
    t.strictSame(await client.request('GET', '/v2/entities/Vat1'), [200, { id: 'Vat1', type: 'Vat', heat }], round)
    t.strictSame(await client.request('GET', '/v2/entities/Vat1/attrs'), [200, { heat }], round)
  }
  t.strictSame(await client.request('GET', '/v2/entities/Vat1?options=keyValues'), [
    200,
    { id: 'Vat1', type: 'Vat', heat: '61' },
  ])
  t.strictSame(await client.request('GET', '/v2/entities/Vat1/attrs?options=values'), [200, ['61']])
  await client.update('UPDATE', [{ type: 'Vat', id: 'Vat1', attributes: [attribute('heat', 'Number', '62')] }])
  t.strictSame(await client.request('GET', '/v2/entities/Vat1/attrs'), [200, { heat: { ...heat, value: '62' } }])
})

test('an id without a type means the one entity of that id [NGSIv2 context 2.1, 5]', async (t) => {
  const client = tenantClient(broker)
  await client.given({ type: 'Vat', id: 'A' }, { type: 'Tub', id: 'A' }, { type: '', id: 'B' })
  await client.givenIn('/brew', { type: 'Vat', id: 'C' })
  await client.givenIn('/cellar', { type: 'Vat', id: 'C' })
  t.strictSame(await client.request('GET', '/v2/entities/A'), [409, ambiguous])
  t.strictSame(await client.request('GET', '/v2/entities/A?type=Tub'), [200, { id: 'A', type: 'Tub' }])
  t.strictSame(await client.request('GET', '/v2/entities/A?type=Vat,Tub'), [404, unknown])
  t.strictSame(await client.request('GET', '/v2/entities/none'), [404, unknown])
  t.strictSame(await client.request('GET', '/v2/entities/B'), [200, { id: 'B', type: 'Thing' }])
  t.strictSame(await client.request('GET', '/v2/entities/B?type=Thing'), [404, unknown])
  t.strictSame(await client.request('GET', '/v2/entities/C'), [409, ambiguous])
  t.strictSame(await client.request('GET', '/v2/entities/C', undefined, { 'Fiware-ServicePath': '/brew' }), [
    200,
    { id: 'C', type: 'Vat' },
  ])
  t.strictSame(await client.request('GET', '/v2/entities/C', undefined, { 'Fiware-ServicePath': '/a/#' }), [
    404,
    unknown,
  ])
})

test('what was read of a marked location may be written back, and has metadata location once [NGSIv2 context 14.4]', async (t) => {
  const client = tenantClient(broker)
  const element = { type: 'T', id: 'L', attributes: [attribute('pos', 'coords', '3,4', WGS84)] }
  await client.given(element)
  const pos = { type: 'coords', value: '3,4', metadata: { location: { type: 'string', value: 'WGS84' } } }
  const entities = [{ id: 'L', type: 'T', pos }]
  const updates: readonly (readonly [verb: string, path: string, body: unknown])[] = [
    ['PUT', '/v2/entities/L/attrs/pos', pos],
    ['POST', '/v2/entities/L/attrs', { pos: { ...pos, metadata: { location: { value: 'hall' } } } }],
    ['POST', '/v2/op/update', { actionType: 'append', entities }],
    ['POST', '/v2/op/update', { actionType: 'update', entities }],
  ]
  for (const [verb, path, body] of updates) {
    t.strictSame((await client.request(verb, path, body))[0], 204)
    const { text } = await client.send('GET', '/v2/entities/L')
    t.equal(text, JSON.stringify(entities[0]))
    t.strictSame(await client.held('L'), [{ ...element, isPattern: 'false' }])
  }
})

test('one attribute is shown by itself [NGSIv2 context 9.1]', async (t) => {
  const client = tenantClient(broker)
  const metadatas = [{ name: 'unit', type: 'Text', value: 'C' }]
  await client.given({ type: 'Vat', id: 'Vat1', attributes: [{ ...attribute('heat', 'Number', '61'), metadatas }] })
  const unit = { type: 'Text', value: 'C' }
  const path = '/v2/entities/Vat1/attrs/heat'
  t.strictSame(await client.request('GET', path), [200, { type: 'Number', value: '61', metadata: { unit } }])
  t.strictSame(await client.request('GET', `${path}?metadata=none`), [200, heat])
  t.strictSame(await client.request('GET', `${path}?options=keyValues`), [200, { heat: '61' }])
  t.strictSame(await client.request('GET', `${path}?options=values`), [
    200,
    { type: 'Number', value: '61', metadata: { unit } },
  ])
  const none = { error: 'NotFound', description: 'The entity does not have such an attribute' }
  t.strictSame(await client.request('GET', '/v2/entities/Vat1/attrs/dateCreated'), [404, none])
  t.strictSame(await client.request('GET', '/v2/entities/Vat2/attrs/heat'), [404, unknown])
})
