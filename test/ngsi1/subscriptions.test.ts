import { test } from 'tap'
import type { SubscriptionChange, SubscriptionRequest, Unavailable } from '../../src/broker/front-end/broker.js'
import type { ServicePath } from '../../src/model/context/entity.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { err, ok } from '../../src/result.js'
import { counts, scripted, send, withSubscriptions } from './given.js'

const id = '5f0a1b2c3d4e5f6071829304' as SubscriptionId
const zeros = '000000000000000000000000'
const entities = [{ type: 'Greenhouse', isPattern: 'false', id: 'Greenhouse-7' }]
const reference = 'http://alerts.example:8080/inbox'
const onCo2 = [{ type: 'ONCHANGE', condValues: ['co2'] }]
const origin = { correlator: 'c', token: '' }
const twoPaths = ['/north', '/south'].map((path) => ({ path: path as ServicePath, below: true }))
const notFound = { code: '404', reasonPhrase: 'No context element found' }

function badRequest(details: string) {
  return { code: '400', reasonPhrase: 'Bad Request', details }
}

/** A broker whose subscriptions all exist, and what its service is asked. */
function givenService() {
  const requests: (SubscriptionRequest | SubscriptionChange | SubscriptionId)[] = []
  const broker = withSubscriptions({
    subscribe: async (what) => {
      requests.push(what)
      return ok(id)
    },
    change: async (what) => {
      requests.push(what)
      return ok(undefined)
    },
    unsubscribe: async (_, which) => {
      requests.push(which)
      return ok(undefined)
    },
  })
  return { broker, requests }
}

test('a subscription is answered with its id, its duration always and its throttling if it was given', async (t) => {
  const { broker, requests: request } = givenService()
  const subscribe = async (more: object) =>
    send(broker, 'POST', 'subscribeContext', { body: { entities, reference, ...more } })
  const response = (more: object) => ({
    status: 200,
    headers: undefined,
    body: { subscribeResponse: { subscriptionId: id, ...more } },
  })
  t.same(await subscribe({}), response({ duration: 'PT24H' }))
  t.same(await subscribe({ duration: '', throttling: '' }), response({ duration: 'PT24H' }))
  t.same(await subscribe({ duration: 'P1M', throttling: 'PT5S' }), response({ duration: 'P1M', throttling: 'PT5S' }))
  t.same(await subscribe({ throttling: 'PT0S' }), response({ duration: 'PT24H', throttling: 'PT0S' }))
  t.same(
    request.map((what) => typeof what === 'object' && [what.duration_ms, what.throttling_ms]),
    [
      [86_400_000, 0],
      [86_400_000, 0],
      [2_592_000_000, 5000],
      [86_400_000, 0],
    ],
  )
})

test('the service is asked for everything that a subscription is bound to', async (t) => {
  const { broker, requests: request } = givenService()
  const body = {
    entities: [...entities, { id: 'iosk', isPattern: true }],
    attributes: ['airTemp', 'co2', 'airTemp'],
    reference,
    notifyConditions: onCo2,
    restriction: { scopes: [{ type: 'FIWARE::Filter::!::Existence', value: 'entity::type' }] },
  }
  await send(broker, 'POST', 'subscribeContext?exist=entity::type', {
    body,
    headers: { 'fiware-service': 'Acme', 'x-auth-token': 'secret' },
    paths: twoPaths.slice(0, 1),
    options: { multiservice: true },
  })
  await send(broker, 'POST', 'contextSubscriptions?exist=entity::type', { body: { entities, reference } })
  const green = { id: { kind: 'exact', id: 'Greenhouse-7' }, type: 'Greenhouse' }
  t.same(request, [
    {
      tenant: 'acme',
      path: { path: '/north', below: true },
      selectors: [green, { id: { kind: 'pattern', pattern: 'iosk' }, type: undefined }],
      attributes: ['airTemp', 'co2'],
      reference,
      duration_ms: 86_400_000,
      throttling_ms: 0,
      onChange: ['co2'],
      interval_ms: undefined,
      scopes: [{ kind: 'untyped' }],
      origin: { correlator: 'c', token: 'secret', service: 'acme' },
    },
    {
      tenant: '',
      path: { path: '/', below: true },
      selectors: [green],
      attributes: [],
      reference,
      duration_ms: 86_400_000,
      throttling_ms: 0,
      onChange: [],
      interval_ms: undefined,
      scopes: [{ kind: 'typed' }],
      origin,
    },
  ])
})

