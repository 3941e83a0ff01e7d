import { test } from 'tap'
import type { ServicePath } from '../../../src/model/context/entity.js'
import { maxAttributes } from '../../../src/model/context/entity-size.js'
import { logLevels } from '../../../src/threads/shared-memory/switches.js'
import { attribute, entity, send } from '../given.js'
import { elementOf, holding, nobody, passing, provider, registered, responseWith } from '../given-providers.js'

const street = { type: 'Street', isPattern: 'false', id: 'Street-4' }
const noise = { name: 'noise', type: 'dB', value: '58' }
const traffic = { name: 'traffic', type: 'cars', value: '12' }
const lamp = { name: 'lamp', type: 'state', value: 'on' }
const heldLamp = attribute('lamp', 'on', { type: 'state' })
const notFound = { code: '404', reasonPhrase: 'No context element found' }

function query(attributes?: readonly string[], ...entities: readonly unknown[]) {
  return { entities: entities.length === 0 ? [street] : entities, ...(attributes && { attributes }) }
}

test('a query for what a provider is registered for is passed on, its response is passed back as given', async (t) => {
  const window = [{ name: 'window', type: 'string', value: '10m' }]
  const given = { ...noise, value: { mean: '58', all: ['57', '59'] }, metadatas: window }
  const there = await provider(t, responseWith([given]))
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  const { forwarding, counted, attempts } = passing(t)
  const response = await send(broker, 'POST', 'queryContext', { body: query(['noise']), forwarding })
  t.same(response.body, { contextResponses: [elementOf([given])] })
  t.same(
    there.received.map(({ path, body }) => ({ path, body })),
    [{ path: '/v1/queryContext', body: { entities: [street], attributes: ['noise'] } }],
  )
  t.same(counted, ['queryResponsesReceived'])
  t.same(attempts, [[`${there.url}/queryContext`, undefined]])
})

test('values and metadata come back by their kinds, as the provider gave them', async (t) => {
  const metadatas = [5, null, true, '1.0', { of: [1.5, '2'] }].map((value, at) => ({ name: `m${at}`, type: '', value }))
  const given = [5.5, false, null, [1, '1'], '5.5'].map((value, at) => ({ name: `a${at}`, type: '', value, metadatas }))
  const there = await provider(t, responseWith(given))
  const { broker } = holding(registered({ attributes: [], provider: there.url }))
  const { body } = await send(broker, 'POST', 'queryContext', { body: query(), ...passing(t) })
  t.strictSame(body, { contextResponses: [elementOf(given)] })
})

test('correlator, token, service path and tenant of the client are passed on, restrictions are not', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const where = { path: '/west', tenant: 'acme' }
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url, ...where }))
  const { forwarding } = passing(t)
  const restriction = { scopes: [{ type: 'FIWARE::StringQuery', value: 'lamp' }] }
  const headers = { 'fiware-servicepath': '/west, /east', 'fiware-service': 'Acme', 'x-auth-token': 'key' }
  const paths = ['/west', '/east'].map((path) => ({ path: path as ServicePath, below: false }))
  const sent = { headers, paths, options: { multiservice: true }, forwarding }
  await send(broker, 'POST', 'queryContext', { ...sent, body: { ...query(['noise']), restriction } })
  t.match(there.received[0]?.headers, {
    'content-type': 'application/json; charset=utf-8',
    accept: 'application/json',
    'user-agent': /^rigel\/\d/,
    'fiware-servicepath': '/west, /east',
    'fiware-service': 'acme',
    'fiware-correlator': 'c',
    'x-auth-token': 'key',
    via: '1.1 rigel-0123456789abcdef',
  })
  t.same(there.received[0]?.body, { entities: [street], attributes: ['noise'] })
})

test('without headers of the client the path is the root, tenant and token are absent', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  await send(broker, 'POST', 'queryContext', { body: query(['noise']), ...passing(t) })
  const headers = there.received[0]?.headers ?? {}
  t.equal(headers['fiware-servicepath'], '/')
  t.notOk('fiware-service' in headers || 'x-auth-token' in headers)
})

