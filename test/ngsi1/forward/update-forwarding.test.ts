import { test } from 'tap'
import { attribute, entity, send } from '../given.js'
import {
  elementOf,
  holding,
  nobody,
  passing,
  provider,
  registered,
  responseWith,
  type Served,
} from '../given-providers.js'

const noise = { name: 'noise', type: 'dB', value: '61' }
const lamp = { name: 'lamp', type: 'state', value: 'off' }
const ozone = { name: 'ozone', type: 'ppb', value: '30' }
const heldLamp = attribute('lamp', 'on', { type: 'state' })
const notFound = { code: '404', reasonPhrase: 'No context element found' }
const unknown = { ...notFound, details: 'Street-4' }

const element = (attributes: readonly unknown[], id = 'Street-4', type = 'Street') => ({
  ...{ type, isPattern: 'false', id },
  attributes,
})
const update = (updateAction: string, ...contextElements: readonly unknown[]) => ({ contextElements, updateAction })
const echo = ({ name, type }: { name: string; type: string }) => ({ name, type, value: '' })

test('an UPDATE is passed on with values, types and metadata as they came, what is confirmed as the provider gave it', async (t) => {
  const there = await provider(t, responseWith([echo(noise)]))
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  const metadatas = [
    { name: 'ID', type: 'string', value: 'north' },
    { name: 'window', type: 'string', value: '10m' },
  ]
  const given = { ...noise, value: { mean: '61', all: [] }, metadatas }
  there.serve(responseWith([{ ...echo(noise), metadatas: metadatas.slice(0, 1) }]))
  const { forwarding, counted } = passing(t)
  const { body } = await send(broker, 'POST', 'updateContext', { body: update('UPDATE', element([given])), forwarding })
  t.same(body, { contextResponses: [elementOf([{ ...echo(noise), metadatas: metadatas.slice(0, 1) }])] })
  t.same(
    there.received.map(({ path, body }) => ({ path, body })),
    [{ path: '/v1/updateContext', body: update('UPDATE', element([given])) }],
  )
  t.same(counted, ['updateResponsesReceived'])
})

test('what is given without a value is passed on without one', async (t) => {
  const there = await provider(t, responseWith([echo(noise)]))
  const { broker } = holding(registered({ provider: there.url }))
  const body = update('update', element([{ name: 'noise', type: 'dB' }]))
  await send(broker, 'POST', 'updateContext', { body, ...passing(t) })
  t.same(there.received[0]?.body, update('UPDATE', element([{ name: 'noise', type: 'dB' }])))
})

test('an UPDATE is done partly here and partly there, the rest is not found; what is done here is done first', async (t) => {
  const there = await provider(t, responseWith([echo(noise)]))
  const index = registered({ attributes: ['noise'], provider: there.url })
  const { broker, entities } = holding(index, entity('Street-4', 'Street', heldLamp))
  const body = update('UPDATE', element([noise, lamp, ozone]))
  const response = await send(broker, 'POST', 'updateContext', { body, ...passing(t) })
  t.same(response.body, {
    contextResponses: [elementOf([echo(lamp), echo(noise)]), elementOf([echo(ozone)], { statusCode: unknown })],
  })
  t.same(there.received[0]?.body, update('UPDATE', element([noise])))
  t.match(entities(), [{ attributes: [{ name: 'lamp', value: 'off' }] }])
})

test('one request carries all entities of a provider, requests to several go out together', async (t) => {
  const [one, two] = [await provider(t), await provider(t, responseWith([echo(ozone)]))]
  const both = [elementOf([echo(noise)]), elementOf([echo(noise)], { id: 'Street-5' })]
  one.serve({ body: { contextResponses: both } })
  const index = registered(
    { attributes: ['noise'], provider: one.url },
    { attributes: ['ozone'], provider: two.url },
    { id: 'Street-5', provider: one.url },
  )
  const { broker } = holding(index)
  const body = update('UPDATE', element([noise, ozone]), element([noise], 'Street-5'))
  const response = await send(broker, 'POST', 'updateContext', { body, ...passing(t) })
  t.same(response.body, {
    contextResponses: [elementOf([echo(noise), echo(ozone)]), elementOf([echo(noise)], { id: 'Street-5' })],
  })
  t.same(
    one.received.map(({ body }) => body),
    [update('UPDATE', element([noise]), element([noise], 'Street-5'))],
  )
  t.same(
    two.received.map(({ body }) => body),
    [update('UPDATE', element([ozone]))],
  )
})

