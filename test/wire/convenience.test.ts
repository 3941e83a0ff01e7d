import { test } from 'tap'
import { RunningBroker } from '../running.js'
import {
  attribute,
  type Client,
  echo,
  errorCode,
  holds,
  ID,
  item,
  metadata,
  offending,
  ok,
  orionError,
  type Row,
  responses,
  shown,
  status,
  statusCode,
  tenantClient,
} from './client.js'

const broker = await RunningBroker.shared()

const level = attribute('level', 'percent', '64')
const light = attribute('light', 'lux', '3')
const north = attribute('humidity', 'percent', '5', ID('north'))
const south = attribute('humidity', 'percent', '9', ID('south'))
const echoed = { attributes: [echo('level', 'percent')], statusCode: ok }
const entities = '/v1/contextEntities'

/** Two entities of one id, the one of type B first. */
async function givenTwo(): Promise<Client> {
  const client = tenantClient(broker)
  await client.given(
    { id: 'e', attributes: [level] },
    { id: 'e', type: 'B', attributes: [level, light] },
    { id: 'f', type: 'B', attributes: [north, south] },
  )
  return client
}

const untypedE = shown('e', '', level)
const typedE = shown('e', 'B', level, light)
const onlyF = shown('f', 'B', north, south)

test('GET of entities: all, of an id, of a type and id [context 8.1, 8.3]', async (t) => {
  const both = { contextElement: untypedE, contextElements: [untypedE, typedE], statusCode: ok }
  const one = (entity: unknown, more: object = ok) => ({
    contextElement: entity,
    contextElements: [entity],
    statusCode: more,
  })
  const nobody = (id: string, type = '', details = `Entity id: /${id}/`) => ({
    contextElement: shown(id, type),
    contextElements: [],
    statusCode: status(404, details),
  })
  const get = (rule: string, path: string, response: unknown): Row => [
    rule,
    'GET',
    `${entities}${path}`,
    undefined,
    200,
    response,
  ]
  const differs = 'non-matching entity::types in URL'
  const empty = 'entity::type cannot be empty for this request'
  await holds(t, await givenTwo(), [
    get('all', '', responses(item(untypedE), item(typedE), item(onlyF))),
    get('all of a type', '?entity::type=B', responses(item(typedE), item(onlyF))),
    get('all with a type', '?exist=entity::type', responses(item(typedE), item(onlyF))),
    get('all without a type', '?!exist=entity::type', responses(item(untypedE))),
    get(
      'another value of exist is ignored',
      '?!exist=entity::colour',
      responses(item(untypedE), item(typedE), item(onlyF)),
    ),
    get('all of no type', '?entity::type=X', errorCode(404)),
    get('all, paged', '?limit=1&offset=1', responses(item(typedE))),
    get('of an id', '/e', both),
    get('of an id, /attributes', '/e/attributes', both),
    get('an id is exact', '/.*', nobody('.*')),
    get('of an id and type', '/e?entity::type=B', one(typedE)),
    get('of an id with a type', '/e?exist=entity::type', one(typedE)),
    get('of an id without a type', '/e?!exist=entity::type', one(untypedE)),
    get('none, with its type', '/e?entity::type=X', nobody('e', 'X')),
    get('one page, counted', '/e?limit=1&offset=1&details=on', one(typedE, status(200, 'Count: 2'))),
    get('one page', '/e?limit=1', one(untypedE)),
    get('past the end', '/e?offset=2', nobody('e')),
    get('ordered', '/e?orderBy=!type', { contextElement: typedE, contextElements: [typedE, untypedE], statusCode: ok }),
    get('nobody', '/nobody', nobody('nobody')),
    get('nobody, /attributes', '/nobody/attributes', nobody('nobody')),
    get('of type and id', '/type/B/id/e', { contextElement: typedE, statusCode: ok }),
    get('of type and id, repeated', '/type/B/id/e?entity::type=B&exist=entity::type', {
      contextElement: typedE,
      statusCode: ok,
    }),
    get('of type and id, counted', '/type/B/id/e?details=on', {
      contextElement: typedE,
      statusCode: status(200, 'Count: 1'),
    }),
    get('of type and id, none', '/type/X/id/e', {
      contextElement: shown('e', 'X'),
      statusCode: status(404, 'Entity id: /e/'),
    }),
    get('types differ', '/type/B/id/e?entity::type=C', {
      contextElement: shown('e', 'B'),
      statusCode: status(400, differs),
    }),
    get('no type', '/type/B/id/e?!exist=entity::type', {
      contextElement: shown('e', 'B'),
      statusCode: status(400, empty),
    }),
  ])
})

