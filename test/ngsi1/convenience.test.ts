import { test } from 'tap'
import type { Broker } from '../../src/broker/front-end/broker.js'
import type { Verb } from '../../src/broker/operations/api.js'
import type { Entity, EntityId, EntityType, ServicePath } from '../../src/model/context/entity.js'
import type { Query } from '../../src/model/context/query.js'
import type { UpdateItem } from '../../src/model/context/update.js'
import { ok } from '../../src/result.js'
import { attribute, entity, recording, scripted, send } from './given.js'

const okStatus = { code: '200', reasonPhrase: 'OK' }
const typed = 'contextEntities/type/Silo/id/Silo1'
const notFound = (details: string) => ({ code: '404', reasonPhrase: 'No context element found', details })
const badRequest = (details: string) => ({ code: '400', reasonPhrase: 'Bad Request', details })
const level = { name: 'level', type: 'percent', value: '64' }

function holding(...entities: readonly Entity[]): Broker {
  return scripted({
    entities: async (_tenant, _paths, id, type) =>
      ok(entities.filter((held) => held.id === id && (type === undefined || held.type === type))),
  })
}

function updating(...items: readonly UpdateItem[]): Broker {
  return scripted({ update: async () => ok([{ items, missing: [] }]) })
}

const tank = entity('Unit1', 'Tank', attribute('level', '1'))
const silo = entity(
  'Unit1',
  'Silo',
  attribute('level', '2', { instance: 'a' }),
  attribute('level', '3', { instance: 'b' }),
)
const bare = entity('Unit1', '', attribute('humidity', '40'))

test('an entity is shown alone and in the list of all that have its id', async (t) => {
  const shown = { type: 'Tank', isPattern: 'false', id: 'Unit1', attributes: [{ ...level, value: '1' }] }
  t.same((await send(holding(tank), 'GET', 'contextEntities/Unit1/attributes')).body, {
    contextElement: shown,
    contextElements: [shown],
    statusCode: okStatus,
  })
  t.same((await send(holding(tank), 'GET', 'contextEntities/type/Tank/id/Unit1')).body, {
    contextElement: shown,
    statusCode: okStatus,
  })
})

test('what is at hand is answered as what has to be read', async (t) => {
  const crowd = Array.from({ length: 21 }, (_, n) => entity('Unit1', `Type${n}`, attribute('level', String(n))))
  for (const held of [[], [tank], [tank, bare, silo], crowd]) {
    const read = holding(...held)
    const atHand: Broker = { ...read, recentEntities: () => held }
    for (const path of [
      '',
      '/attributes',
      '?limit=1',
      '?details=on&offset=1',
      '?entity::type=Silo',
      '?attributesFormat=object',
    ]) {
      const request = `contextEntities/Unit1${path}`
      const response = await send(read, 'GET', request)
      t.same(await send(atHand, 'GET', request), response, request)
      t.same(await send(atHand, 'GET', request), response, `${request}, once more`)
    }
  }
})

test('types, pages and numbers restrict the entities of an id', async (t) => {
  const types = async (parameters: string) => {
    const { body } = await send(holding(tank, bare, silo), 'GET', `contextEntities/Unit1?${parameters}`)
    const { contextElements, statusCode } = body as {
      contextElements: readonly { type: string }[]
      statusCode: { details?: string }
    }
    return [contextElements.map(({ type }) => type), statusCode.details]
  }
  t.same(await types('details=on'), [['Tank', '', 'Silo'], 'Count: 3'])
  t.same(await types('exist=entity::type'), [['Tank', 'Silo'], undefined])
  t.same(await types('!exist=entity::type&details=on'), [[''], 'Count: 1'])
  t.same(await types('entity::type=Silo'), [['Silo'], undefined])
  t.same(await types('limit=1&offset=1&details=on'), [[''], 'Count: 3'])
  t.same(await types('offset=3'), [[], 'Entity id: /Unit1/'])
  t.same(await types('offset=3&details=on'), [[], 'Number of matching entities: 3. Offset is 3'])
  t.same(await types('entity::type=Barn'), [[], 'Entity id: /Unit1/'])
})

test('an unknown entity is 404 with the id and the type asked for', async (t) => {
  const element = (type: string) => ({ type, isPattern: 'false', id: 'Silo1' })
  const statusCode = notFound('Entity id: /Silo1/')
  t.same((await send(holding(), 'GET', 'contextEntities/Silo1?entity::type=Silo')).body, {
    contextElement: element('Silo'),
    contextElements: [],
    statusCode,
  })
  t.same((await send(holding(), 'GET', typed)).body, { contextElement: element('Silo'), statusCode })
})