test('what is held here is not asked for and comes first; a provider that tells of it is not believed', async (t) => {
  const there = await provider(t, responseWith([{ ...lamp, value: 'off' }, noise]))
  const index = registered({ attributes: ['lamp', 'noise'], provider: there.url })
  const { broker } = holding(index, entity('Street-4', 'Street', heldLamp))
  const { forwarding } = passing(t)
  const requests = async (names: readonly string[]) =>
    (await send(broker, 'POST', 'queryContext', { body: query(names), forwarding })).body
  t.same(await requests(['lamp']), { contextResponses: [elementOf([lamp])] })
  t.equal(there.received.length, 0)
  t.same(await requests(['noise', 'lamp']), { contextResponses: [elementOf([lamp, noise])] })
  t.same(there.received[0]?.body, { entities: [street], attributes: ['noise'] })
})

test('without attributes all registrations of the entity count, whole entities are asked for without names', async (t) => {
  const [some, whole] = [await provider(t, responseWith([noise])), await provider(t, responseWith([noise, traffic]))]
  const index = registered(
    { attributes: ['lamp', 'noise'], provider: some.url },
    { provider: whole.url },
    { attributes: ['noise'], provider: some.url, type: '' },
    { attributes: ['lamp'], provider: whole.url, path: '/west' },
  )
  const { broker } = holding(index, entity('Street-4', 'Street', heldLamp))
  const { body } = await send(broker, 'POST', 'queryContext', { body: query(), ...passing(t) })
  t.same(body, { contextResponses: [elementOf([lamp, noise, traffic])] })
  t.same(some.received[0]?.body, { entities: [street], attributes: ['noise'] })
  t.same(whole.received[0]?.body, { entities: [street] })
  t.same([some.received.length, whole.received.length], [1, 1])
})

test('a registration of the attribute goes before one of the whole entity, the older before the younger', async (t) => {
  const others = await provider(t, responseWith([]))
  const there = await provider(t, responseWith([noise]))
  const index = registered(
    { provider: others.url },
    { attributes: ['noise'], provider: others.url, expires: 1 },
    { attributes: ['noise'], provider: there.url },
    { attributes: ['noise'], provider: others.url },
  )
  const { broker } = holding(index)
  const { body } = await send(broker, 'POST', 'queryContext', { body: query(['noise']), ...passing(t) })
  t.same(body, { contextResponses: [elementOf([noise])] })
  t.same([there.received.length, others.received.length], [1, 0])
})

test('responses of several providers become one element, in the order of asking, whoever is faster', async (t) => {
  const [slow, fast] = [await provider(t), await provider(t, responseWith([traffic]))]
  slow.serve(responseWith([noise]))
  const index = registered(
    { attributes: ['noise'], provider: slow.url },
    { attributes: ['traffic'], provider: fast.url },
  )
  const { broker } = holding(index)
  const { body } = await send(broker, 'POST', 'queryContext', { body: query(['noise', 'traffic']), ...passing(t) })
  t.same(body, { contextResponses: [elementOf([noise, traffic])] })
})

test('entities with a pattern or without type are replaced by the registered ones that they match', async (t) => {
  const there = await provider(t, responseWith([noise], { id: 'Street-5' }))
  const index = registered(
    { id: 'Street-5', attributes: ['noise'], provider: there.url },
    { id: 'Alley-1', attributes: ['noise'], provider: there.url },
  )
  const { broker } = holding(index)
  const { forwarding } = passing(t)
  for (const request of [{ id: 'eet-[0-9]', isPattern: 'true', type: 'Street' }, { id: 'Street-5' }]) {
    const { body } = await send(broker, 'POST', 'queryContext', { body: query(['noise'], request), forwarding })
    t.same(body, { contextResponses: [elementOf([noise], { id: 'Street-5' })] })
    const entities = [{ ...street, id: 'Street-5' }]
    t.same(there.received.pop()?.body, { entities, attributes: ['noise'] })
  }
  t.same(there.received, [])
})

