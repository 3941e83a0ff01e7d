import { test } from 'tap'
import { attribute, entity, send } from '../given.js'
import { elementOf, holding, passing, provider, registered, responseWith } from '../given-providers.js'

const street = { type: 'Street', isPattern: 'false', id: 'Street-4' }
const noise = { name: 'noise', type: 'dB', value: '58' }
const notFound = { code: '404', reasonPhrase: 'No context element found' }
const request = { entities: [street], attributes: ['noise', 'traffic'] }
const update = {
  contextElements: [{ ...street, attributes: [noise, { ...noise, name: 'traffic' }] }],
  updateAction: 'UPDATE',
}

test('a request that has been here, or in ten hands, is answered from what is held here', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const { broker } = holding(registered({ provider: there.url }))
  const { forwarding } = passing(t)
  const query = (via: string) => send(broker, 'POST', 'queryContext', { headers: { via }, body: request, forwarding })
  const ten = Array.from({ length: 10 }, (_, hand) => `1.1 hand-${hand}`)
  for (const via of ['1.1 rigel-0123456789abcdef', '1.1 a, HTTP/1.1 rigel-0123456789abcdef (home)', ten.join(',')]) {
    t.same((await query(via)).body, { errorCode: notFound }, via)
    const headers = { via }
    const { body } = await send(broker, 'POST', 'updateContext', { headers, body: update, forwarding })
    t.match(body, { contextResponses: [{ statusCode: { ...notFound, details: 'Street-4' } }] }, via)
  }
  t.same(there.received, [])
})

test('who passes a request on is added to those who did before', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const { broker } = holding(registered({ provider: there.url }))
  const { forwarding } = passing(t)
  const nine = Array.from({ length: 9 }, (_, hand) => `1.1 rigel-${hand}`).join(', ')
  await send(broker, 'POST', 'queryContext', { headers: { via: nine }, body: request, forwarding })
  t.equal(there.received[0]?.headers.via, `${nine}, 1.1 rigel-0123456789abcdef`)
})

test('what is over the forward limit is left out; with nothing left the response is a plain 404', async (t) => {
  const [one, two] = [await provider(t, responseWith([noise])), await provider(t)]
  const index = registered({ attributes: ['noise'], provider: one.url }, { attributes: ['traffic'], provider: two.url })
  const first = passing(t, {}, 1)
  const none = passing(t, {}, 0)
  const { broker } = holding(index)
  const query = { body: request, forwarding: first.forwarding }
  t.same((await send(broker, 'POST', 'queryContext', query)).body, { contextResponses: [elementOf([noise])] })
  const updated = await send(broker, 'POST', 'updateContext', { body: update, forwarding: first.forwarding })
  t.same(
    updated.body,
    { contextResponses: [elementOf([{ ...noise }])] }.contextResponses && {
      contextResponses: [elementOf([{ ...noise, value: '' }])],
    },
  )
  t.same(two.received, [])
  one.received.length = 0
  for (const [operation, body] of [
    ['queryContext', request],
    ['updateContext', update],
  ] as const) {
    const response = await send(broker, 'POST', operation, { body, forwarding: none.forwarding })
    t.same(response.body, { errorCode: notFound }, operation)
  }
  const here = holding(index, entity('Street-4', 'Street', attribute('noise', '58', { type: 'dB' }))).broker
  const response = await send(here, 'POST', 'updateContext', { body: update, forwarding: none.forwarding })
  t.same(response.body, { contextResponses: [elementOf([{ ...noise, value: '' }])] })
  t.same([...one.received, ...two.received], [])
})

test('tenants share nothing, and nothing is passed on without a way', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const { broker } = holding(registered({ provider: there.url, tenant: 'acme' }))
  const { forwarding } = passing(t)
  await send(broker, 'POST', 'queryContext', { body: request, forwarding })
  const headers = { 'fiware-service': 'acme' }
  const options = { multiservice: true }
  await send(broker, 'POST', 'queryContext', { headers, options, body: request })
  t.same(there.received, [])
  await send(broker, 'POST', 'queryContext', { headers, options, body: request, forwarding })
  t.equal(there.received.length, 1)
})