test('POST of an entity appends [context 8.3]', async (t) => {
  const made = (type: string, ...items: readonly unknown[]) => ({
    type,
    isPattern: 'false',
    id: 'x',
    ...responses(...items),
  })
  const body = { attributes: [level] }
  for (const [rule, path, payload, response, held] of [
    ['id in the payload', '', { id: 'x', type: 'T', ...body }, made('T', echoed), [shown('x', 'T', level)]],
    ['id in the path', '/x', body, made('', echoed), [shown('x', '', level)]],
    ['/attributes', '/x/attributes', body, made('', echoed), [shown('x', '', level)]],
    ['type and id', '/type/T/id/x', body, made('T', echoed), [shown('x', 'T', level)]],
    ['type as parameter', '/x?entity::type=T', body, made('T', echoed), [shown('x', 'T', level)]],
    [
      'type as parameter, without id',
      '?entity::type=T',
      { id: 'x', ...body },
      made('T', echoed),
      [shown('x', 'T', level)],
    ],
    ['type only in the payload', '/x', { type: 'T', ...body }, made('T', echoed), [shown('x', 'T', level)]],
    [
      'equal id and type',
      '/x?entity::type=T',
      { id: 'x', type: 'T', isPattern: 'false', ...body },
      made('T', echoed),
      [shown('x', 'T', level)],
    ],
    [
      'domain and metadata',
      '/x',
      { attributeDomainName: 'd', metadatas: [metadata('a', '', '1')], ...body },
      made('', echoed),
      [shown('x', '', level)],
    ],
    ['no attributes', '/x', { attributes: [] }, made('', { statusCode: ok }), [shown('x', '')]],
    ['nothing', '/x', {}, made('', { statusCode: ok }), [shown('x', '')]],
    [
      'id differs',
      '/x',
      { id: 'y', ...body },
      errorCode(400, 'entityId::id differs in URL and payload'),
      errorCode(404),
    ],
    [
      'type differs',
      '/x?entity::type=T',
      { type: 'U', ...body },
      errorCode(400, 'entityId::type differs in URL and payload'),
      errorCode(404),
    ],
    [
      'pattern',
      '/x',
      { isPattern: 'true', ...body },
      errorCode(400, 'entityId::isPattern set to true in contextUpdate convenience operation'),
      errorCode(404),
    ],
    ['no id', '', body, errorCode(400, 'invalid request: mandatory entityId::id missing'), errorCode(404)],
    [
      'no id but a type',
      '',
      { type: 'T', ...body },
      errorCode(400, 'invalid request: mandatory entityId::id missing'),
      errorCode(404),
    ],
    ...[{ id: 'x' }, { type: 'T' }, { isPattern: 'false' }].map(
      (more) =>
        [
          'fields of the entity under type and id',
          '/type/T/id/x',
          { ...more, ...body },
          errorCode(400, 'invalid payload: unknown fields'),
          errorCode(404),
        ] as const,
    ),
    [
      'types differ',
      '/type/T/id/x?entity::type=U',
      body,
      errorCode(400, 'non-matching entity::types in URL'),
      errorCode(404),
    ],
    [
      'no type',
      '/type/T/id/x?!exist=entity::type',
      body,
      errorCode(400, 'entity::type cannot be empty for this request'),
      errorCode(404),
    ],
    [
      'an error of the update',
      '/x',
      { attributes: [level, level] },
      errorCode(422, 'duplicated attribute /level/'),
      errorCode(404),
    ],
  ] as const) {
    const client = tenantClient(broker)
    t.strictSame(await client.request('POST', `${entities}${path}`, payload), [200, response], rule)
    t.strictSame(await client.held('x'), held, `${rule}: state`)
  }
})