test('a registration without type is used for requests without type alone', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const index = registered({ type: '', attributes: ['noise', 'lamp'], provider: there.url })
  const { broker } = holding(index, entity('Street-4', 'Street', heldLamp))
  const { forwarding } = passing(t)
  const bodyFor = async (request: unknown) =>
    (await send(broker, 'POST', 'queryContext', { body: query(['lamp', 'noise'], request), forwarding })).body
  t.same(await bodyFor(street), { contextResponses: [elementOf([lamp])] })
  t.same(there.received, [])
  t.same(await bodyFor({ id: 'Street-4' }), { contextResponses: [elementOf([lamp, noise])] })
  t.same(there.received[0]?.body, { entities: [{ ...street, type: '' }], attributes: ['noise'] })
})

test('a full page is not added to; pages go on with what is registered, each entity once', async (t) => {
  const there = await provider(t)
  const ids = ['Street-4', 'Street-5', 'Street-6', 'Street-7']
  const index = registered(...ids.map((id) => ({ id, attributes: ['noise'], provider: there.url })))
  const held = [entity('Street-4', 'Street', heldLamp), entity('Street-6', 'Street', attribute('noise', '1'))]
  const { broker } = holding(index, ...held)
  const { forwarding } = passing(t)
  const all = { id: '.*', isPattern: 'true', type: 'Street' }
  const page = async (offset: number, limit: number) => {
    there.received.length = 0
    await send(broker, 'POST', `queryContext?offset=${offset}&limit=${limit}`, { body: query([], all), forwarding })
    return there.received.map(({ body }) => JSON.stringify(body).match(/Street-\d/)?.[0]).sort()
  }
  t.same(await page(0, 1), ['Street-4'])
  t.same(await page(0, 2), ['Street-4'])
  t.same(await page(0, 3), ['Street-4', 'Street-5'])
  t.same(await page(1, 2), ['Street-5'])
  t.same(await page(2, 20), ['Street-5', 'Street-7'])
  t.same(await page(3, 20), ['Street-7'])
  t.same(await page(4, 20), [])
})

test('details=on counts the local entities', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  const { body } = await send(broker, 'POST', 'queryContext?details=on', { body: query(), ...passing(t) })
  t.match(body, { errorCode: { code: '200', details: 'Count: 0' }, contextResponses: [{}] })
})

const failures: readonly (readonly [
  string,
  Parameters<typeof provider>[1] | undefined,
  details: string | undefined,
])[] = [
  ['says that it does not know', { body: { errorCode: { ...notFound, details: 'no such street' } } }, 'no such street'],
  ['says so without details', { body: { errorCode: notFound } }, undefined],
  ['says so of the element', responseWith([], { statusCode: { ...notFound, details: 'Street-4' } }), 'Street-4'],
  ['finds nothing', { body: { contextResponses: [] } }, undefined],
  ['answers nothing', {}, 'invalid context provider response'],
  ['answers an error without body', { status: 500 }, 'invalid context provider response'],
  ['answers text', { body: 'good morning' }, 'invalid context provider response'],
  ['answers other JSON', { body: { hello: 'you' } }, 'invalid context provider response'],
  ['answers an array', { body: [] }, 'invalid context provider response'],
  ['answers JSON that is too deep', { body: '['.repeat(1e5) }, 'invalid context provider response'],
  ['points elsewhere', { status: 307, headers: { Location: '/' } }, 'invalid context provider response'],
  ['is silent', undefined, 'invalid context provider response'],
]

for (const [what, served, details] of failures) {
  test(`nothing is found and the one provider ${what}: 404${details === undefined ? '' : ` ${details}`}`, async (t) => {
    const there = await provider(t)
    there.serve(served)
    const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
    const { forwarding } = passing(t, { limit_ms: served === undefined ? 50 : 60_000 })
    const sent = { body: query(['noise']), forwarding }
    const errorCode = details === undefined ? notFound : { ...notFound, details }
    t.same((await send(broker, 'POST', 'queryContext', sent)).body, { errorCode })
  })
}

