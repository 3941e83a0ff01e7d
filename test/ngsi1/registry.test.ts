import { test } from 'tap'
import type { ApiRequest, Verb } from '../../src/broker/operations/api.js'
import type { PathRange } from '../../src/model/context/query.js'
import { now } from '../../src/time.js'
import { openRegistry } from '../coordinator/given-registry.js'
import { path } from '../given.js'
import { scripted, send } from './given.js'

const zeros = '000000000000000000000000'
const absent = '5f0a1b2c3d4e5f6071829300'
const street4 = { type: 'Street', isPattern: 'false', id: 'Street-4' }
const noise = { name: 'noise', type: 'dB', isDomain: 'false' }
const providingApplication = 'http://sensors.example:9000/v1'
const registration = { entities: [street4], attributes: [noise], providingApplication }
const body = { contextRegistrations: [registration], duration: 'P1M' }
const subscription = { entities: [street4], reference: 'http://maps.example:8080/sources' }

interface Given {
  readonly headers?: ApiRequest['headers']
  readonly paths?: readonly PathRange[]
  readonly strictNgsiv1Ids?: boolean
}

type Test = { testdir(): string; teardown(work: () => unknown): void }

/** A broker whose registry is a real one, on disk, at the time of the day, since discoveries go by that. */
function registryOf(t: Test) {
  const open = openRegistry(t.testdir(), { clock: now })
  t.teardown(() => open.metadata.close())
  const broker = scripted({ registry: open.registry })
  const call = async (
    verb: Verb,
    target: string,
    what: unknown = '',
    { strictNgsiv1Ids = false, ...given }: Given = {},
  ) => {
    const options = { multiservice: true, strictNgsiv1Ids }
    const response = await send(broker, verb, `registry/${target}`, { ...given, body: what, options })
    return response.status === 200 ? response.body : [response.status, response.body]
  }
  return { ...open, call }
}

function status(code: '200' | '400' | '404', details?: string) {
  const reasonPhrase = { 200: 'OK', 400: 'Bad Request', 404: 'No context element found' }[code]
  return { code, reasonPhrase, ...(details === undefined ? {} : { details }) }
}

const ok = status('200')
const below = (text: string): PathRange => ({ path: path(text), below: true })
const at = (text: string): PathRange => ({ path: path(text), below: false })

/** The id in a response that is nothing else but it and what is expected. */
function idIn(
  t: Test & { same(a: unknown, b: unknown): void },
  member: string,
  response: unknown,
  expected: object,
): string {
  const { [member]: id, ...others } = response as Record<string, string>
  t.same(others, expected)
  return id ?? ''
}

/** What the parser finds, whatever the operation [subscriptions 1.3]. */
const unreadable = [
  ['{ "entities": [', 'JSON Parse Error'],
  [{ colour: 'red' }, 'JSON Parse Error: unknown field: /colour'],
] as const

test('registerContext answers the duration and the id, by default a day', async (t) => {
  const { call, registry } = registryOf(t)
  const id = idIn(t, 'registrationId', await call('POST', 'registerContext', body), { duration: 'P1M' })
  t.match(id, /^[0-9a-f]{24}$/)
  t.same(await call('POST', 'registerContext', { ...body, registrationId: id, duration: 'PT5H' }), {
    duration: 'PT5H',
    registrationId: id,
  })
  t.equal(registry.index.size, 1)
  for (const duration of [undefined, '']) {
    idIn(t, 'registrationId', await call('POST', 'registerContext', { ...body, duration }), { duration: 'PT24H' })
  }
})

test('a registered attribute without isDomain is no domain', async (t) => {
  const { call } = registryOf(t)
  for (const isDomain of [undefined, '']) {
    const attributes = [{ name: 'noise', type: 'dB', isDomain }]
    const what = { ...body, contextRegistrations: [{ ...registration, attributes }] }
    idIn(t, 'registrationId', await call('POST', 'registerContext', what), { duration: 'P1M' })
    t.match(await call('POST', 'discoverContextAvailability', { entities: [street4] }), {
      contextRegistrationResponses: [{ contextRegistration: { attributes: [noise] } }],
    })
  }
})

