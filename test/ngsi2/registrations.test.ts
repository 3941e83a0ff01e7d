import { type Test, test } from 'tap'
import { FarEnd } from '../far-end.js'
import { staysWithin } from '../pace.js'
import { type Requests, RunningBroker } from '../running.js'
import { until } from '../until.js'

const street = { entities: [{ id: 'Street-4', type: 'Street' }], attrs: ['noise'] }
const http = { url: 'http://meters.example:9000/v2' }
const minimal = { dataProvided: street, provider: { http } }
const unknown = { error: 'NotFound', description: 'The requested registration has not been found. Check id' }

/** Registers, and gives the path of what was made. */
async function made(t: Test, broker: Requests, body: unknown = minimal, headers: Record<string, string> = {}) {
  const { status, text, headers: received } = await broker.send('POST', '/v2/registrations', body, headers)
  t.same([status, text], [201, ''])
  const location = received.get('location') ?? ''
  t.match(location, /^\/v2\/registrations\/[0-9a-f]{24}$/)
  return location
}

async function listed(broker: Requests, query = '', headers: Record<string, string> = {}) {
  const { json, headers: received } = await broker.send('GET', `/v2/registrations${query}`, undefined, headers)
  const descriptions = (json as { description?: string }[]).map(({ description }) => description)
  return { descriptions, count: received.get('fiware-total-count') }
}

test('a minimal registration is shown with the defaults, one with everything as it was given', async (t) => {
  const broker = await RunningBroker.start(t)
  const plain = await made(t, broker, { dataProvided: { entities: [{ id: 'Street-4' }] }, provider: { http } })
  t.same((await broker.send('GET', plain)).json, {
    id: plain.split('/').at(-1),
    dataProvided: { entities: [{ id: 'Street-4' }], attrs: [] },
    provider: { http, supportedForwardingMode: 'all', legacyForwarding: false },
    status: 'active',
  })
  const whole = {
    description: 'noise meters',
    expires: '2041-02-03T04:05:06.000Z',
    dataProvided: { entities: [{ idPattern: '.*', type: 'Street' }, { id: '.*' }], attrs: ['noise', 'ozone'] },
    provider: { http: { url: 'https://[::1]:9000/v2' }, supportedForwardingMode: 'none', legacyForwarding: true },
    status: 'inactive',
  }
  const full = await made(t, broker, whole)
  t.same((await broker.send('GET', full)).json, { id: full.split('/').at(-1), ...whole })
  const again = await made(t, broker, (await broker.send('GET', full)).json)
  t.not(again, full, 'what was read can be sent; its id is ignored')
  await broker.end('SIGKILL')
  await broker.run()
  t.same((await broker.send('GET', full)).json, { id: full.split('/').at(-1), ...whole })
})

test('dates are taken with and without a time and an offset, and shown in UTC with milliseconds', async (t) => {
  const broker = await RunningBroker.tenant()
  for (const [expires, shown] of [
    ['2041-02-03', '2041-02-03T00:00:00.000Z'],
    ['2041-02-03T04:05', '2041-02-03T04:05:00.000Z'],
    ['2041-02-03T04:05:06.5+01:00', '2041-02-03T03:05:06.500Z'],
    ['2001-01-01', '2001-01-01T00:00:00.000Z'],
  ] as const) {
    const { json } = await broker.send('GET', await made(t, broker, { ...minimal, expires }))
    t.match(json, { expires: shown, status: 'active' }, 'expired ones keep their status')
  }
})

const provided = (dataProvided: unknown) => ({ ...minimal, dataProvided })
const entity = (...entities: unknown[]) => provided({ entities })
const provider = (more: unknown) => ({ ...minimal, provider: more })
const url = (given: unknown) => provider({ http: { url: given } })