test('a provider that can not be reached is 404, and its alarm is raised', async (t) => {
  for (const url of [await nobody(), 'sensors.example', 'ftp://sensors.example/v1']) {
    const { broker } = holding(registered({ attributes: ['noise'], provider: url }))
    const { forwarding, attempts, counted } = passing(t)
    const { body } = await send(broker, 'POST', 'queryContext', { body: query(['noise']), forwarding })
    t.same(body, { errorCode: { ...notFound, details: 'invalid context provider response' } })
    const reason = url.startsWith('http:') ? 'connection refused' : 'no URL of http or https'
    t.same(attempts, [[`${url}/queryContext`, reason]])
    t.same(counted, [])
  }
})

test('when nothing is found at several providers the response is a plain 404', async (t) => {
  const [one, two] = [await provider(t), await provider(t)]
  const index = registered({ attributes: ['noise'], provider: one.url }, { attributes: ['traffic'], provider: two.url })
  const { broker } = holding(index)
  const { body } = await send(broker, 'POST', 'queryContext', { body: query(['noise', 'traffic']), ...passing(t) })
  t.same(body, { errorCode: notFound })
  t.same([one.received.length, two.received.length], [1, 1])
})

test('failures are not visible beside what was found, here or at another provider', async (t) => {
  const [bad, good] = [await provider(t, { body: '{' }), await provider(t, responseWith([traffic]))]
  const index = registered(
    { attributes: ['noise'], provider: bad.url },
    { attributes: ['traffic'], provider: good.url },
  )
  const { forwarding } = passing(t)
  const sent = { body: query(['lamp', 'noise']), forwarding }
  const here = holding(index, entity('Street-4', 'Street', heldLamp)).broker
  t.same((await send(here, 'POST', 'queryContext', sent)).body, { contextResponses: [elementOf([lamp])] })
  const there = { ...sent, body: query(['noise', 'traffic']) }
  const found = await send(holding(index).broker, 'POST', 'queryContext', there)
  t.same(found.body, { contextResponses: [elementOf([traffic])] })
})

test('unknown parts of a response are passed over, the others count', async (t) => {
  const unknownParts = [
    7,
    null,
    { name: '' },
    { name: 'odd', type: 3, value: 1.5, metadatas: ['x', { name: '' }], more: {} },
  ]
  const body = {
    more: true,
    contextResponses: [
      'x',
      { contextElement: { type: 'Street' } },
      { contextElement: { id: 'Street-4', type: 'Street', attributes: 'none' } },
      { contextElement: { id: 'Street-4', type: 'Street', attributes: unknownParts }, statusCode: { code: 200 } },
      { contextElement: { id: 'Street-4', type: 'Street', attributes: [traffic] }, statusCode: notFound },
    ],
  }
  const there = await provider(t, { body })
  const { broker } = holding(registered({ provider: there.url }))
  const response = await send(broker, 'POST', 'queryContext', { body: query(), ...passing(t) })
  t.same(response.body, { contextResponses: [elementOf([{ name: 'odd', type: '3', value: '1.5' }])] })
})

test('an entity that is larger than one may be here is left out, and the log says so', async (t) => {
  const many = Array.from({ length: maxAttributes + 1 }, (_, at) => ({ ...noise, name: `noise-${at}` }))
  const [large, small] = [await provider(t, responseWith(many)), await provider(t, responseWith([noise]))]
  const index = registered({ provider: large.url }, { attributes: ['noise'], provider: small.url })
  const { forwarding, lines, attempts, switches } = passing(t)
  switches.set('logLevel', logLevels.indexOf('WARN'))
  const ask = () => send(holding(index).broker, 'POST', 'queryContext', { body: query(), forwarding })
  t.same((await ask()).body, { contextResponses: [elementOf([noise])] })
  t.same((await ask()).body, { contextResponses: [elementOf([noise])] })
  const limits = 'more attributes, metadata or values than an entity may have here'
  const what = `an entity that providers gave is left out of responses: it has ${limits}`
  t.same(lines, [`forward:large c N/A: ${what}; ${large.url} gave Street-4 (Street)`], 'one line, however often')
  t.same(attempts.find(([url]) => url.startsWith(large.url))?.[1], undefined, 'the provider has not failed')
})