test('registerContext refuses what is wrong, with the id that was given', async (t) => {
  const { call, registry } = registryOf(t)
  const changed = (change: object) => ({ ...body, contextRegistrations: [{ ...registration, ...change }] })
  const metadatas = [{ name: 'window', type: 'string', value: '' }]
  const rows: readonly (readonly [object, string])[] = [
    [{}, 'Empty Context Registration List'],
    [changed({ entities: [street4, { type: 'Street' }] }), 'empty entityId:id'],
    [
      changed({ entities: [{ ...street4, isPattern: 'true' }] }),
      'isPattern set to true for registrations is currently not supported',
    ],
    [changed({ entities: [{ ...street4, isPattern: 'maybe' }] }), 'invalid isPattern value for entity: /maybe/'],
    [changed({ attributes: [{ type: 'dB', isDomain: 'false' }] }), 'missing name for registration attribute'],
    [
      changed({ attributes: [{ ...noise, isDomain: 'partly' }] }),
      'invalid isDomain value for registration attribute: /partly/',
    ],
    [changed({ attributes: [{ ...noise, metadatas }] }), 'missing metadata value'],
    [changed({ metadatas }), 'missing metadata value'],
    [changed({ providingApplication: '' }), 'no providing application'],
    [{ ...body, duration: '1 month' }, 'syntax error in duration string'],
  ]
  for (const [what, details] of rows) {
    const errorCode = status('400', details)
    t.same(await call('POST', 'registerContext', what), { registrationId: zeros, errorCode }, details)
    const given = { ...what, registrationId: absent }
    t.same(await call('POST', 'registerContext', given), { registrationId: absent, errorCode }, `${details} with id`)
  }
  for (const [registrationId, details] of [
    ['12ab', 'bad length - 24 chars expected'],
    ['z0a1b2c3d4e5f60718293000', 'invalid char in ID string'],
  ] as const) {
    const expected = { registrationId, errorCode: status('400', details) }
    t.same(await call('POST', 'registerContext', { ...body, registrationId }), expected)
  }
  for (const [what, details] of unreadable) {
    t.same(await call('POST', 'registerContext', what), { registrationId: zeros, errorCode: status('400', details) })
  }
  const unknownDeep = { contextRegistrations: [{ ...registration, attributes: [{ ...noise, unit: 'dB' }] }] }
  const where = '/contextRegistrations/contextRegistration/attributes/attribute/unit'
  t.match(await call('POST', 'registerContext', unknownDeep), {
    errorCode: { details: `JSON Parse Error: unknown field: ${where}` },
  })
  const forbidden = changed({ providingApplication: 'http://sensors.example?a=b' })
  t.match(await call('POST', 'registerContext', forbidden), { errorCode: { details: 'Illegal value for JSON field' } })
  t.equal(registry.index.size, 0)
})

test('a registration has one service path, in which alone it can be replaced', async (t) => {
  const { call } = registryOf(t)
  const paths = [at('/west')]
  for (const [wrong, details] of [
    [[at('/east'), at('/west')], 'more than one service path for notification'],
    [[below('/west')], 'Bad Character in Service-Path'],
  ] as const) {
    const given = { ...body, registrationId: absent }
    const expected = { registrationId: zeros, errorCode: status('400', details) }
    t.same(await call('POST', 'registerContext', given, { paths: wrong }), expected)
  }
  const id = idIn(t, 'registrationId', await call('POST', 'registerContext', body, { paths }), { duration: 'P1M' })
  const again = { ...body, registrationId: id.toUpperCase() }
  const unknown = {
    registrationId: id.toUpperCase(),
    errorCode: status('404', `registration id: /${id.toUpperCase()}/`),
  }
  t.same(await call('POST', 'registerContext', again), unknown)
  t.same(await call('POST', 'registerContext', again, { paths, headers: { 'fiware-service': 'acme' } }), unknown)
  t.same(await call('POST', 'registerContext', again, { paths }), { duration: 'P1M', registrationId: id })
})