/** Payloads that are refused, in the order of the checks: each with the text that says why. */
const refusals: readonly (readonly [unknown, string])[] = [
  ['{"x":', 'Errors found in incoming JSON buffer'],
  ['[]', 'not a JSON object'],
  ['"a"', 'not a JSON object'],
  ['null', 'not a JSON object'],
  [{}, 'empty payload'],
  [{ description: 7 }, 'invalid description'],
  [{ description: null }, 'invalid description'],
  [{ description: 'ä'.repeat(513) }, 'max description length exceeded'],
  [{ description: 'a<b' }, 'forbidden characters in description'],
  [{ provider: 1 }, 'the field /dataProvided/ is missing in payload'],
  [provided([]), '/dataProvided/ must be a JSON object'],
  [provided(null), '/dataProvided/ must be a JSON object'],
  [provided({}), '/dataProvided/ is empty'],
  [provided({ entities: {} }), '/entities/ is not an array'],
  [entity(1), '/entities/ vector item is not an object'],
  [entity({ type: 'T' }), '/entities/ vector item does not have /id/ nor /idPattern/'],
  [entity({ id: 'a', idPattern: 'b' }), '/entities/ vector item has both /id/ and /idPattern/'],
  [entity({ id: 'a', type: 'b', typePattern: 'c' }), '/entities/ element has both /type/ and /typePattern/'],
  [entity({ id: 1 }), '/entities/ vector item /id/ is not a string'],
  [entity({ id: '' }), '/entities/ element id is empty'],
  [entity({ id: 'a b' }), 'forbidden characters in /entities/ vector item /id/'],
  [entity({ id: 'a'.repeat(257) }), 'max id length exceeded in /entities/ vector item /id/'],
  [entity({ idPattern: 1 }), '/entities/ vector item /idPattern/ is not a string'],
  [entity({ idPattern: '' }), '/entities/ vector item /idPattern/ is empty'],
  [entity({ idPattern: '(' }), 'Invalid regex for entity idPattern'],
  [entity({ id: 'a', type: 1 }), '/entities/ vector item type is not a string'],
  [entity({ id: 'a', type: '' }), 'entity type length: 0, min length supported: 1'],
  [entity({ id: 'a', typePattern: '' }), '/entities/ vector item /typePattern/ is empty'],
  [entity({ idPattern: 'S.*' }, { id: 1 }), '/entities/ vector item /id/ is not a string'],
  [provided({ attrs: 'noise' }), 'the field /attrs/ must be a JSON array'],
  [provided({ attrs: [1] }), 'only JSON Strings allowed in string vector /attrs/'],
  [provided({ attrs: ['a', 'a'] }), 'duplicated item /a/ in array'],
  [provided({ attrs: ['a b'] }), 'forbidden characters in attribute name'],
  [provided({ attrs: [''] }), 'empty string found in string vector /attrs/'],
  [{ dataProvided: street, expires: 1 }, 'the field /provider/ is missing in payload'],
  [provider([]), '/provider/ must be a JSON object'],
  [provider({}), '/provider/ empty'],
  [provider({ legacyForwarding: 1 }), '/provider/ must contain a field /http/'],
  [provider({ http: 'x' }), '/http/ must be a JSON object'],
  [provider({ http: {} }), '/http/ must contain a field /url/'],
  [url(1), '/url/ field of /http/ must be a JSON string'],
  [url(''), '/url/ field of /http/ cannot be the empty string'],
  ...[
    'meters',
    '//meters/v2',
    'http:///v2',
    'http://a_b/',
    'http://a..b',
    'http://a:x/',
    'http://a:0',
    'http://a:70000',
  ].map((text) => [url(text), '/url/ field of /http/ is invalid'] as const),
  [url('mqtt://broker.example'), '/url/ field of /http/ is invalid'],
  [url('kafka://broker.example'), '/url/ field of /http/ is invalid'],
  [
    provider({ http, supportedForwardingMode: 1, legacyForwarding: 1 }),
    '/supportedForwardingMode/ must be a JSON string',
  ],
  [provider({ http, supportedForwardingMode: null }), '/supportedForwardingMode/ must be a JSON string'],
  [provider({ http, supportedForwardingMode: 'All' }), 'invalid value of /supportedForwardingMode/'],
  [{ ...provider({ http, legacyForwarding: 'no' }), expires: 1 }, 'the field /legacyForwarding/ must be a boolean'],
  [{ ...minimal, expires: 1, status: 1 }, 'expires is not a string'],
  [{ ...minimal, expires: '' }, 'the field /expires/ has an invalid format'],
  [{ ...minimal, expires: 'soon', status: 1 }, 'the field /expires/ has an invalid format'],
  [{ ...minimal, status: 1 }, '/status/ must be a string'],
  [{ ...minimal, status: 'expired' }, 'invalid value for /status/'],
]