test('instances come back as the provider told them apart', async (t) => {
  const noiseOf = (ID: string) => ({ ...noise, metadatas: [{ name: 'ID', type: 'string', value: ID }] })
  const there = await provider(t, responseWith([noiseOf('n'), noiseOf('s'), noiseOf('n')]))
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  const { forwarding } = passing(t)
  const { body } = await send(broker, 'POST', 'queryContext', { body: query(), forwarding })
  t.same(body, { contextResponses: [elementOf([noiseOf('n'), noiseOf('s')])] })
  const target = 'contextEntities/type/Street/id/Street-4/attributes/noise/s'
  const one = await send(broker, 'GET', target, { forwarding })
  t.same(one.body, { attributes: [noiseOf('s')], statusCode: { code: '200', reasonPhrase: 'OK' } })
})

const ok = { code: '200', reasonPhrase: 'OK' }
const shown = { ...street, attributes: [noise] }

test('every convenience GET of entities or attributes is passed on as a query', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  const { forwarding } = passing(t)
  const list = { contextResponses: [elementOf([noise])] }
  const one = { attributes: [noise], statusCode: ok }
  const responses: readonly (readonly [string, unknown])[] = [
    ['contextEntities', list],
    ['contextEntities/Street-4', { contextElement: shown, contextElements: [shown], statusCode: ok }],
    ['contextEntities/Street-4/attributes/noise', one],
    ['contextEntities/type/Street/id/Street-4', { contextElement: shown, statusCode: ok }],
    ['contextEntities/type/Street/id/Street-4/attributes/noise', one],
    ['contextEntityTypes/Street', list],
    ['contextEntityTypes/Street/attributes/noise', list],
  ]
  for (const [target, body] of responses) {
    t.same((await send(broker, 'GET', target, { forwarding })).body, body, target)
    t.same(there.received.pop()?.body, { entities: [street], attributes: ['noise'] }, target)
  }
  const counted = await send(broker, 'GET', 'contextEntities/Street-4?details=on', { forwarding })
  t.match(counted.body, { statusCode: { code: '200', details: 'Count: 0' } })
})

test('convenience GETs have words of their own unless the provider gives cause for others', async (t) => {
  const there = await provider(t, { body: { errorCode: notFound } })
  const { broker } = holding(registered({ provider: there.url }))
  const { forwarding } = passing(t)
  const details = async (target: string): Promise<unknown> => {
    const { body } = await send(broker, 'GET', target, { forwarding })
    return JSON.stringify(body).match(/"details":"([^"]*)"/)?.[1]
  }
  const entityPath = 'contextEntities/type/Street/id/Street-4'
  t.equal(await details(entityPath), 'Entity id: /Street-4/')
  t.equal(await details(`${entityPath}/attributes/noise`), 'Entity-Attribute pair: /Street-4-noise/')
  t.equal(await details('contextEntityTypes/Street'), 'entityId::type /Street/ non-existent')
  there.serve({})
  for (const target of [entityPath, `${entityPath}/attributes/noise`, 'contextEntityTypes/Street']) {
    t.equal(await details(target), 'invalid context provider response')
  }
})

test('an attribute that is held in the entity asked for is read without asking anybody', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const { broker } = holding(registered({ provider: there.url }), entity('Street-4', 'Street', heldLamp))
  const { body } = await send(broker, 'GET', 'contextEntities/Street-4/attributes/lamp', passing(t))
  t.same(body, { attributes: [lamp], statusCode: ok })
  t.same(there.received, [])
})

test('existence parameters say which registered entities are meant', async (t) => {
  const there = await provider(t, responseWith([noise]))
  const { broker } = holding(registered({ attributes: ['noise'], provider: there.url }))
  const { forwarding } = passing(t)
  await send(broker, 'GET', 'contextEntities?!exist=entity::type', { forwarding })
  t.same(there.received, [])
  await send(broker, 'GET', 'contextEntities?exist=entity::type', { forwarding })
  t.equal(there.received.length, 1)
})