test('a malformed tenant is found after the payload', async (t) => {
  const { call } = registryOf(t)
  const headers = { 'fiware-service': 'a-b' }
  const details = 'bad character in tenant name - only underscore and alphanumeric characters are allowed'
  for (const [target, what] of [
    ['registerContext', body],
    ['contextEntities/Street-4', { providingApplication }],
    ['discoverContextAvailability', { entities: [street4] }],
    ['subscribeContextAvailability', subscription],
    ['updateContextAvailabilitySubscription', { entities: [street4] }],
    ['unsubscribeContextAvailability', { subscriptionId: absent }],
    ['notifyContextAvailability', {}],
  ] as const) {
    t.same(await call('POST', target, what, { headers }), { orionError: status('400', details) }, target)
    t.match(JSON.stringify(await call('POST', target, '{', { headers })), 'JSON Parse Error', target)
  }
})

test('discovery shows the entities and attributes asked for, of the paths of the request', async (t) => {
  const { call } = registryOf(t)
  const street5 = { ...street4, id: 'Street-5' }
  const traffic = { name: 'traffic', type: 'cars', isDomain: 'true' }
  const both = { entities: [street4, street5], attributes: [noise, traffic], providingApplication }
  const other = { entities: [street4], providingApplication: 'http://other.example/ngsi' }
  await call('POST', 'registerContext', { contextRegistrations: [both, other] }, { paths: [at('/west')] })
  const shown = (...contexts: object[]) => ({
    contextRegistrationResponses: contexts.map((contextRegistration) => ({ contextRegistration })),
  })
  const discover = (what: object, given: Given = {}) => call('POST', 'discoverContextAvailability', what, given)
  t.same(await discover({ entities: [{ id: 'Street-.*', isPattern: '1' }] }), shown(both, other))
  t.same(
    await discover({ entities: [street5], attributes: ['traffic', 'ozone'] }),
    shown({ ...both, entities: [street5], attributes: [traffic] }),
  )
  t.same(
    await discover({ entities: [street4], attributes: ['noise'] }),
    shown({ ...both, entities: [street4], attributes: [noise] }),
  )
  const restriction = { attributeExpression: 'x', scopes: [{ type: 'T', value: 'a=b' }] }
  t.same(await discover({ entities: [street5], restriction }), shown({ ...both, entities: [street5] }))
  const notFound = { errorCode: status('404') }
  for (const paths of [[at('/west')], [at('/east'), at('/west')], [below('/')]]) {
    t.same(await discover({ entities: [street5] }, { paths }), shown({ ...both, entities: [street5] }))
  }
  t.same(await discover({ entities: [street5] }, { paths: [at('/east')] }), notFound)
  t.same(await discover({ entities: [street5] }, { headers: { 'fiware-service': 'acme' } }), notFound)
  t.same(await discover({ entities: [street4], attributes: ['ozone'] }), notFound)
  t.same(await discover({ entities: [{ ...street4, type: 'Alley' }] }), notFound)
})

test('discovery finds nothing without entities, and refuses what is wrong', async (t) => {
  const { call } = registryOf(t)
  t.same(await call('POST', 'discoverContextAvailability', {}), { errorCode: status('404') })
  for (const [what, details] of [
    ...unreadable,
    [{ entities: [{ ...street4, id: '' }] }, 'empty entityId:id'],
    [{ entities: [{ ...street4, isPattern: 'maybe' }] }, 'invalid isPattern value for entity: /maybe/'],
    [{ entities: [{ ...street4, isPattern: 'true', id: '[' }] }, 'invalid regex for entity id pattern'],
    [{ entities: [street4], attributes: [''] }, 'empty string'],
  ] as const) {
    t.same(await call('POST', 'discoverContextAvailability', what), { errorCode: status('400', details) })
  }
})