test('elements for which no provider is found are answered as without registrations', async (t) => {
  const there = await provider(t, responseWith([echo(noise)]))
  const index = registered({ attributes: ['noise'], provider: there.url })
  const other = entity('Street-5', 'Street', heldLamp)
  const body = update(
    'UPDATE',
    element([lamp, ozone], 'Street-5'),
    element([ozone], 'Street-6'),
    element([ozone], 'Street-5'),
    element([lamp, lamp], 'Street-5'),
  )
  const forwarding = passing(t)
  const plain = await send(holding(registered(), other).broker, 'POST', 'updateContext', { body })
  t.same(await send(holding(index, other).broker, 'POST', 'updateContext', { body, ...forwarding }), plain)
  const mixed = { ...body, contextElements: [...body.contextElements, element([noise])] }
  const response = await send(holding(index, other).broker, 'POST', 'updateContext', { body: mixed, ...forwarding })
  const { contextResponses } = plain.body as { contextResponses: unknown[] }
  const done = elementOf([echo(noise)])
  t.same(response.body, { contextResponses: [...contextResponses.slice(0, 4), done, ...contextResponses.slice(4)] })
})

test('only UPDATE and REPLACE are passed on, always as UPDATE', async (t) => {
  for (const action of ['APPEND', 'APPEND_STRICT', 'DELETE']) {
    const there = await provider(t)
    const { broker, entities } = holding(registered({ attributes: ['noise'], provider: there.url }))
    await send(broker, 'POST', 'updateContext', { body: update(action, element([noise])), ...passing(t) })
    t.same(there.received, [], action)
    t.equal(entities().length, action === 'DELETE' ? 0 : 1, action)
  }
  const there = await provider(t, responseWith([echo(noise)]))
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  const { body } = await send(broker, 'POST', 'updateContext', {
    body: update('REPLACE', element([noise])),
    ...passing(t),
  })
  t.same(body, { contextResponses: [elementOf([echo(noise)])] })
  t.same(there.received[0]?.body, update('UPDATE', element([noise])))
})

test('types: a registration without one is for requests without one, that of the entity held goes first', async (t) => {
  const [typed, untyped] = [await provider(t), await provider(t)]
  const index = registered(
    { attributes: ['noise'], provider: typed.url },
    { type: '', attributes: ['noise', 'ozone'], provider: untyped.url },
  )
  const { forwarding } = passing(t)
  const send4 = async (type: string, parameters = '') => {
    const { broker } = holding(index, entity('Street-4', 'Street', heldLamp))
    const body = update('UPDATE', element([noise, ozone], 'Street-4', type))
    await send(broker, 'POST', `updateContext${parameters}`, { body, forwarding })
    return [typed.received.pop()?.body, untyped.received.pop()?.body]
  }
  t.same(await send4('Street'), [update('UPDATE', element([noise])), undefined])
  t.same(await send4(''), [update('UPDATE', element([noise])), update('UPDATE', element([ozone], 'Street-4', ''))])
  const all = update('UPDATE', element([noise, ozone], 'Street-4', ''))
  t.same(await send4('', '?!exist=entity::type'), [undefined, all])
})

test('what a provider answers with another status is listed under that status', async (t) => {
  const invalid = { code: '472', reasonPhrase: 'request parameter is invalid/not allowed', details: 'too loud' }
  const there = await provider(t)
  const index = registered({ provider: there.url })
  const { forwarding } = passing(t)
  const bodyAfter = async (served: unknown) => {
    there.serve({ body: served })
    const { broker } = holding(index, entity('Street-4', 'Street', heldLamp))
    const body = update('UPDATE', element([lamp, noise, ozone]))
    return (await send(broker, 'POST', 'updateContext', { body, forwarding })).body
  }
  const [part, rest] = [elementOf([echo(noise)], { statusCode: invalid }), elementOf([echo(ozone)])]
  t.same(await bodyAfter({ contextResponses: [part, rest] }), {
    contextResponses: [elementOf([echo(lamp), echo(ozone)]), part],
  })
  t.same(await bodyAfter({ errorCode: invalid }), {
    contextResponses: [elementOf([echo(lamp)]), elementOf([echo(noise), echo(ozone)], { statusCode: invalid })],
  })
  t.same(await bodyAfter({ contextResponses: [elementOf([], { statusCode: unknown })] }), {
    contextResponses: [elementOf([echo(lamp)]), elementOf([echo(noise), echo(ozone)], { statusCode: unknown })],
  })
})