test('the first thing that is wrong with a payload is told, and nothing is registered', async (t) => {
  const broker = await RunningBroker.tenant()
  const json = { 'Content-Type': 'application/json' }
  for (const [body, description] of refusals) {
    const { status, json: refusal } = await broker.send('POST', '/v2/registrations', body, json)
    t.same([status, refusal], [400, { error: 'BadRequest', description }], description)
  }
  for (const [body, description] of [
    [entity({ idPattern: 'Street-.*' }), 'Unsupported idPattern'],
    [entity({ id: 'a', typePattern: '.*' }, { idPattern: '^a' }), 'Unsupported idPattern'],
    [provided({ entities: [{ id: 'a', typePattern: '.*' }], attrs: 1 }), 'typePattern is not supported'],
  ] as const) {
    const { status, json: refusal } = await broker.send('POST', '/v2/registrations', body)
    t.same([status, refusal], [501, { error: 'NotImplemented', description }])
  }
  t.equal((await broker.send('POST', '/v2/registrations')).status, 411)
  const { entities, attrs } = { entities: 100, attrs: 51 }
  const many = provided({
    entities: Array.from({ length: entities }, (_, number) => ({ id: `S${number}` })),
    attrs: Array.from({ length: attrs }, (_, number) => `a${number}`),
  })
  t.match((await broker.send('POST', '/v2/registrations', many)).json, {
    description: 'number of registered entities and attributes: 5100, max number supported: 5000',
  })
  const long = provided({ attrs: Array.from({ length: 5001 }, () => 'a') })
  t.match((await broker.send('POST', '/v2/registrations', long)).json, {
    description: 'number of registered entities and attributes: 5001, max number supported: 5000',
  })
  t.same((await listed(broker)).descriptions, [])
})

test('patterns that take too much together are refused before all of them are read', async (t) => {
  const broker = await RunningBroker.tenant()
  const patterns = Array.from({ length: 5000 }, (_, number) => ({ idPattern: `(a|b${number}){90}` }))
  const checkRefusal = async (): Promise<void> => {
    const { status, json } = await broker.send('POST', '/v2/registrations', entity(...patterns))
    t.same([status, json], [400, { error: 'BadRequest', description: 'Invalid regex for entity idPattern' }])
  }
  t.ok(await staysWithin(2000, checkRefusal, () => performance.now()))
})

test('a registration without entities is kept, and unknown members are ignored', async (t) => {
  const broker = await RunningBroker.tenant()
  const body = { ...minimal, id: 7, colour: 'red', dataProvided: { attrs: ['noise'], expression: { q: 1 } } }
  const { json } = await broker.send('GET', await made(t, broker, body))
  t.match(json, { dataProvided: { entities: [], attrs: ['noise'] } })
  t.notMatch(json, { colour: 'red' })
})

test('the list is in the order of creation, in pages, with the number of all', async (t) => {
  const broker = await RunningBroker.tenant()
  for (const description of ['a', 'b', 'c']) await made(t, broker, { ...minimal, description })
  t.same(await listed(broker), { descriptions: ['a', 'b', 'c'], count: null })
  t.same(await listed(broker, '?limit=1&offset=1&options=count'), { descriptions: ['b'], count: '3' })
  t.same(await listed(broker, '?offset=9&options=count'), { descriptions: [], count: '3' })
  t.same(await listed(broker, '?limit=0&options=count'), { descriptions: [], count: '3' })
})