test('discovery counts registrations, and says so with details', async (t) => {
  const { call } = registryOf(t)
  for (const provider of ['a', 'b', 'c']) {
    await call('POST', 'contextEntities/Street-4', { providingApplication: provider })
  }
  const one = (provider: string) => ({
    contextRegistrationResponses: [
      {
        contextRegistration: {
          entities: [{ type: '', isPattern: 'false', id: 'Street-4' }],
          providingApplication: provider,
        },
      },
    ],
  })
  const from = (target: string) => call('GET', `contextEntities/Street-4?${target}`)
  t.same(await from('limit=1&offset=1'), one('b'))
  t.same(await from('limit=1&offset=2&details=on'), { ...one('c'), errorCode: status('200', 'Count: 3') })
  t.same(await from('offset=7&details=on'), {
    errorCode: status('404', 'Number of matching registrations: 3. Offset is 7'),
  })
  t.same(await from('offset=7'), { errorCode: status('404') })
  t.same(await call('GET', 'contextEntities/Street-5?details=on'), { errorCode: status('404') })
  const posted = await call('POST', 'discoverContextAvailability?limit=1', { entities: [{ id: 'Street-4' }] })
  t.same(posted, one('a'))
})

test('each convenience path registers and shows its own entity and attribute', async (t) => {
  for (const [target, id, type, name] of [
    ['contextEntities/Street-4', 'Street-4', '', undefined],
    ['contextEntities/Street-4/attributes', 'Street-4', '', undefined],
    ['contextEntities/Street-4/attributes/noise', 'Street-4', '', 'noise'],
    ['contextEntities/type/Street/id/Street-4', 'Street-4', 'Street', undefined],
    ['contextEntities/type/Street/id/Street-4/attributes/noise', 'Street-4', 'Street', 'noise'],
    ['contextEntityTypes/Street', '', 'Street', undefined],
    ['contextEntityTypes/Street/attributes', '', 'Street', undefined],
    ['contextEntityTypes/Street/attributes/noise', '', 'Street', 'noise'],
  ] as const) {
    const { call } = registryOf(t)
    t.same(await call('GET', target), { errorCode: status('404') }, target)
    const given = { providingApplication, duration: 'PT1H', metadatas: [{ name: 'owner', value: '' }] }
    const registrationId = idIn(t, 'registrationId', await call('POST', target, given), { duration: 'PT1H' })
    const attributes = name === undefined ? {} : { attributes: [{ name, type: '', isDomain: 'false' }] }
    const shown = { entities: [{ type, isPattern: 'false', id }], ...attributes, providingApplication }
    t.same(await call('GET', target), { contextRegistrationResponses: [{ contextRegistration: shown }] }, target)
    const again = { providingApplication: 'http://other.example', registrationId }
    t.same(await call('POST', target, again), { duration: 'PT24H', registrationId }, target)
    t.match(await call('GET', target), {
      contextRegistrationResponses: [{ contextRegistration: { providingApplication: 'http://other.example' } }],
    })
    const unknown = { ...again, registrationId: absent }
    t.same(await call('POST', target, unknown), {
      registrationId: absent,
      errorCode: status('404', `registration id: /${absent}/`),
    })
    t.same(await call('POST', target, given, { paths: [below('/a')] }), {
      registrationId: zeros,
      errorCode: status('400', 'Bad Character in Service-Path'),
    })
  }
})

test('a path of a type shows every entity of the type, a path of an id every type', async (t) => {
  const { call } = registryOf(t)
  await call('POST', 'registerContext', body)
  const shown = { contextRegistrationResponses: [{ contextRegistration: registration }] }
  for (const target of [
    'contextEntityTypes/Street',
    'contextEntities/Street-4',
    'contextEntities/Street-4/attributes/noise',
  ]) {
    t.same(await call('GET', target), shown, target)
  }
  t.same(await call('GET', 'contextEntities/type/Alley/id/Street-4'), { errorCode: status('404') })
  t.same(await call('GET', 'contextEntityTypes/Street/attributes/ozone'), { errorCode: status('404') })
})