test('an attribute is shown with all its instances in the first entity that has it, or one instance', async (t) => {
  const broker = holding(bare, silo, tank)
  const instance = (value: string, ID: string) => ({
    ...level,
    value,
    metadatas: [{ name: 'ID', type: 'string', value: ID }],
  })
  t.same((await send(broker, 'GET', 'contextEntities/Unit1/attributes/level')).body, {
    attributes: [instance('2', 'a'), instance('3', 'b')],
    statusCode: okStatus,
  })
  t.same((await send(broker, 'GET', 'contextEntities/Unit1/attributes/level/b')).body, {
    attributes: [instance('3', 'b')],
    statusCode: okStatus,
  })
})

test('offset and details count the entities that have an attribute', async (t) => {
  const broker = holding(bare, silo, tank)
  const read = async (target: string) => {
    const { body } = await send(broker, 'GET', `contextEntities/Unit1/attributes/level${target}`)
    const { attributes, statusCode } = body as Partial<Record<string, readonly { value: string }[]>> & {
      statusCode: { code: string; details?: string }
    }
    return [attributes?.map(({ value }) => value), statusCode.code, statusCode.details]
  }
  t.same(await read('?details=on'), [['2', '3'], '200', 'Count: 2'])
  t.same(await read('/b?details=on'), [['3'], '200', 'Count: 1'])
  t.same(await read('?offset=1&details=on'), [['1'], '200', 'Count: 2'])
  t.same(await read('?offset=2'), [undefined, '404', 'Entity id: /Unit1/'])
  t.same(await read('?offset=2&details=on'), [undefined, '404', 'Number of matching entities: 2. Offset is 2'])
  t.same(await read('/b?offset=1&details=on'), [undefined, '404', 'Number of matching entities: 1. Offset is 1'])
})

const missing: readonly (readonly [target: string, details: string])[] = [
  ['contextEntities/Unit1/attributes/smell', 'Entity id: /Unit1/'],
  ['contextEntities/Unit1/attributes/level/x', 'Entity id: /Unit1/'],
  ['contextEntities/type/Tank/id/Unit1/attributes/smell', 'Entity-Attribute pair: /Unit1-smell/'],
  ['contextEntities/type/Tank/id/Unit1/attributes/level/x', 'Entity-Attribute-MetaID triplet: /Unit1-level-x/'],
]

for (const [target, details] of missing) {
  test(`GET ${target} finds nothing and names ${details}`, async (t) => {
    t.same((await send(holding(tank), 'GET', target)).body, { statusCode: notFound(details) })
  })
}

test('lists of entities are queries for every id', async (t) => {
  const queries: Query[] = []
  const query: Broker['query'] = async (request) => {
    queries.push(request)
    return ok({ entities: [], count: undefined })
  }
  const body = async (target: string) => (await send(scripted({ query }), 'GET', target)).body
  t.same(await body('contextEntities?entity::type=Silo&exist=entity::type'), {
    errorCode: { code: '404', reasonPhrase: 'No context element found' },
  })
  const unknown = { errorCode: notFound('entityId::type /Barn/ non-existent') }
  t.same(await body('contextEntityTypes/Barn'), unknown)
  t.same(await body('contextEntityTypes/Barn/attributes?exist=entity::type'), unknown)
  t.same(await body('contextEntityTypes/Barn/attributes/level'), {
    errorCode: notFound('entityId::type/attribute::name pair not found'),
  })
  const any = (type: string) => [{ id: { kind: 'any' }, type }]
  t.same(
    queries.map(({ selectors, attributes, scopes }) => [selectors, attributes, scopes]),
    [
      [any('Silo'), [], [{ kind: 'typed' }]],
      [any('Barn'), [], []],
      [any('Barn'), [], []],
      [any('Barn'), ['level'], []],
    ],
  )
})

type Shape = (status: unknown) => unknown
const errorCode: Shape = (status) => ({ errorCode: status })
const statusCode: Shape = (status) => ({ statusCode: status })
const plain: Shape = (status) => status
const withElement: Shape = (status) => ({
  contextElement: { type: 'Silo', isPattern: 'false', id: 'Silo1' },
  statusCode: status,
})

const contradictions: readonly (readonly [Verb, target: string, Shape])[] = [
  ['GET', typed, withElement],
  ['POST', typed, errorCode],
  ['PUT', typed, errorCode],
  ['DELETE', typed, plain],
  ...([`${typed}/attributes/a`, `${typed}/attributes/a/b`] as const).flatMap(
    (target) =>
      [
        ['GET', target, statusCode],
        ['POST', target, plain],
        ['PUT', target, plain],
        ['DELETE', target, plain],
      ] as const,
  ),
  ['GET', 'contextEntityTypes/Silo', errorCode],
  ['GET', 'contextEntityTypes/Silo/attributes', errorCode],
  ['GET', 'contextEntityTypes/Silo/attributes/a', errorCode],
]