test('what a provider does not confirm, or confirms of something else, was not found', async (t) => {
  const there = await provider(t)
  const index = registered({ provider: there.url })
  const { forwarding } = passing(t)
  for (const served of [
    { contextResponses: [] },
    responseWith([echo(noise)], { id: 'Street-9' }).body,
    responseWith([echo(lamp)]).body,
  ]) {
    there.serve({ body: served })
    const body = update('UPDATE', element([noise]))
    const response = await send(holding(index).broker, 'POST', 'updateContext', { body, forwarding })
    t.same(response.body, { contextResponses: [elementOf([echo(noise)], { statusCode: unknown })] })
  }
})

test('an element without attributes confirms all of its entity, with the type that it names', async (t) => {
  const there = await provider(t, responseWith([], { type: '' }))
  const { broker } = holding(registered({ provider: there.url }))
  const { body } = await send(broker, 'POST', 'updateContext', {
    body: update('UPDATE', element([noise, ozone])),
    ...passing(t),
  })
  t.same(body, { contextResponses: [elementOf([echo(noise), echo(ozone)], { type: '' })] })
})

test('equal elements of a request are answered one by one', async (t) => {
  const refusal = { code: '472', reasonPhrase: 'no' }
  const there = await provider(t)
  const responses = [elementOf([echo(noise)]), elementOf([echo(noise)], { statusCode: refusal })]
  there.serve({ body: { contextResponses: responses } })
  const { broker } = holding(registered({ provider: there.url }))
  const body = update('UPDATE', element([noise]), element([noise]))
  t.same((await send(broker, 'POST', 'updateContext', { body, ...passing(t) })).body, { contextResponses: responses })
})

const failures: readonly (readonly [string, Served | undefined, string | undefined])[] = [
  ['is silent', undefined, 'error forwarding update'],
  ['answers an empty body', {}, 'invalid context provider response'],
  ['answers spaces', { body: ' \n' }, 'invalid context provider response'],
  ['answers no JSON', { body: 'good morning' }, undefined],
  ['answers no NGSI', { body: { orionError: { code: '503' } } }, undefined],
]

for (const [what, served, details] of failures) {
  test(`the one provider ${what}: ${details ?? 'no details'}, for the whole or for its part`, async (t) => {
    const there = await provider(t)
    there.serve(served)
    const index = registered({ attributes: ['noise'], provider: there.url })
    const { forwarding } = passing(t, { limit_ms: served === undefined ? 50 : 60_000 })
    const status = details === undefined ? notFound : { ...notFound, details }
    const body = update('UPDATE', element([noise]))
    const alone = await send(holding(index).broker, 'POST', 'updateContext', { body, forwarding })
    t.same(alone.body, { errorCode: status })
    const { broker } = holding(index, entity('Street-4', 'Street', heldLamp))
    const more = { body: update('UPDATE', element([noise, lamp, ozone])), forwarding }
    t.same((await send(broker, 'POST', 'updateContext', more)).body, {
      contextResponses: [
        elementOf([echo(lamp)]),
        elementOf([echo(noise)], { statusCode: status }),
        elementOf([echo(ozone)], { statusCode: unknown }),
      ],
    })
  })
}