test('a convenience registration that is wrong in itself is refused without an id', async (t) => {
  const { call } = registryOf(t)
  for (const [what, details] of [
    [{ duration: 'PT1H' }, 'no providing application'],
    [{ providingApplication, duration: 'PTx' }, 'syntax error in duration string'],
    [{ providingApplication, registrationId: '12ab' }, 'bad length - 24 chars expected'],
  ] as const) {
    t.same(await call('POST', 'contextEntities/Street-4', what), { errorCode: status('400', details) })
  }
  for (const [what, details] of unreadable) {
    const response = await call('POST', 'contextEntityTypes/Street', what)
    t.same(response, [400, { orionError: status('400', details) }])
  }
  const forbidden = [400, { orionError: status('400', 'invalid character in URI') }]
  const strict = { strictNgsiv1Ids: true }
  t.same(await call('POST', 'contextEntities/a%23b', { providingApplication }, strict), forbidden)
  t.same(await call('GET', 'contextEntities/a%23b', '', strict), forbidden)
})

test('parameters may not contradict the type in a path with type and id', async (t) => {
  const { call } = registryOf(t)
  for (const [parameters, details] of [
    ['entity::type=Alley', 'non-matching entity::types in URL'],
    ['!exist=entity::type', 'entity::type cannot be empty for this request'],
  ] as const) {
    const errorCode = status('400', details)
    const target = `contextEntities/type/Street/id/Street-4?${parameters}`
    t.same(await call('POST', target, { providingApplication }), { registrationId: zeros, errorCode })
    t.same(await call('GET', target), { errorCode })
  }
  t.same(await call('GET', 'contextEntities/type/Street/id/Street-4?entity::type=Street'), { errorCode: status('404') })
})

test('subscribing to availability answers the id and the duration', async (t) => {
  for (const target of ['subscribeContextAvailability', 'contextAvailabilitySubscriptions']) {
    const { call, metadata, registry } = registryOf(t)
    await call('POST', 'registerContext', body, { paths: [at('/west')] })
    const more = { attributes: ['noise'], duration: 'P1M', restriction: {} }
    const response = await call('POST', target, { ...subscription, ...more }, { paths: [at('/a'), below('/b')] })
    const id = idIn(t, 'subscriptionId', response, { duration: 'P1M' })
    t.match(id, /^[0-9a-f]{24}$/)
    idIn(t, 'subscriptionId', await call('POST', target, subscription), { duration: 'PT24H' })
    t.same(JSON.parse(metadata.notices()[0]?.body ?? ''), {
      subscriptionId: id,
      contextRegistrationResponses: [{ contextRegistration: registration }],
    })
    t.match(metadata.notices()[0], { correlator: 'c', token: '', paths: ['/'] })
    t.match(await registry.states({}), [{ reference: subscription.reference }, {}])
  }
})

test('subscriptions to availability that are wrong are refused', async (t) => {
  const { call, registry } = registryOf(t)
  const wrong: readonly (readonly [object | string, string])[] = [
    ...unreadable,
    [{}, 'No entities'],
    [{ ...subscription, entities: [{ type: 'Street' }] }, 'empty entityId:id'],
    [
      { ...subscription, entities: [{ ...street4, isPattern: 'maybe' }] },
      'invalid isPattern value for entity: /maybe/',
    ],
    [{ ...subscription, entities: [{ isPattern: 'true', id: '[' }] }, 'invalid regex for entity id pattern'],
    [
      { ...subscription, entities: [{ isPattern: 'true', id: '[a-z]{99}{999}' }] },
      'invalid regex for entity id pattern',
    ],
    [{ ...subscription, attributes: ['noise', ''] }, 'empty string'],
    [{ entities: [street4] }, 'Empty Reference'],
    [{ ...subscription, reference: 'warehouse:eighty' }, 'Invalid URL'],
    [{ ...subscription, duration: '1 month' }, 'syntax error in duration string'],
    [{ ...subscription, throttling: 'PT5S' }, 'JSON Parse Error: unknown field: /throttling'],
  ]
  for (const [what, details] of wrong) {
    const expected = { subscriptionId: zeros, errorCode: status('400', details) }
    t.same(await call('POST', 'subscribeContextAvailability', what), expected)
    t.same(await call('POST', 'contextAvailabilitySubscriptions', what), expected)
  }
  t.same(await registry.states({}), [])
})