test('tenant and path of the header say which registrations there are', async (t) => {
  const [broker, acme] = [await RunningBroker.tenant(), await RunningBroker.tenant()]
  const at = (path: string) => ({ 'Fiware-ServicePath': path })
  const north = await made(t, broker, { ...minimal, description: 'n' }, at('/north'))
  await made(t, broker, { ...minimal, description: 'q' }, at('/north/quay'))
  await made(t, broker, { ...minimal, description: 'root' })
  await made(t, acme, { ...minimal, description: 'acme' })
  const found = async (path: string) => (await listed(broker, '', at(path))).descriptions
  t.same(await found('/north'), ['n'])
  t.same(await found('/'), ['root'])
  t.same(await found('/north/#'), [], 'none is written so')
  t.same(await found('/north, /'), ['n', 'root'])
  t.same(await found('/#'), ['n', 'q', 'root'])
  t.same((await listed(broker)).descriptions, ['n', 'q', 'root'])
  for (const [headers, status] of [
    [at('/north'), 200],
    [at('/#'), 200],
    [at('/south'), 404],
    [at('/north/#'), 404],
  ] as const) {
    t.equal((await broker.send('GET', north, undefined, headers)).status, status, JSON.stringify(headers))
  }
  for (const path of ['/a, /b', '/a/#', '/#']) {
    const { status, json } = await broker.send('POST', '/v2/registrations', minimal, at(path))
    const description = 'max one service-path without # allowed for registrations'
    t.same([status, json], [400, { error: 'BadRequest', description }], path)
  }
  for (const verb of ['GET', 'DELETE']) t.equal((await acme.send(verb, north)).status, 404, `${verb} in another tenant`)
  t.equal((await broker.send('DELETE', north, undefined, at('/south'))).status, 204, 'whatever the path')
})

test('an id is taken in either case', async (t) => {
  const broker = await RunningBroker.tenant()
  const id = (await made(t, broker)).split('/').at(-1) ?? ''
  const capitals = `/v2/registrations/${id.toUpperCase()}`
  t.match(await broker.send('GET', capitals), { status: 200, json: { id } })
  t.equal((await broker.send('DELETE', capitals)).status, 204)
  t.equal((await broker.send('GET', `/v2/registrations/${id}`)).status, 404)
})

test('what is deleted is gone, and unknown, malformed and empty ids are not found', async (t) => {
  const broker = await RunningBroker.tenant()
  const one = await made(t, broker)
  t.same((await broker.send('DELETE', one)).text, '')
  for (const path of [
    one,
    '/v2/registrations/x',
    '/v2/registrations/65A1F2F1C0DE00112233AABB',
    '/v2/registrations//',
  ]) {
    for (const verb of ['GET', 'DELETE']) {
      const { status, json } = await broker.send(verb, path)
      t.same([status, json], [404, unknown], `${verb} ${path}`)
    }
  }
})

test('other verbs are told which there are', async (t) => {
  const broker = await RunningBroker.tenant()
  const one = await made(t, broker)
  for (const [verb, path, allow] of [
    ['PATCH', one, 'GET, DELETE'],
    ['PUT', one, 'GET, DELETE'],
    ['DELETE', '/v2/registrations', 'POST, GET'],
  ] as const) {
    const { status, headers, json } = await broker.send(verb, path, verb === 'DELETE' ? undefined : minimal)
    t.same([status, headers.get('allow')], [405, allow])
    t.same(json, { error: 'MethodNotAllowed', description: 'method not allowed' })
  }
})

test('requests are counted under their names and by path and verb', async (t) => {
  const broker = await RunningBroker.start(t, ['-statCounters'])
  const one = await made(t, broker)
  await broker.send('GET', one)
  await broker.send('GET', '/v2/registrations')
  await broker.send('POST', '/v2/registrations', {})
  t.match((await broker.send('GET', '/statistics')).json, {
    registrationsRequest: 2,
    registrationRequest: 1,
    counters: { requests: { '/v2/registrations': { GET: 1, POST: 1 }, '/v2/registrations/{id}': { GET: 1 } } },
  })
})