test('a subscription that is refused is answered without an id, in the words of the payload', async (t) => {
  const refusals: readonly (readonly [body: unknown, details: string])[] = [
    ['{', 'JSON Parse Error'],
    [{ entities, reference, colour: 'green' }, 'JSON Parse Error: unknown field: /colour'],
    [{ entities, reference: 'http://a/b=c' }, 'Illegal value for JSON field'],
    [{}, 'invalid payload: No entities'],
    [{ entities }, 'invalid payload: Empty Reference'],
  ]
  const { broker, requests: request } = givenService()
  for (const [body, details] of refusals) {
    for (const operation of ['subscribeContext', 'contextSubscriptions']) {
      const response = { status: 200, headers: undefined, body: { subscribeError: { errorCode: badRequest(details) } } }
      t.same(await send(broker, 'POST', operation, { body }), response)
    }
  }
  t.same(request, [])
})

test('a subscription has one path, which is looked at when everything else is right', async (t) => {
  const { broker, requests: request } = givenService()
  const errorCode = badRequest('max one service-path allowed for subscriptions')
  const create = { body: { entities, reference }, paths: twoPaths }
  t.same((await send(broker, 'POST', 'subscribeContext', create)).body, { subscribeError: { errorCode } })
  t.match((await send(broker, 'POST', 'subscribeContext', { paths: twoPaths, body: {} })).body, {
    subscribeError: { errorCode: { details: 'invalid payload: No entities' } },
  })
  const change = { body: { subscriptionId: id, duration: 'P1M' }, paths: twoPaths }
  t.same((await send(broker, 'POST', 'updateContextSubscription', change)).body, {
    subscribeError: { subscriptionId: id, errorCode },
  })
  t.same(request, [])
  await send(broker, 'POST', 'unsubscribeContext', { body: { subscriptionId: id }, paths: twoPaths })
  t.same(request, [id], 'cancelling does not look at paths')
})

test('a malformed tenant is an error of HTTP level after the payload', async (t) => {
  const { broker, requests: request } = givenService()
  const headers = { 'fiware-service': 'a-b' }
  const bodies = [
    ['subscribeContext', { entities, reference }],
    ['updateContextSubscription', { subscriptionId: id }],
    ['unsubscribeContext', { subscriptionId: id }],
    ['unsubscribeContext', {}],
  ] as const
  for (const [operation, body] of bodies) {
    t.match((await send(broker, 'POST', operation, { headers, body })).body, { orionError: { code: '400' } })
  }
  t.match((await send(broker, 'POST', 'subscribeContext', { headers, body: {} })).body, { subscribeError: {} })
  t.same(request, [])
})

test('a change is answered with what it was given, and gives the service nothing else', async (t) => {
  const { broker, requests: request } = givenService()
  const changed = async (body: object, more: object = {}) =>
    (await send(broker, 'POST', 'updateContextSubscription', { body: { subscriptionId: id, ...body }, ...more })).body
  const response = (more: object) => ({ subscribeResponse: { subscriptionId: id, ...more } })
  t.same(await changed({}), response({}))
  t.same(await changed({ duration: 'P2M', throttling: '' }), response({ duration: 'P2M' }))
  t.same(await changed({ throttling: 'PT0S' }, { paths: twoPaths.slice(1) }), response({ throttling: 'PT0S' }))
  const scopes = [{ type: 'FIWARE::Filter::Existence', value: 'entity::type' }]
  t.same(await changed({ notifyConditions: onCo2, restriction: { scopes } }), response({}))
  t.same(await changed({ notifyConditions: [] }), response({}))
  const nothing = { path: undefined, duration_ms: undefined, throttling_ms: undefined, conditions: undefined }
  const same = { tenant: '', id, ...nothing, scopes: undefined, origin }
  t.same(request, [
    same,
    { ...same, duration_ms: 5_184_000_000 },
    { ...same, throttling_ms: 0, path: { path: '/south', below: true } },
    { ...same, conditions: { onChange: ['co2'], interval_ms: undefined }, scopes: [{ kind: 'typed' }] },
    same,
  ])
})