test('an availability subscription is changed, with its duration in the response only if it was given', async (t) => {
  const { call, metadata } = registryOf(t)
  await call('POST', 'registerContext', body)
  const request = { ...subscription, entities: [{ id: 'Street-5' }] }
  const { subscriptionId } = (await call('POST', 'subscribeContextAvailability', request)) as { subscriptionId: string }
  const change = { subscriptionId, entities: [street4] }
  t.same(await call('POST', 'updateContextAvailabilitySubscription', change), { subscriptionId })
  const longer = { ...change, duration: 'P2M', attributes: ['noise'] }
  const put = `contextAvailabilitySubscriptions/${subscriptionId}`
  t.same(await call('POST', 'updateContextAvailabilitySubscription', longer), { subscriptionId, duration: 'P2M' })
  t.same(await call('PUT', put, longer), { subscriptionId, duration: 'P2M' })
  t.equal(metadata.notices().length, 3)
})

test('changes of availability subscriptions that are wrong are refused with the id that was given', async (t) => {
  const { call } = registryOf(t)
  const operation = 'updateContextAvailabilitySubscription'
  const change = { subscriptionId: absent, entities: [street4] }
  for (const [what, details] of [
    [{ subscriptionId: absent }, 'No entities'],
    [{ ...change, duration: '1 month' }, 'syntax error in duration string'],
  ] as const) {
    t.same(await call('POST', operation, what), { subscriptionId: absent, errorCode: status('400', details) })
    const { subscriptionId: _, ...without } = what
    t.same(await call('POST', operation, without), { subscriptionId: zeros, errorCode: status('400', details) })
  }
  for (const [what, details] of [
    ...unreadable,
    [{ ...change, reference: 'http://a' }, 'JSON Parse Error: unknown field: /reference'],
  ] as const) {
    t.same(await call('POST', operation, what), { subscriptionId: zeros, errorCode: status('400', details) })
  }
  t.same(await call('POST', operation, { ...change, subscriptionId: '12ab' }), {
    subscriptionId: '12ab',
    errorCode: status('400', 'bad length - 24 chars expected'),
  })
  t.same(await call('POST', operation, change), { subscriptionId: absent, errorCode: status('404') })
  t.same(await call('POST', operation, { entities: [street4] }), { subscriptionId: zeros, errorCode: status('404') })
})

test('PUT has to repeat the id, and reports a malformed one of the payload first', async (t) => {
  const { call } = registryOf(t)
  const other = '5f0a1b2c3d4e5f6071829301'
  const target = `contextAvailabilitySubscriptions/${absent}`
  const put = (subscriptionId: string | undefined) => call('PUT', target, { subscriptionId, entities: [street4] })
  const differs = (text: string) => ({
    subscriptionId: zeros,
    errorCode: status('400', `unmatching subscriptionId URI/payload: /${absent}/ vs /${text}/`),
  })
  t.same(await put(other), differs(other))
  t.same(await put(undefined), differs(''))
  t.same(await put('12ab'), { subscriptionId: '12ab', errorCode: status('400', 'bad length - 24 chars expected') })
  t.same(await put(absent), { subscriptionId: absent, errorCode: status('404') })
})

test('an availability subscription is cancelled once', async (t) => {
  const { call } = registryOf(t)
  const operation = 'unsubscribeContextAvailability'
  for (const how of ['POST', 'DELETE'] as const) {
    const { subscriptionId } = (await call('POST', 'subscribeContextAvailability', subscription)) as {
      subscriptionId: string
    }
    const cancel = () =>
      how === 'POST'
        ? call('POST', operation, { subscriptionId })
        : call('DELETE', `contextAvailabilitySubscriptions/${subscriptionId}`)
    t.same(await cancel(), { subscriptionId, statusCode: ok })
    t.same(await cancel(), { subscriptionId, statusCode: status('404') })
  }
  t.same(await call('POST', operation, { subscriptionId: '12ab' }), {
    subscriptionId: '12ab',
    statusCode: status('400', 'bad length - 24 chars expected'),
  })
  t.same(await call('DELETE', 'contextAvailabilitySubscriptions/12ab'), {
    subscriptionId: '12ab',
    statusCode: status('404'),
  })
  t.same(await call('POST', operation, {}), { subscriptionId: zeros, statusCode: status('404') })
  for (const [what, details] of unreadable) {
    t.same(await call('POST', operation, what), { subscriptionId: zeros, statusCode: status('400', details) })
  }
})