test('a provider that can not be reached is an error of the whole, beside another one that of its part', async (t) => {
  const [gone, there] = [await nobody(), await provider(t, responseWith([echo(ozone)]))]
  const status = { ...notFound, details: 'error forwarding update' }
  const index = registered({ attributes: ['noise'], provider: gone }, { attributes: ['ozone'], provider: there.url })
  const { broker } = holding(index)
  const { forwarding, attempts } = passing(t)
  const one = { body: update('UPDATE', element([noise])), forwarding }
  t.same((await send(broker, 'POST', 'updateContext', one)).body, { errorCode: status })
  t.same(attempts, [[`${gone}/updateContext`, 'connection refused']])
  const two = { body: update('UPDATE', element([noise, ozone])), forwarding }
  t.same((await send(broker, 'POST', 'updateContext', two)).body, {
    contextResponses: [elementOf([echo(ozone)]), elementOf([echo(noise)], { statusCode: status })],
  })
})

test('convenience PUTs are passed on, their errors have their shapes', async (t) => {
  const there = await provider(t)
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  const { forwarding } = passing(t)
  const put = async (target: string, body: unknown) => (await send(broker, 'PUT', target, { body, forwarding })).body
  const entityPath = 'contextEntities/type/Street/id/Street-4'
  const attributePath = `${entityPath}/attributes/noise`
  const { type, value } = noise
  const details = 'invalid context provider response'
  t.same(await put(attributePath, { type, value }), { ...notFound, details })
  t.same(await put(entityPath, { attributes: [noise] }), { errorCode: { ...notFound, details } })
  there.received.length = 0
  there.serve(responseWith([echo(noise)]))
  t.same(await put(attributePath, { type, value }), { code: '200', reasonPhrase: 'OK' })
  const statusCode = { code: '200', reasonPhrase: 'OK' }
  t.same(await put(entityPath, { attributes: [noise] }), {
    contextResponses: [{ attributes: [echo(noise)], statusCode }],
  })
  for (const { body } of there.received) t.same(body, update('UPDATE', element([noise])))
  there.serve(responseWith([echo(noise)], { statusCode: unknown }))
  t.same(await put(attributePath, { type, value }), unknown)
})

test('an update stays raw unless somebody is registered for its id', async (t) => {
  const there = await provider(t, responseWith([echo(noise)]))
  const index = registered({ attributes: ['noise'], provider: there.url, path: '/west' })
  const { broker } = holding(index)
  const words: string[] = []
  const wordy: typeof broker = {
    ...broker,
    rawUpdate: async ({ id }) => {
      words.push(id)
      return { ok: true, value: { kind: 'rawUpdate', accepted: true, text: '{}' } }
    },
  }
  const { forwarding } = passing(t)
  for (const id of ['Street-4', 'Street-5']) {
    await send(wordy, 'POST', 'updateContext', { body: update('UPDATE', element([noise], id)), forwarding })
  }
  t.same(words, ['Street-5'])
  await send(wordy, 'POST', 'updateContext', { body: update('UPDATE', element([noise])) })
  t.same(words, ['Street-5', 'Street-4'])
})

test('elements of one entity are answered together when anything of it was passed on', async (t) => {
  const there = await provider(t, responseWith([echo(noise)]))
  const index = registered({ attributes: ['noise'], provider: there.url })
  const { broker } = holding(index, entity('Street-4', 'Street', heldLamp))
  const other = element([ozone], 'Street-5')
  const body = update('UPDATE', element([noise]), other, element([lamp]), element([ozone]))
  const response = await send(broker, 'POST', 'updateContext', { body, ...passing(t) })
  t.same(response.body, {
    contextResponses: [
      elementOf([echo(lamp), echo(noise)]),
      elementOf([echo(ozone)], { id: 'Street-5', statusCode: { ...notFound, details: 'Street-5' } }),
      elementOf([echo(ozone)], { statusCode: unknown }),
    ],
  })
  t.same(
    there.received.map(({ body }) => body),
    [update('UPDATE', element([noise]))],
  )
})

test('elements of one entity that go to one provider are answered together', async (t) => {
  const there = await provider(t, responseWith([echo(noise), echo(ozone)]))
  const { broker } = holding(registered({ attributes: ['noise', 'ozone'], provider: there.url }))
  const body = update('UPDATE', element([noise]), element([ozone, lamp]))
  const response = await send(broker, 'POST', 'updateContext', { body, ...passing(t) })
  t.same(response.body, {
    contextResponses: [elementOf([echo(noise), echo(ozone)]), elementOf([echo(lamp)], { statusCode: unknown })],
  })
})