test('a change that is refused is answered with the id as given, or zeros when there is none', async (t) => {
  const short = { subscriptionId: '12ab' }
  const refusals: readonly (readonly [body: unknown, subscriptionId: string, status: object])[] = [
    ['[', zeros, badRequest('JSON Parse Error')],
    [{ subscriptionId: id, reference }, zeros, badRequest('JSON Parse Error: unknown field: /reference')],
    [{ subscriptionId: id, entities }, zeros, badRequest('JSON Parse Error: unknown field: /entities')],
    [{ ...short, duration: '1H' }, '12ab', badRequest('syntax error in duration string')],
    [{ duration: '1H' }, zeros, badRequest('syntax error in duration string')],
    [{ ...short, throttling: '5' }, '12ab', badRequest('bad length - 24 chars expected')],
    [
      { subscriptionId: 'greenhouse-seven-is-here' },
      'greenhouse-seven-is-here',
      badRequest('invalid char in ID string'),
    ],
    [{ subscriptionId: id, restriction: {}, throttling: '5' }, id, badRequest('empty restriction')],
    [
      { subscriptionId: id, notifyConditions: [{ type: 'ONWHIM' }], throttling: '5' },
      id,
      badRequest('invalid notify condition type: /ONWHIM/'),
    ],
    [{ subscriptionId: id, throttling: '5' }, id, badRequest('syntax error in throttling string')],
    [{ throttling: '5' }, zeros, badRequest('syntax error in throttling string')],
    [{}, zeros, notFound],
    [{ subscriptionId: '', duration: 'PT1H' }, zeros, notFound],
    [{ subscriptionId: id, duration: 'PT1H' }, id, notFound],
    [{ subscriptionId: id.toUpperCase() }, id.toUpperCase(), notFound],
  ]
  for (const [body, subscriptionId, errorCode] of refusals) {
    const response = await send(scripted(), 'POST', 'updateContextSubscription', { body })
    t.same(response.body, { subscribeError: { subscriptionId, errorCode } }, JSON.stringify(body))
    t.equal(response.status, 200)
  }
})

test('the payload of PUT repeats the id of the path', async (t) => {
  const { broker, requests: request } = givenService()
  const put = async (inPath: string, body: object) =>
    (await send(broker, 'PUT', `contextSubscriptions/${inPath}`, { body })).body
  const unmatching = (inPath: string, inBody: string) => ({
    subscribeError: {
      subscriptionId: zeros,
      errorCode: badRequest(`unmatching subscriptionId URI/payload: /${inPath}/ vs /${inBody}/`),
    },
  })
  const other = '5f0a1b2c3d4e5f6071829302'
  t.same(await put(other, { subscriptionId: id, duration: 'P1Y' }), unmatching(other, id))
  t.same(await put(other, {}), unmatching(other, ''))
  t.same(await put('12ab', { subscriptionId: id }), unmatching('12ab', id))
  t.same(await put('12ab', { subscriptionId: '12ab' }), {
    subscribeError: { subscriptionId: '12ab', errorCode: badRequest('bad length - 24 chars expected') },
  })
  t.same(request, [])
  const response = { subscribeResponse: { subscriptionId: id, duration: 'P1Y' } }
  t.same(await put(id.toUpperCase(), { subscriptionId: id, duration: 'P1Y' }), response)
  t.match(request, [{ id, duration_ms: 31_536_000_000 }])
})

