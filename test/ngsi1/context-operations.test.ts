import { test } from 'tap'
import { updateContext } from '../../src/api/ngsi1/context-operations.js'
import type { Unavailable } from '../../src/broker/front-end/broker.js'
import type { EntityType, ServicePath } from '../../src/model/context/entity.js'
import type { Query } from '../../src/model/context/query.js'
import { err, ok } from '../../src/result.js'
import { LongPayloads } from '../../src/slices.js'
import { waiting } from '../given.js'
import { attribute, done, entity, plainOptions, recording, scripted, send } from './given.js'

const okStatus = { code: '200', reasonPhrase: 'OK' }

function update(updateAction: string, ...contextElements: readonly unknown[]) {
  return { contextElements, updateAction }
}

const silo = { id: 'Silo1', type: 'Silo', attributes: [{ name: 'level', type: 'percent', value: '64' }] }

test('an update is echoed with empty values', async (t) => {
  t.same(await send(scripted(), 'POST', 'updateContext', { body: update('APPEND', silo) }), {
    status: 200,
    headers: undefined,
    body: {
      contextResponses: [
        {
          contextElement: {
            type: 'Silo',
            isPattern: 'false',
            id: 'Silo1',
            attributes: [{ name: 'level', type: 'percent', value: '' }],
          },
          statusCode: okStatus,
        },
      ],
    },
  })
})

test('the broker gets tenant, path, type, action and origin of an element', async (t) => {
  const { broker, updates } = recording()
  const sent = {
    headers: { 'fiware-service': 'Acme', 'x-auth-token': 'secret' },
    paths: [{ path: '/farm' as ServicePath, below: false }],
    options: { multiservice: true, ngsiv1Autocast: true, queryTimeout_ms: 30_000 },
    body: update('UPDATE', silo, { id: 'Silo2' }),
  }
  await send(broker, 'POST', 'updateContext', sent)
  await send(broker, 'POST', 'updateContext?!exist=entity::type', { body: update('UPDATE', silo, { id: 'Silo2' }) })
  const level = { name: 'level', type: 'percent', instance: '', value: '64', metadata: [] }
  const [origin, withoutToken] = [
    { correlator: 'c', token: 'secret', service: 'acme' },
    { correlator: 'c', token: '' },
  ]
  const farm = { tenant: 'acme', path: '/farm', action: 'UPDATE', autocast: true, origin }
  const root = { tenant: '', path: '/', action: 'UPDATE', origin: withoutToken }
  t.same(updates, [
    { ...farm, id: 'Silo1', type: 'Silo', attributes: [level] },
    { ...farm, id: 'Silo2', attributes: [] },
    // Only entities without a type are meant: Silo1 is none.
    { ...root, id: 'Silo2', type: '', attributes: [] },
  ])
})

test('elements that can not be right are answered in their places and not sent', async (t) => {
  const { broker, updates } = recording()
  const body = update('UPDATE', { id: 'a', isPattern: 'true', attributes: silo.attributes }, silo, {
    ...silo,
    id: 'b'.repeat(2000),
  })
  const response = await send(broker, 'POST', 'updateContext', { body })
  t.same(
    updates.map(({ id }) => id),
    ['Silo1'],
  )
  t.match(response.body, {
    contextResponses: [
      { contextElement: { id: 'a', isPattern: 'true' }, statusCode: { code: '501' } },
      { contextElement: { id: 'Silo1' }, statusCode: okStatus },
      { statusCode: { code: '400', details: 'Too long entity id/type/servicePath combination' } },
    ],
  })
})

test('items for missing attributes come after those of all elements, with the attributes they speak of', async (t) => {
  const broker = scripted({
    update: async (elements) =>
      ok(
        elements.map(({ id, type = '' as EntityType }) => ({
          items: [{ id, type, shown: [1] }],
          missing: [{ id, type, shown: [0], refusal: { kind: 'attributesMissing' } }],
        })),
      ),
  })
  const attributes = [
    { name: 'smell', value: '1' },
    { name: 'level', value: '2' },
  ]
  const body = update('UPDATE', { id: 'Silo1', attributes }, { id: 'Silo2', attributes })
  const item = (id: string, name: string, statusCode: unknown) => ({
    contextElement: { type: '', isPattern: 'false', id, attributes: [{ name, type: '', value: '' }] },
    statusCode,
  })
  const missing = (details: string) => ({ code: '404', reasonPhrase: 'No context element found', details })
  t.same((await send(broker, 'POST', 'updateContext', { body })).body, {
    contextResponses: [
      item('Silo1', 'level', okStatus),
      item('Silo2', 'level', okStatus),
      item('Silo1', 'smell', missing('Silo1')),
      item('Silo2', 'smell', missing('Silo2')),
    ],
  })
})