test('POST and PUT list every item with its own status [context 8.3]', async (t) => {
  const client = await givenTwo()
  const missing = {
    attributes: [echo('light', 'lux')],
    statusCode: offending('UPDATE', '[e, ]', 'light'),
  }
  const some = { attributes: [echo('light', 'lux')], statusCode: status(404, 'e') }
  const lit = { attributes: [echo('light', 'lux')], statusCode: ok }
  await holds(t, client, [
    ['several entities', 'PUT', `${entities}/e`, { attributes: [light] }, 200, responses(missing, lit)],
    [
      'some missing',
      'PUT',
      `${entities}/e/attributes`,
      { attributes: [light, level] },
      200,
      responses(echoed, { attributes: [echo('light', 'lux'), echo('level', 'percent')], statusCode: ok }, some),
    ],
    [
      'one failed item is an error',
      'PUT',
      `${entities}/e?!exist=entity::type`,
      { attributes: [light] },
      200,
      { errorCode: offending('UPDATE', '[e, ]', 'light') },
    ],
    [
      'POST to several',
      'POST',
      `${entities}/e`,
      { attributes: [level] },
      200,
      { type: '', isPattern: 'false', id: 'e', ...responses(echoed, echoed) },
    ],
    [
      'POST learns the type',
      'POST',
      `${entities}/f`,
      { attributes: [level] },
      200,
      { type: 'B', isPattern: 'false', id: 'f', ...responses(echoed) },
    ],
    ['PUT', 'PUT', `${entities}/type/B/id/e`, { attributes: [level] }, 200, responses(echoed)],
    ['PUT of nothing', 'PUT', `${entities}/f`, {}, 200, responses({ statusCode: ok })],
    ['PUT of nobody', 'PUT', `${entities}/nobody`, { attributes: [level] }, 200, errorCode(404, 'nobody')],
    [
      'PUT, types differ',
      'PUT',
      `${entities}/type/B/id/e?entity::type=C`,
      { attributes: [level] },
      200,
      errorCode(400, 'non-matching entity::types in URL'),
    ],
    [
      'PUT, no type',
      'PUT',
      `${entities}/type/B/id/e?!exist=entity::type`,
      { attributes: [level] },
      200,
      errorCode(400, 'entity::type cannot be empty for this request'),
    ],
    [
      'PUT of exist is ignored',
      'PUT',
      `${entities}/e?exist=entity::type`,
      { attributes: [level] },
      200,
      responses(echoed, echoed),
    ],
  ])
})

test('DELETE of an entity [context 8.3]', async (t) => {
  for (const [rule, path, response, left] of [
    ['all of an id', '/e', ok, errorCode(404)],
    ['/attributes removes the entity', '/e/attributes', ok, errorCode(404)],
    ['of a type', '/type/B/id/e', ok, [untypedE]],
    ['of a type as parameter', '/e?entity::type=B', ok, [untypedE]],
    ['without a type', '/e?!exist=entity::type', ok, [typedE]],
    ['of a type and without one', '/e?entity::type=B&!exist=entity::type', status(404, 'e'), [untypedE, typedE]],
    ['unknown type', '/type/X/id/e', status(404, 'e'), [untypedE, typedE]],
    [
      'types differ',
      '/type/B/id/e?entity::type=C',
      status(400, 'non-matching entity::types in URL'),
      [untypedE, typedE],
    ],
    [
      'no type',
      '/type/B/id/e?!exist=entity::type',
      status(400, 'entity::type cannot be empty for this request'),
      [untypedE, typedE],
    ],
  ] as const) {
    const client = await givenTwo()
    t.strictSame(await client.request('DELETE', `${entities}${path}`), [200, response], rule)
    t.strictSame(await client.held('e'), left, `${rule}: state`)
  }
})