test('notifyContextAvailability registers what it tells in the path of the request', async (t) => {
  const { call, registry } = registryOf(t)
  const notification = { subscriptionId: absent, contextRegistrationResponses: [{ contextRegistration: registration }] }
  const paths = [at('/west')]
  for (const what of [
    notification,
    notification,
    { contextRegistrationResponses: notification.contextRegistrationResponses },
    {},
  ]) {
    t.same(await call('POST', 'notifyContextAvailability', what, { paths }), { responseCode: ok })
  }
  t.equal(registry.index.size, 2)
  t.same(await call('GET', 'contextEntityTypes/Street?limit=1', '', { paths }), {
    contextRegistrationResponses: [{ contextRegistration: registration }],
  })
})

test('notifyContextAvailability takes what this broker notifies of: every id, and every entity of a type', async (t) => {
  const { call, registry } = registryOf(t)
  const told = [
    { id: '.*', type: 'Street', isPattern: 'true' },
    { id: '', type: 'Lane', isPattern: 'false' },
  ]
  const contextRegistration = { ...registration, entities: told }
  const what = { subscriptionId: absent, contextRegistrationResponses: [{ contextRegistration }] }
  for (const _ of [1, 2]) t.same(await call('POST', 'notifyContextAvailability', what), { responseCode: ok })
  t.equal(registry.index.size, 1, 'the same replaces its earlier copy')
  const entities = [street4, { id: '.*', isPattern: 'true', type: 'Lane' }]
  t.same(await call('POST', 'discoverContextAvailability', { entities }), {
    contextRegistrationResponses: [{ contextRegistration }],
  })
})

test('notifyContextAvailability refuses what is wrong', async (t) => {
  const { call, registry } = registryOf(t)
  const changed = (change: object) => ({
    contextRegistrationResponses: [{ contextRegistration: { ...registration, ...change } }],
  })
  for (const [what, details] of [
    ...unreadable,
    [{ ...changed({}), subscriptionId: '12ab' }, 'bad length - 24 chars expected'],
    [{ contextRegistrationResponses: [{}] }, 'No entities'],
    [changed({ entities: [] }), 'No entities'],
    [changed({ providingApplication: '' }), 'no providing application'],
    [
      changed({ entities: [{ ...street4, id: 'S.*', isPattern: 'true' }] }),
      'isPattern set to true for registrations is currently not supported',
    ],
  ] as const) {
    t.same(await call('POST', 'notifyContextAvailability', what), { responseCode: status('400', details) })
  }
  for (const [paths, details] of [
    [[at('/a'), at('/b')], 'more than one service path for notification'],
    [[below('/a')], 'Bad Character in Service-Path'],
  ] as const) {
    const response = await call('POST', 'notifyContextAvailability', changed({}), { paths })
    t.same(response, { responseCode: status('400', details) })
  }
  t.equal(registry.index.size, 0)
})

test('a full disk is answered 503, and nothing was stored', async (t) => {
  const { call, metadata } = registryOf(t)
  const { subscriptionId } = (await call('POST', 'subscribeContextAvailability', subscription)) as {
    subscriptionId: string
  }
  metadata.full = true
  const full = [503, { orionError: { code: '503', reasonPhrase: 'Service Unavailable', details: 'storage full' } }]
  const notification = { contextRegistrationResponses: [{ contextRegistration: registration }] }
  t.same(await call('POST', 'registerContext', body), full)
  t.same(await call('POST', 'contextEntities/Street-4', { providingApplication }), full)
  t.same(await call('POST', 'notifyContextAvailability', notification), full)
  t.same(await call('POST', 'subscribeContextAvailability', subscription), full)
  t.same(await call('POST', 'updateContextAvailabilitySubscription', { subscriptionId, entities: [street4] }), full)
  t.same(await call('POST', 'unsubscribeContextAvailability', { subscriptionId }), full)
  t.same([...metadata.registrations()], [])
  t.equal([...metadata.availability()].length, 1)
})