for (const [verb, target, shape] of contradictions) {
  test(`${verb} ${target} with a contradicting type is 400`, async (t) => {
    const { broker, updates } = recording()
    const body = verb === 'POST' || verb === 'PUT' ? {} : ''
    const request = async (parameters: string) => (await send(broker, verb, `${target}?${parameters}`, { body })).body
    t.same(await request('entity::type=Barn'), shape(badRequest('non-matching entity::types in URL')))
    t.same(await request('!exist=entity::type'), shape(badRequest('entity::type cannot be empty for this request')))
    t.same(updates, [])
  })
}

test('POST of an entity answers with id and type of the entity found', async (t) => {
  const broker = updating({ id: 'Silo1' as EntityId, type: 'Silo' as EntityType })
  const response = await send(broker, 'POST', 'contextEntities/Silo1', { body: { attributes: [level] } })
  t.same(response.body, {
    type: 'Silo',
    isPattern: 'false',
    id: 'Silo1',
    contextResponses: [{ attributes: [{ ...level, value: '' }], statusCode: okStatus }],
  })
})

test('PUT of an entity answers with the attributes, in the format asked for', async (t) => {
  const put = async (parameters: string) =>
    (await send(scripted(), 'PUT', `contextEntities/Silo1${parameters}`, { body: { attributes: [level] } })).body
  t.same(await put(''), { contextResponses: [{ attributes: [{ ...level, value: '' }], statusCode: okStatus }] })
  t.same(await put('?attributeFormat=object'), {
    contextResponses: [{ attributes: { level: { type: 'percent', value: '' } }, statusCode: okStatus }],
  })
})

test('a single failed item is an error, several are listed each with its status', async (t) => {
  const unknown = { id: 'Silo1' as EntityId, type: 'Silo' as EntityType, refusal: { kind: 'entityUnknown' } } as const
  const body = { attributes: [level] }
  for (const verb of ['POST', 'PUT'] as const) {
    const one = await send(updating(unknown), verb, 'contextEntities/Silo1', { body })
    t.same(one.body, { errorCode: notFound('Silo1') })
    const two = await send(updating(unknown, { ...unknown, shown: [] }), verb, 'contextEntities/Silo1', { body })
    t.match(two.body, {
      contextResponses: [
        { attributes: [{ name: 'level' }], statusCode: { code: '404' } },
        { attributes: undefined, statusCode: { code: '404' } },
      ],
    })
  }
})

test('DELETE and single attributes answer with the status of the first entity', async (t) => {
  const first = {
    id: 'Silo1' as EntityId,
    type: '' as EntityType,
    refusal: { kind: 'attributeUnknown', name: 'a' },
  } as const
  const broker = updating(first, { id: first.id, type: first.type })
  t.match(await send(broker, 'DELETE', 'contextEntities/Silo1/attributes/a'), {
    status: 200,
    body: { code: '472', details: 'action: DELETE - entity: [Silo1, ] - offending attribute: a - attribute not found' },
  })
  t.same((await send(scripted(), 'DELETE', 'contextEntities/Silo1')).body, okStatus)
  t.same((await send(scripted(), 'PUT', 'contextEntities/Silo1/attributes/a', { body: { value: '1' } })).body, okStatus)
})

const appends: readonly (readonly [target: string, body: object, details: string])[] = [
  ['contextEntities/Silo1', { id: 'Silo2' }, 'entityId::id differs in URL and payload'],
  ['contextEntities/Silo1?entity::type=Silo', { type: 'Barn' }, 'entityId::type differs in URL and payload'],
  [
    'contextEntities/Silo1',
    { isPattern: 'true' },
    'entityId::isPattern set to true in contextUpdate convenience operation',
  ],
  ['contextEntities', { type: 'Silo' }, 'invalid request: mandatory entityId::id missing'],
  [typed, { id: 'Silo1' }, 'invalid payload: unknown fields'],
  [typed, { type: 'Silo' }, 'invalid payload: unknown fields'],
  [typed, { isPattern: 'false' }, 'invalid payload: unknown fields'],
  [typed, { id: '', attributes: [] }, 'invalid payload: unknown fields'],
  [typed, { type: '' }, 'invalid payload: unknown fields'],
  [typed, { isPattern: '' }, 'invalid payload: unknown fields'],
  ['contextEntities/Silo1', { isPattern: 'maybe' }, 'invalid isPattern value for entity: /maybe/'],
]

for (const [target, body, details] of appends) {
  test(`POST ${target} of ${JSON.stringify(body)} is 400: ${details}`, async (t) => {
    const { broker, updates } = recording()
    const response = await send(broker, 'POST', target, { body })
    t.match(response, { status: 200, body: { errorCode: badRequest(details) } })
    t.same(updates, [])
  })
}