test('one attribute [context 8.4]', async (t) => {
  const found = (...attributes: readonly unknown[]) => ({ attributes, statusCode: ok })
  const get = (rule: string, path: string, response: unknown): Row => [
    rule,
    'GET',
    `${entities}${path}`,
    undefined,
    200,
    response,
  ]
  const client = await givenTwo()
  await holds(t, client, [
    get('of an id', '/e/attributes/level', found(level)),
    get('the first entity that has it', '/e/attributes/light', found(light)),
    get('all instances', '/f/attributes/humidity', found(north, south)),
    get('no entity', '/nobody/attributes/level', statusCode(404, 'Entity id: /nobody/')),
    get('no attribute', '/e/attributes/nothing', statusCode(404, 'Entity id: /e/')),
    get('with a type as parameter', '/e/attributes/light?entity::type=B', found(light)),
    get('without a type', '/e/attributes/light?!exist=entity::type', statusCode(404, 'Entity id: /e/')),
    get('with a type', '/e/attributes/light?exist=entity::type', found(light)),
    get('of type and id', '/type/B/id/e/attributes/light', found(light)),
    get('no pair', '/type/B/id/e/attributes/nothing', statusCode(404, 'Entity-Attribute pair: /e-nothing/')),
    get('the id is exact', '/type/B/id/.*/attributes/light', statusCode(404, 'Entity-Attribute pair: /.*-light/')),
    get('the type counts', '/type/X/id/e/attributes/light', statusCode(404, 'Entity-Attribute pair: /e-light/')),
    get(
      'types differ',
      '/type/B/id/e/attributes/light?entity::type=C',
      statusCode(400, 'non-matching entity::types in URL'),
    ),
    get(
      'no type',
      '/type/B/id/e/attributes/light?!exist=entity::type',
      statusCode(400, 'entity::type cannot be empty for this request'),
    ),
  ])
})

test('writing one attribute [context 8.4]', async (t) => {
  const both = [untypedE, typedE]
  const seven = attribute('level', 'percent', '7')
  for (const [rule, verb, path, payload, response, held] of [
    [
      'PUT updates all of an id',
      'PUT',
      '/e/attributes/level',
      { value: '7' },
      ok,
      [shown('e', '', seven), shown('e', 'B', seven, light)],
    ],
    [
      'the status of the first',
      'PUT',
      '/e/attributes/light',
      { value: '7' },
      offending('UPDATE', '[e, ]', 'light'),
      [untypedE, shown('e', 'B', level, attribute('light', 'lux', '7'))],
    ],
    [
      'PUT of a type',
      'PUT',
      '/type/B/id/e/attributes/level',
      { value: 7, type: 't' },
      ok,
      [untypedE, shown('e', 'B', attribute('level', 't', '7'), light)],
    ],
    ['PUT of nobody', 'PUT', '/nobody/attributes/level', { value: '7' }, status(404, 'nobody'), both],
    ['PUT of nothing', 'PUT', '/type/B/id/e/attributes/x', { value: '7' }, offending('UPDATE', '[e, B]', 'x'), both],
    [
      'an empty attribute',
      'PUT',
      '/type/B/id/e/attributes/level',
      {},
      offending('UPDATE', '[e, B, false]', 'level - empty attribute not allowed in APPEND or UPDATE', 422),
      both,
    ],
    [
      'POST appends',
      'POST',
      '/type/B/id/e/attributes/a',
      { value: '7', metadatas: [metadata('m', '', '1')] },
      ok,
      [untypedE, shown('e', 'B', attribute('a', '', '7', metadata('m', '', '1')), level, light)],
    ],
    [
      'POST creates',
      'POST',
      '/type/N/id/e/attributes/a',
      { value: '7' },
      ok,
      [...both, shown('e', 'N', attribute('a', '', '7'))],
    ],
    [
      'an ID addresses the instance',
      'POST',
      '/type/B/id/e/attributes/a',
      { value: '7', metadatas: [ID('i')] },
      ok,
      [untypedE, shown('e', 'B', attribute('a', '', '7', ID('i')), level, light)],
    ],
    [
      'an error of the update',
      'POST',
      '/type/B/id/e/attributes/level',
      { value: '7', metadatas: [ID('i')] },
      offending('APPEND', '[e, B]', 'level - attribute cannot be appended'),
      both,
    ],
    ['DELETE', 'DELETE', '/type/B/id/e/attributes/level', undefined, ok, [untypedE, shown('e', 'B', light)]],
    [
      'DELETE of all of an id',
      'DELETE',
      '/e/attributes/level',
      undefined,
      ok,
      [shown('e', ''), shown('e', 'B', light)],
    ],
    [
      'DELETE of nothing',
      'DELETE',
      '/type/B/id/e/attributes/x',
      undefined,
      offending('DELETE', '[e, B]', 'x - attribute not found'),
      both,
    ],
    ['DELETE of nobody', 'DELETE', '/nobody/attributes/x', undefined, status(404, 'nobody'), both],
    [
      'types differ',
      'PUT',
      '/type/B/id/e/attributes/level?entity::type=C',
      { value: '7' },
      status(400, 'non-matching entity::types in URL'),
      both,
    ],
    [
      'no type',
      'DELETE',
      '/type/B/id/e/attributes/level?!exist=entity::type',
      undefined,
      status(400, 'entity::type cannot be empty for this request'),
      both,
    ],
    ['without a type', 'DELETE', '/e/attributes/level?!exist=entity::type', undefined, ok, [shown('e', ''), typedE]],
  ] as const) {
    const client = await givenTwo()
    t.strictSame(await client.request(verb, `${entities}${path}`, payload), [200, response], rule)
    t.strictSame(await client.held('e'), held, `${rule}: state`)
  }
})