test('updates have one path', async (t) => {
  const paths = [{ path: '/a' as ServicePath, below: true }]
  const response = await send(scripted(), 'POST', 'updateContext', { body: update('UPDATE', silo), paths })
  t.match(response, { status: 200, body: { errorCode: { code: '400', details: 'Bad Character in Service-Path' } } })
})

test('a payload that is refused is HTTP 200 with an errorCode and is not counted', async (t) => {
  const operation = updateContext({ broker: scripted(), options: plainOptions }, new LongPayloads())
  const given = { segments: {}, parameters: new Map(), headers: {}, paths: [], correlator: '' }
  const request = { ...given, verb: 'POST', client: waiting } as const
  t.match(await operation.prepare({ ...request, body: '{}' }), { ok: false })
  t.match(await send(scripted(), 'POST', 'updateContext', { body: '[' }), {
    status: 200,
    body: { errorCode: { code: '400', reasonPhrase: 'Bad Request', details: 'JSON Parse Error' } },
  })
  t.match(await send(scripted(), 'POST', 'queryContext', { body: '{}' }), {
    status: 200,
    body: { errorCode: { code: '400', details: 'No entities' } },
  })
})

test('the tenant is checked after the payload and before the operation', async (t) => {
  const headers = { 'fiware-service': 'a-b' }
  const bad = { status: 200, body: { orionError: { code: '400', details: /^bad character in tenant name/ } } }
  const { broker, updates } = recording()
  t.match(await send(broker, 'POST', 'updateContext', { headers, body: update('UPDATE', silo) }), bad)
  t.match((await send(broker, 'POST', 'updateContext', { headers, body: '{}' })).body, { errorCode: {} })
  t.match(await send(broker, 'GET', 'contextEntities', { headers }), bad)
  t.match(await send(broker, 'DELETE', 'contextEntities/a', { headers }), bad)
  t.match(await send(broker, 'GET', 'contextTypes', { headers }), bad)
  t.same(updates, [])
})

const unavailable: readonly (readonly [
  Exclude<Unavailable['kind'], 'providerFull'>,
  details: string,
  retryAfter: string,
])[] = [
  ['partitionLost', 'partition not available', '1'],
  ['outcomeUnknown', 'partition not available: the update may have been carried out', '1'],
  ['storageFull', 'storage full', '60'],
  ['mailboxFull', 'too many updates are waiting', '1'],
  ['queriesFull', 'too many queries are waiting', '1'],
]

for (const [kind, details, retryAfter] of unavailable) {
  test(`${kind} is 503 and says when to come back`, async (t) => {
    const no = async () => err({ kind })
    const broker = scripted({ update: no, query: no, entities: no, types: no })
    const response = {
      status: 503,
      headers: { 'Retry-After': retryAfter },
      body: { orionError: { code: '503', reasonPhrase: 'Service Unavailable', details } },
    }
    t.same(await send(broker, 'POST', 'updateContext', { body: update('UPDATE', silo) }), response)
    t.same(await send(broker, 'POST', 'queryContext', { body: { entities: [{ id: 'a' }] } }), response)
    t.same(await send(broker, 'GET', 'contextEntities/a'), response)
    t.same(await send(broker, 'PUT', 'contextEntities/a/attributes/b', { body: { value: '1' } }), response)
    t.same(await send(broker, 'GET', 'contextTypes'), response)
  })
}

test('a query asks for what payload and parameters say', async (t) => {
  const queries: Query[] = []
  const broker = scripted({
    query: async (query) => {
      queries.push(query)
      return ok({ entities: [], count: undefined })
    },
  })
  const body = { entities: [{ id: 'Silo', isPattern: 'true', type: 'Silo' }], attributes: ['level'] }
  await send(broker, 'POST', 'queryContext?limit=5&offset=10&details=on&exist=entity::type', { body })
  t.same(queries, [
    {
      tenant: '',
      paths: [{ path: '/', below: true }],
      selectors: [{ id: { kind: 'pattern', pattern: 'Silo' }, type: 'Silo' }],
      attributes: ['level'],
      scopes: [],
      order: [],
      offset: 10,
      limit: 5,
      counted: true,
    },
  ])
})