test('an unsubscription answers the id and what became of it', async (t) => {
  const responses: readonly (readonly [body: unknown, subscriptionId: string, status: object])[] = [
    [{}, zeros, notFound],
    [{ subscriptionId: '' }, zeros, notFound],
    ['"x"', zeros, badRequest('JSON Parse Error')],
    [{ subscriptionId: id, duration: 'PT1S' }, zeros, badRequest('JSON Parse Error: unknown field: /duration')],
    [{ subscriptionId: '12ab' }, zeros, badRequest('Invalid Subscription Id: /12ab/: bad length - 24 chars expected')],
    [
      { subscriptionId: 'greenhouse-seven-is-here' },
      zeros,
      badRequest('Invalid Subscription Id: /greenhouse-seven-is-here/: invalid char in ID string'),
    ],
    [{ subscriptionId: id }, id, { ...notFound, details: `subscriptionId: /${id}/` }],
  ]
  for (const [body, subscriptionId, statusCode] of responses) {
    const response = await send(scripted(), 'POST', 'unsubscribeContext', { body })
    t.same(response, { status: 200, headers: undefined, body: { subscriptionId, statusCode } }, JSON.stringify(body))
  }
  const { broker, requests: request } = givenService()
  const body = { subscriptionId: id.toUpperCase() }
  t.same((await send(broker, 'POST', 'unsubscribeContext', { body })).body, {
    subscriptionId: id.toUpperCase(),
    statusCode: { code: '200', reasonPhrase: 'OK' },
  })
  t.same(request, [id])
})

test('DELETE answers like an unsubscription, but a malformed id is an unknown one', async (t) => {
  const cancelled = async (given: string) => (await send(scripted(), 'DELETE', `contextSubscriptions/${given}`)).body
  t.same(await cancelled('12ab'), { subscriptionId: '12ab', statusCode: notFound })
  t.same(await cancelled(id), {
    subscriptionId: id,
    statusCode: { ...notFound, details: `subscriptionId: /${id}/` },
  })
  const { broker, requests: request } = givenService()
  t.same((await send(broker, 'DELETE', `contextSubscriptions/${id}`)).body, {
    subscriptionId: id,
    statusCode: { code: '200', reasonPhrase: 'OK' },
  })
  t.same(request, [id])
})

test('payloads that are refused are not counted, ids that are not found are', async (t) => {
  const { broker } = givenService()
  t.notOk(await counts(broker, 'POST', 'subscribeContext', { body: { entities } }))
  t.notOk(await counts(broker, 'POST', 'updateContextSubscription', { body: { subscriptionId: '12ab' } }))
  t.notOk(await counts(broker, 'POST', 'unsubscribeContext', { body: { subscriptionId: '12ab' } }))
  t.ok(await counts(broker, 'POST', 'updateContextSubscription', { body: {} }))
  t.ok(await counts(broker, 'POST', 'unsubscribeContext', { body: {} }))
  t.ok(await counts(broker, 'PUT', `contextSubscriptions/${id}`, { body: {} }))
  t.ok(await counts(broker, 'DELETE', 'contextSubscriptions/12ab'))
})

test('what the broker can not do now is answered 503, to be tried again', async (t) => {
  const full: Unavailable = { kind: 'storageFull' }
  const no = async () => err(full)
  const broker = withSubscriptions({ subscribe: no, change: no, unsubscribe: no })
  const storageFull = { code: '503', reasonPhrase: 'Service Unavailable', details: 'storage full' }
  const response = { status: 503, headers: { 'Retry-After': '60' }, body: { orionError: storageFull } }
  const body = { subscriptionId: id }
  t.same(await send(broker, 'POST', 'subscribeContext', { body: { entities, reference } }), response)
  t.same(await send(broker, 'POST', 'updateContextSubscription', { body }), response)
  t.same(await send(broker, 'POST', 'unsubscribeContext', { body }), response)
  t.same(await send(broker, 'DELETE', `contextSubscriptions/${id}`), response)
})