test('one instance of an attribute [context 8.5]', async (t) => {
  const at = '/f/attributes/humidity'
  const typed = `/type/B/id${at}`
  const was = [onlyF]
  const value = { value: '7' }
  const seventh = attribute('humidity', 'percent', '7', ID('north'))
  for (const [rule, verb, path, payload, response, held] of [
    ['GET', 'GET', `${at}/north`, undefined, { attributes: [north], statusCode: ok }, was],
    ['GET under type', 'GET', `${typed}/south`, undefined, { attributes: [south], statusCode: ok }, was],
    ['GET of none', 'GET', `${at}/east`, undefined, statusCode(404, 'Entity id: /f/'), was],
    [
      'GET of none under type',
      'GET',
      `${typed}/east`,
      undefined,
      statusCode(404, 'Entity-Attribute-MetaID triplet: /f-humidity-east/'),
      was,
    ],
    [
      'GET: the type counts',
      'GET',
      `/type/X/id${at}/north`,
      undefined,
      statusCode(404, 'Entity-Attribute-MetaID triplet: /f-humidity-north/'),
      was,
    ],
    [
      'GET: types differ',
      'GET',
      `${typed}/north?entity::type=C`,
      undefined,
      statusCode(400, 'non-matching entity::types in URL'),
      was,
    ],
    [
      'GET: no type',
      'GET',
      `${typed}/north?!exist=entity::type`,
      undefined,
      statusCode(400, 'entity::type cannot be empty for this request'),
      was,
    ],
    ['PUT', 'PUT', `${at}/north`, value, ok, [shown('f', 'B', seventh, south)]],
    [
      'PUT under type',
      'PUT',
      `${typed}/north`,
      { ...value, metadatas: [ID('north')] },
      ok,
      [shown('f', 'B', seventh, south)],
    ],
    [
      'PUT with another ID',
      'PUT',
      `${typed}/north`,
      { ...value, metadatas: [ID('south')] },
      status(400, 'unmatching metadata ID value URI/payload: /north/ vs /south/'),
      was,
    ],
    [
      'POST with another ID',
      'POST',
      `${typed}/east`,
      { ...value, metadatas: [ID('south')] },
      status(400, 'unmatching metadata ID value URI/payload: /east/ vs /south/'),
      was,
    ],
    ['PUT of nobody', 'PUT', `/nobody/attributes/humidity/north`, value, status(404, 'nobody'), was],
    ['PUT of no instance', 'PUT', `${at}/east`, value, offending('UPDATE', '[f, B]', 'humidity'), was],
    [
      'PUT of no attribute',
      'PUT',
      `${typed.replace('humidity', 'x')}/east`,
      value,
      offending('UPDATE', '[f, B]', 'x'),
      was,
    ],
    [
      'PUT: types differ',
      'PUT',
      `${typed}/north?entity::type=C`,
      value,
      status(400, 'non-matching entity::types in URL'),
      was,
    ],
    [
      'POST',
      'POST',
      `${typed}/east`,
      value,
      ok,
      [shown('f', 'B', attribute('humidity', '', '7', ID('east')), north, south)],
    ],
    [
      'POST: no type',
      'POST',
      `${typed}/north?!exist=entity::type`,
      value,
      status(400, 'entity::type cannot be empty for this request'),
      was,
    ],
    ['DELETE', 'DELETE', `${at}/south`, undefined, ok, [shown('f', 'B', north)]],
    ['DELETE under type', 'DELETE', `${typed}/north`, undefined, ok, [shown('f', 'B', south)]],
    ['DELETE of nobody', 'DELETE', `/nobody/attributes/humidity/north`, undefined, status(404, 'nobody'), was],
    [
      'DELETE of none',
      'DELETE',
      `${at}/east`,
      undefined,
      offending('DELETE', '[f, B]', 'humidity - attribute not found'),
      was,
    ],
  ] as const) {
    const client = await givenTwo()
    t.strictSame(await client.request(verb, `${entities}${path}`, payload), [200, response], rule)
    t.strictSame(await client.held('f'), held, `${rule}: state`)
  }
})