test('convenience operations are updates of one element', async (t) => {
  const { broker, updates } = recording()
  const value = { value: '1', metadatas: [{ name: 'ID', value: 'north' }] }
  await send(broker, 'POST', 'contextEntities', { body: { id: 'a', type: 'T', isPattern: 'false' } })
  await send(broker, 'POST', 'contextEntities/a?!exist=entity::type', { body: { id: 'a' } })
  await send(broker, 'POST', 'contextEntities/a/attributes?entity::type=T', { body: { type: 'T' } })
  await send(broker, 'PUT', 'contextEntities/type/T/id/a', { body: {} })
  await send(broker, 'DELETE', 'contextEntities/a/attributes')
  await send(broker, 'POST', 'contextEntities/a/attributes/b', { body: value })
  await send(broker, 'PUT', 'contextEntities/a/attributes/b/north', { body: { value: '1' } })
  await send(broker, 'PUT', 'contextEntities/a/attributes/b/north', { body: value })
  await send(broker, 'DELETE', 'contextEntities/type/T/id/a/attributes/b/north')
  const attributes = [{ name: 'b', instance: 'north', type: '', metadata: [] }]
  const given = [{ ...attributes[0], value: '1' }]
  const at = { tenant: '', path: '/', id: 'a', origin: { correlator: 'c', token: '' } }
  t.same(updates, [
    { ...at, type: 'T', action: 'APPEND', attributes: [] },
    { ...at, type: '', action: 'APPEND', attributes: [] },
    { ...at, type: 'T', action: 'APPEND', attributes: [] },
    { ...at, type: 'T', action: 'UPDATE', attributes: [] },
    { ...at, action: 'DELETE', attributes: [] },
    { ...at, action: 'APPEND', attributes: given },
    { ...at, action: 'UPDATE', attributes: given },
    { ...at, action: 'UPDATE', attributes: given },
    { ...at, type: 'T', action: 'DELETE', attributes },
  ])
})

test('another ID in the payload than in the path is 400', async (t) => {
  const { broker, updates } = recording()
  const body = { value: '1', metadatas: [{ name: 'ID', value: 'south' }] }
  const response = await send(broker, 'PUT', 'contextEntities/a/attributes/b/north', { body })
  t.same(response.body, badRequest('unmatching metadata ID value URI/payload: /north/ vs /south/'))
  t.same(updates, [])
})

test('what the parser finds is HTTP 400, what the checks find is 200, in the shape of the payload', async (t) => {
  const put = async (target: string, body: unknown) => await send(scripted(), 'PUT', target, { body })
  const parser = { status: 400, body: { orionError: badRequest('JSON Parse Error') } }
  t.match(await put('contextEntities/a', '{'), parser)
  t.match(await put('contextEntities/a/attributes/b', 'nonsense'), parser)
  const nameless = badRequest('missing attribute name')
  t.match(await put('contextEntities/a', { attributes: [{}] }), { status: 200, body: { errorCode: nameless } })
  const empty = badRequest('missing metadata value')
  t.match(await put('contextEntities/a/attributes/b', { metadatas: [{ name: 'c' }] }), {
    status: 200,
    body: { statusCode: empty },
  })
})

test('service path errors have the shape of the operation', async (t) => {
  const paths = [{ path: '/a' as ServicePath, below: true }]
  const status = badRequest('Bad Character in Service-Path')
  t.same((await send(scripted(), 'POST', 'contextEntities/a', { paths, body: {} })).body, { errorCode: status })
  t.same((await send(scripted(), 'PUT', 'contextEntities/a', { paths, body: {} })).body, { errorCode: status })
  t.same((await send(scripted(), 'DELETE', 'contextEntities/a', { paths })).body, status)
  t.same(
    (await send(scripted(), 'PUT', 'contextEntities/a/attributes/b', { paths, body: { value: '1' } })).body,
    status,
  )
})

test('strict ids hold for the path, too, but not for metadata IDs', async (t) => {
  const options = { strictNgsiv1Ids: true }
  const response = await send(scripted(), 'POST', 'contextEntities/a%20b', { options, body: {} })
  t.match(response, { status: 400, body: { orionError: badRequest('invalid character in URI') } })
  t.match(await send(scripted(), 'GET', 'contextTypes/a%20b', { options }), { status: 400 })
  for (const [verb, body] of [['GET'], ['DELETE'], ['POST', {}], ['PUT', {}]] as const) {
    t.match(await send(scripted(), verb, 'contextEntities/a?entity::type=b%20c', { options, body }), {
      status: 400,
      body: { orionError: badRequest('invalid character in URI parameter') },
    })
  }
  t.match(await send(scripted(), 'GET', 'contextEntities/a/attributes/b/c%20d', { options }), { status: 200 })
})