test('each element of a registration of NGSIv1 is one of NGSIv2, which is deleted by itself', async (t) => {
  const broker = await RunningBroker.start(t)
  const element = (id: string, name: string, providingApplication: string) => ({
    entities: [{ type: 'Street', isPattern: 'false', id }],
    attributes: [{ name, type: 'dB', isDomain: 'false' }],
    providingApplication,
  })
  const contextRegistrations = [element('Street-4', 'noise', 'http://a/v1'), element('Street-5', 'dust', 'anything')]
  const registered = await broker.send('POST', '/v1/registry/registerContext', {
    contextRegistrations,
    duration: 'P1M',
  })
  const { registrationId } = registered.json as { readonly registrationId: string }
  const { json } = await broker.send('GET', '/v2/registrations')
  const expires = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
  const shown = (id: string, name: string, url: string) => ({
    expires,
    dataProvided: { entities: [{ id, type: 'Street' }], attrs: [name] },
    provider: { http: { url }, supportedForwardingMode: 'all', legacyForwarding: true },
    status: 'active',
  })
  t.match(json, [
    { id: registrationId, ...shown('Street-4', 'noise', 'http://a/v1') },
    { id: /^[0-9a-f]{24}$/, ...shown('Street-5', 'dust', 'anything') },
  ])
  const [, { id } = { id: '' }] = json as readonly { readonly id: string }[]
  t.match((await broker.send('GET', `/v2/registrations/${id}`)).json, shown('Street-5', 'dust', 'anything'))
  t.equal((await broker.send('DELETE', `/v2/registrations/${registrationId}`)).status, 204)
  await broker.end('SIGKILL')
  await broker.run()
  t.match((await broker.send('GET', '/v2/registrations')).json, [{ id, ...shown('Street-5', 'dust', 'anything') }])
  const discovery = { entities: [{ type: 'Street', isPattern: 'true', id: '.*' }] }
  const { text } = await broker.send('POST', '/v1/registry/discoverContextAvailability', discovery)
  t.notMatch(text, /Street-4/)
  t.match(text, /Street-5/)
})

test('NGSIv1 discovers registrations of NGSIv2, those of every id by each id of their type', async (t) => {
  const broker = await RunningBroker.tenant()
  await made(t, broker, { ...minimal, status: 'inactive' })
  await made(t, broker, entity({ idPattern: '.*', type: 'Street' }))
  await made(t, broker, entity({ id: 'Street-4' }))
  const discovered = async (id: string, isPattern: string, type?: string) => {
    const body = { entities: [{ ...(type && { type }), isPattern, id }] }
    const { json } = await broker.send('POST', '/v1/registry/discoverContextAvailability', body)
    const found = json as { contextRegistrationResponses?: { contextRegistration: { entities: unknown } }[] }
    return found.contextRegistrationResponses?.map(({ contextRegistration }) => contextRegistration)
  }
  const providingApplication = http.url
  const one = {
    entities: [{ type: 'Street', isPattern: 'false', id: 'Street-4' }],
    attributes: [{ name: 'noise', type: '', isDomain: 'false' }],
    providingApplication,
  }
  const every = { entities: [{ type: 'Street', isPattern: 'true', id: '.*' }], providingApplication }
  const untyped = { entities: [{ type: '', isPattern: 'false', id: 'Street-4' }], providingApplication }
  t.same(await discovered('Street-4', 'false', 'Street'), [one, every])
  t.same(await discovered('Street-77', 'false', 'Street'), [every])
  t.same(await discovered('^Avenue', 'true', 'Street'), [every])
  t.same(await discovered('Street-4', 'false'), [one, every, untyped])
  t.same(await discovered('Street-4', 'false', 'Alley'), undefined)
})

test('availability subscriptions of NGSIv1 are notified of registrations of NGSIv2', async (t) => {
  const broker = await RunningBroker.tenant()
  const end = await FarEnd.listen(t)
  const entities = [{ type: 'Street', isPattern: 'false', id: 'Street-4' }]
  const subscription = { entities, reference: end.url(), duration: 'P1M' }
  t.equal((await broker.send('POST', '/v1/registry/subscribeContextAvailability', subscription)).status, 200)
  await made(t, broker, entity({ idPattern: '.*', type: 'Street' }))
  await made(t, broker)
  await until(() => end.received.length >= 2)
  const counts = end.bodies.map((body) => JSON.parse(body).contextRegistrationResponses.length)
  t.same(counts, [1, 2])
})