test('entities of a type [context 8.6]', async (t) => {
  const types = '/v1/contextEntityTypes'
  const get = (rule: string, path: string, response: unknown): Row => [
    rule,
    'GET',
    `${types}${path}`,
    undefined,
    200,
    response,
  ]
  const both = responses(item(typedE), item(onlyF))
  const litE = shown('e', 'B', light)
  await holds(t, await givenTwo(), [
    get('of a type', '/B', both),
    get('of a type, /attributes', '/B/attributes', both),
    get('with an attribute', '/B/attributes/light', responses(item(litE))),
    get('paged and counted', '/B?limit=1&offset=1&details=on', {
      ...responses(item(onlyF)),
      ...errorCode(200, 'Count: 2'),
    }),
    get('past the end', '/B?offset=2&details=on', errorCode(404, 'Number of matching entities: 2. Offset is 2')),
    get('no type', '/X', errorCode(404, 'entityId::type /X/ non-existent')),
    get('no type, /attributes', '/X/attributes', errorCode(404, 'entityId::type /X/ non-existent')),
    get('no pair', '/B/attributes/x', errorCode(404, 'entityId::type/attribute::name pair not found')),
    get('the type repeated', '/B?entity::type=B&exist=entity::type', both),
    ...['', '/attributes', '/attributes/light'].flatMap((rest) => [
      get('types differ', `/B${rest}?entity::type=C`, errorCode(400, 'non-matching entity::types in URL')),
      get(
        'no type asked',
        `/B${rest}?!exist=entity::type`,
        errorCode(400, 'entity::type cannot be empty for this request'),
      ),
    ]),
    get('ordered', '/B?orderBy=!id', responses(item(onlyF), item(typedE))),
  ])
})

test('a segment that is too long or unknown is no entity [context 8]', async (t) => {
  await holds(t, tenantClient(broker), [
    [
      'one segment too many',
      'GET',
      `${entities}/e/attributes/a/b/c`,
      undefined,
      400,
      orionError(400, 'service not found'),
    ],
    ['a wrong word', 'GET', `${entities}/e/things/a`, undefined, 400, orionError(400, 'service not found')],
    [
      'a key that is too long',
      'POST',
      `${entities}/${'a'.repeat(1024)}`,
      {},
      200,
      errorCode(400, 'Too long entity id/type/servicePath combination'),
    ],
  ])
})