test('a query is answered with its page and the number of all results', async (t) => {
  const query = async () => ok({ entities: [entity('Silo1', 'Silo', attribute('level', '64'))], count: 322 })
  const body = { entities: [{ id: 'Silo1' }] }
  const response = await send(scripted({ query }), 'POST', 'queryContext?details=on&attributesFormat=object', { body })
  t.same(response.body, {
    contextResponses: [
      {
        contextElement: {
          type: 'Silo',
          isPattern: 'false',
          id: 'Silo1',
          attributes: { level: { type: 'percent', value: '64' } },
        },
        statusCode: okStatus,
      },
    ],
    errorCode: { ...okStatus, details: 'Count: 322' },
  })
})

test('a page without results is 404 and says how many there are when that was asked for', async (t) => {
  const notFound = { code: '404', reasonPhrase: 'No context element found' }
  const response = async (count: number | undefined, parameters: string) => {
    const broker = scripted({ query: async () => ok({ entities: [], count }) })
    return (await send(broker, 'POST', `queryContext${parameters}`, { body: { entities: [{ id: 'a' }] } })).body
  }
  t.same(await response(undefined, '?offset=400'), { errorCode: notFound })
  t.same(await response(0, '?details=on'), { errorCode: notFound })
  t.same(await response(322, '?details=on&offset=400'), {
    errorCode: { ...notFound, details: 'Number of matching entities: 322. Offset is 400' },
  })
})

test('the request is echoed in the order of its elements also when many are sent', async (t) => {
  const ids = Array.from({ length: 50 }, (_, at) => `Silo${at}`)
  const broker = scripted({ update: async (elements) => ok(elements.map(done)) })
  const { body } = await send(broker, 'POST', 'updateContext', { body: update('APPEND', ...ids.map((id) => ({ id }))) })
  t.match(body, { contextResponses: ids.map((id) => ({ contextElement: { id } })) })
})

test('a query names no more than it may', async (t) => {
  const many = (number: number) => Array.from({ length: number }, (_, n) => `E${n}`)
  const tooMany = async (body: unknown, parameters = '') =>
    (await send(scripted(), 'POST', `queryContext${parameters}`, { body })).body
  const details = (text: string) => ({ errorCode: { code: '400', reasonPhrase: 'Bad Request', details: text } })
  const entities = [{ id: 'E1' }]
  t.same(
    await tooMany({ entities: many(15_000).map((id) => ({ id })) }),
    details('number of entities: 15000, max number supported: 1000'),
  )
  t.same(
    await tooMany({ entities, attributes: many(1001) }),
    details('number of attributes: 1001, max number supported: 1000'),
  )
  const scope = { type: 'FIWARE::Filter::Existence', value: 'entity::type' }
  t.same(
    await tooMany({ entities, restriction: { scopes: Array(101).fill(scope) } }),
    details('number of scopes: 101, max number supported: 100'),
  )
  const filter = { type: 'FIWARE::StringQuery', value: `a==${'x'.repeat(65_536)}` }
  t.same(await tooMany({ entities, restriction: { scopes: [filter] } }), details('q too long'))
  const vertices = Array.from({ length: 10_001 }, (_, n) => ({ latitude: String(n / 1000), longitude: String(n % 7) }))
  const area = { type: 'FIWARE::Location', value: { polygon: { vertices } } }
  t.same(await tooMany({ entities, restriction: { scopes: [area] } }), details('too many vertices for a polygon'))
})

test('what a query finds may be too much for a response, or too costly to find', async (t) => {
  const request = (kind: 'pageTooLarge' | 'queryTooCostly') =>
    send(scripted({ query: async () => err({ kind }) }), 'POST', 'queryContext', {
      body: { entities: [{ id: 'E1' }] },
    })
  t.match(await request('pageTooLarge'), {
    status: 413,
    body: { orionError: { code: '413', reasonPhrase: 'Request Entity Too Large', details: /smaller limit/ } },
  })
  t.match(await request('queryTooCostly'), {
    status: 400,
    body: { orionError: { code: '400', details: /regular expressions/ } },
  })
})
