import { gzipSync } from 'node:zlib'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import {
  attribute,
  Client,
  echo,
  errorCode,
  holds,
  item,
  ok,
  orionError,
  type Row,
  raw,
  responses,
  shown,
  status,
  statusCode,
  tenantClient,
} from './client.js'

const broker = await RunningBroker.shared()

const level = attribute('level', 'percent', '64')
const silo = shown('Silo1', 'Silo', level)
const found = responses(item(silo))
const json = { 'Content-Type': 'application/json' }
const one = { entities: [{ id: 'Silo1' }] }
const big = 'x'.repeat(1_048_577)

test('fixed segments are compared without regard to case, the others exactly [context 1.3]', async (t) => {
  const client = tenantClient(broker)
  await client.given(silo, { id: 'a/b', type: 'x y', attributes: [level] })
  const attributes = { attributes: [level], statusCode: ok }
  await holds(t, client, [
    ['case', 'POST', '/V1/querycontext', one, 200, found],
    ['a trailing slash', 'POST', '/v1/queryContext/', one, 200, found],
    ['case of a convenience path', 'GET', '/V1/CONTEXTentities/Silo1/ATTRIBUTES/level/', undefined, 200, attributes],
    [
      'an id is exact',
      'GET',
      '/v1/contextEntities/silo1/attributes/level',
      undefined,
      200,
      statusCode(404, 'Entity id: /silo1/'),
    ],
    [
      'a name is exact',
      'GET',
      '/v1/contextEntities/Silo1/attributes/Level',
      undefined,
      200,
      statusCode(404, 'Entity id: /Silo1/'),
    ],
    [
      'an encoded slash stands inside an id',
      'GET',
      '/v1/contextEntities/a%2Fb/attributes/level',
      undefined,
      200,
      attributes,
    ],
    [
      'percent-encoding is decoded',
      'GET',
      '/v1/contextEntities/type/x%20y/id/a%2fb/attributes/level',
      undefined,
      200,
      attributes,
    ],
    [
      'an empty segment is no path',
      'GET',
      '/v1/contextEntities//attributes',
      undefined,
      400,
      orionError(400, 'service not found'),
    ],
    [
      'two trailing slashes are none',
      'GET',
      '/v1/contextEntities/Silo1//',
      undefined,
      400,
      orionError(400, 'service not found'),
    ],
    [
      'no attributes under type and id',
      'GET',
      '/v1/contextEntities/type/Silo/id/Silo1/attributes',
      undefined,
      400,
      orionError(400, 'service not found'),
    ],
  ])
})

test('/ngsi10 names these resources and no others [context 1.3]', async (t) => {
  const client = tenantClient(broker)
  await client.given(silo)
  for (const path of [
    'contextEntities/Silo1',
    'contextEntities/Silo1/attributes',
    'contextEntities/Silo1/attributes/level',
    'contextEntities/Silo1/attributes/level/x',
    'contextEntityTypes/Silo',
    'contextEntityTypes/Silo/attributes',
    'contextEntityTypes/Silo/attributes/level',
  ]) {
    const old = await client.request('GET', `/NGSI10/${path}`)
    t.equal(old[0], 200, path)
    t.strictSame(old, await client.request('GET', `/v1/${path}`), path)
  }
  await holds(t, client, [
    ['queryContext', 'POST', '/ngsi10/queryContext', one, 200, found],
    [
      'updateContext',
      'POST',
      '/ngsi10/updateContext',
      { contextElements: [{ id: 'x' }], updateAction: 'APPEND' },
      200,
      responses(item(shown('x', ''))),
    ],
    ...[
      'contextEntities',
      'contextEntities/type/Silo/id/Silo1',
      'contextEntities/type/Silo/id/Silo1/attributes/level',
      'contextTypes',
      'contextTypes/Silo',
    ].map((path): Row => [path, 'GET', `/ngsi10/${path}`, undefined, 400, orionError(400, 'service not found')]),
  ])
})

test('a body that is compressed or not UTF-8 is refused, and says so', async (t) => {
  const body = JSON.stringify(one)
  const path = '/v1/queryContext'
  t.strictSame(await raw(broker, 'POST', path, { ...json, 'Content-Encoding': 'gzip' }, gzipSync(body)), [
    415,
    orionError(415, 'not supported content encoding: gzip'),
  ])
  const at = { ...json, 'Fiware-Service': 'encoded' }
  for (const coding of ['Identity', 'UTF-8']) {
    t.strictSame(await raw(broker, 'POST', path, { ...at, 'Content-Encoding': coding }, body), [200, errorCode(404)])
  }
  const named = (name: string): string => JSON.stringify({ id: 'Silo1', type: 'Silo', name: { value: name } })
  const latin1 = Buffer.from(named('caf\xe9'), 'latin1')
  const refused = { error: 'BadRequest', description: 'the body is not UTF-8' }
  for (const more of [{}, { 'Transfer-Encoding': 'chunked' }]) {
    t.strictSame(await raw(broker, 'POST', '/v2/entities', { ...at, ...more }, latin1), [400, refused])
  }
  t.same((await raw(broker, 'GET', '/v2/entities', { 'Fiware-Service': 'encoded' }))[1], [], 'nothing is stored')
  const wrong = Buffer.concat([Buffer.from(body), Buffer.from([0xff])])
  t.match(await raw(broker, 'POST', path, json, wrong), [
    400,
    { errorCode: { code: '400', details: 'the body is not UTF-8' } },
  ])
  const [created] = await raw(broker, 'POST', '/v2/entities', at, named('\ufffd'))
  t.equal(created, 201, 'a text may have the character that stands for wrong bytes')
})

test('the type of a body is JSON, whatever its letters and parameters [context 1.4]', async (t) => {
  const body = JSON.stringify(one)
  const unused = errorCode(404)
  const path = '/v1/queryContext'
  const at = { 'Fiware-Service': 'empty' }
  for (const type of [
    'application/json',
    'APPLICATION/Json',
    'application/json; charset=utf-8',
    'application/json;x',
  ]) {
    t.strictSame(await raw(broker, 'POST', path, { ...at, 'Content-Type': type }, body), [200, unused], type)
  }
  for (const type of ['text/plain', 'application/ld+json', 'application/jsonx']) {
    t.strictSame(await raw(broker, 'POST', path, { 'Content-Type': type }, body), [
      415,
      orionError(415, `not supported content type: ${type}`),
    ])
  }
  t.strictSame(await raw(broker, 'POST', path, {}, body), [
    415,
    orionError(415, 'Content-Type header not used, default application/octet-stream is not supported'),
  ])
  t.strictSame(await raw(broker, 'GET', '/v1/contextTypes', { ...at, 'Content-Type': 'text/plain' }), [
    200,
    statusCode(404),
  ])
  t.strictSame(await raw(broker, 'DELETE', '/v1/contextEntities/x', { ...at, ...json }), [200, status(404, 'x')])
})

test('an Accept header names JSON somewhere [context 1.4, 10.1]', async (t) => {
  for (const accept of [
    '*/*',
    'application/*',
    'application/json',
    'text/plain, */*;q=0.1',
    'image/png, application/json;q=0.8',
    'TEXT/html,APPLICATION/json',
  ]) {
    t.strictSame(await raw(broker, 'GET', '/v1/contextTypes', { Accept: accept }), [200, statusCode(404)], accept)
  }
  for (const accept of ['text/plain', 'text/*', 'image/png, text/plain']) {
    t.strictSame(
      await raw(broker, 'GET', '/v1/contextTypes', { Accept: accept }),
      [406, orionError(406, 'acceptable MIME types: application/json')],
      accept,
    )
  }
  for (const accept of ['image/png', 'image/*, audio/mp3', 'image/png, text/html']) {
    t.strictSame(
      await raw(broker, 'GET', '/v1/contextTypes', { Accept: accept }),
      [406, orionError(406, 'no acceptable mime-type in accept header')],
      accept,
    )
  }
  t.strictSame(await raw(broker, 'GET', '/v1/contextTypes', { Accept: '' }), [
    400,
    orionError(400, 'empty accept header'),
  ])
})

test('every response has a correlator, and one with a body its type [context 1.4]', async (t) => {
  const client = new Client(broker, '')
  for (const [verb, path] of [
    ['GET', '/v1/contextTypes'],
    ['GET', '/nothing'],
    ['PATCH', '/v1/contextTypes'],
    ['GET', '/v1/contextTypes?limit=0'],
  ] as const) {
    const echoed = await client.send(verb, path, verb === 'PATCH' ? {} : undefined, { 'Fiware-Correlator': 'mine' })
    t.equal(echoed.headers.get('Fiware-Correlator'), 'mine')
    const made = await client.send(verb, path, verb === 'PATCH' ? {} : undefined)
    t.match(made.headers.get('Fiware-Correlator'), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    t.equal(made.headers.get('Content-Type'), made.text === '' ? null : 'application/json')
  }
})

test('bodies with chunked transfer encoding are accepted [context 10.1]', async (t) => {
  const chunked = { ...json, 'Transfer-Encoding': 'chunked', 'Fiware-Service': 'empty' }
  t.strictSame(await raw(broker, 'POST', '/v1/queryContext', chunked, JSON.stringify(one)), [200, errorCode(404)])
  t.strictSame(await raw(broker, 'POST', '/v1/queryContext', chunked, '{'), [200, errorCode(400, 'JSON Parse Error')])
})

const unreadable = 'Bad pagination limit: /0/ [a value of ZERO is unacceptable]'

/** Each request breaks the rule of a number and the next one that it can break with it. */
test('the first check that fails decides [context 1.5]', async (t) => {
  const rows: readonly (readonly [string, string, string, Record<string, string>, string, number, unknown])[] = [
    [
      '1 before 2',
      'GET',
      '/v1/context%3C',
      { 'Fiware-ServicePath': 'x' },
      '',
      400,
      orionError(400, 'invalid character in URI'),
    ],
    [
      '2 before 3',
      'POST',
      '/v1/queryContext',
      { 'Fiware-ServicePath': 'x', 'Content-Type': 'text/plain' },
      '{',
      200,
      orionError(400, 'Only /absolute/ Service Paths allowed [a service path must begin with /]'),
    ],
    [
      '3 before 4',
      'POST',
      '/v1/queryContext?limit=0',
      { 'Content-Type': 'text/plain', Accept: 'image/png' },
      '{',
      415,
      orionError(415, 'not supported content type: text/plain'),
    ],
    [
      '4: Accept before parameters',
      'GET',
      '/v1/contextTypes?limit=0',
      { Accept: 'image/png' },
      '',
      406,
      orionError(406, 'no acceptable mime-type in accept header'),
    ],
    [
      '4: characters of parameters before their values',
      'GET',
      '/v1/contextTypes?limit=0&a=(',
      {},
      '',
      400,
      orionError(400, 'invalid character in URI parameter'),
    ],
    ['4 before 5', 'GET', '/v1/contextTypes?limit=0', { Accept: 'text/plain' }, '', 400, orionError(400, unreadable)],
    [
      '5 before 6',
      'POST',
      '/v1/queryContext',
      { ...json, Accept: 'text/plain' },
      big,
      406,
      orionError(406, 'acceptable MIME types: application/json'),
    ],
    [
      '6 before 7',
      'GET',
      '/v1/contextTypes',
      json,
      big,
      413,
      orionError(413, 'payload size: 1048577, max size supported: 1048576'),
    ],
    [
      '7 before 9',
      'GET',
      '/v1/nothing',
      json,
      '{',
      400,
      orionError(400, 'Rigel accepts no payload for GET/DELETE requests'),
    ],
    [
      '7 before 9, DELETE',
      'DELETE',
      '/v1/nothing',
      json,
      '{',
      400,
      orionError(400, 'Rigel accepts no payload for GET/DELETE requests'),
    ],
    [
      '8 before 9',
      'POST',
      '/v1/nothing',
      json,
      '',
      411,
      orionError(411, 'Zero/No Content-Length in PUT/POST/PATCH request'),
    ],
    [
      '8 before 9, verb',
      'PATCH',
      '/v1/contextTypes',
      json,
      '',
      411,
      orionError(411, 'Zero/No Content-Length in PUT/POST/PATCH request'),
    ],
    ['9 before 10', 'POST', '/v1/nothing', json, '{', 400, orionError(400, 'service not found')],
    ['9 before 10, verb', 'PUT', '/v1/queryContext', json, '{', 405, undefined],
    [
      '10: syntax before fields',
      'POST',
      '/v1/queryContext',
      json,
      '{"x":"<","entities":[}',
      200,
      errorCode(400, 'JSON Parse Error'),
    ],
    [
      '10: in document order, character',
      'POST',
      '/v1/queryContext',
      json,
      '{"entities":[{"id":"<"}],"x":1}',
      200,
      errorCode(400, 'Illegal value for JSON field'),
    ],
    [
      '10: in document order, field',
      'POST',
      '/v1/queryContext',
      json,
      '{"x":1,"entities":[{"id":"<"}]}',
      200,
      errorCode(400, 'JSON Parse Error: unknown field: /x'),
    ],
    [
      '10 before 11',
      'POST',
      '/v1/queryContext',
      json,
      '{"entities":[{"id":""}],"x":1}',
      200,
      errorCode(400, 'JSON Parse Error: unknown field: /x'),
    ],
    [
      '11 before 12',
      'POST',
      '/v1/queryContext',
      { ...json, 'Fiware-Service': 'a-b' },
      '{"entities":[]}',
      200,
      errorCode(400, 'No entities'),
    ],
    [
      '12 before 13',
      'POST',
      '/v1/queryContext',
      { ...json, 'Fiware-Service': 'a-b' },
      JSON.stringify(one),
      200,
      orionError(400, 'bad character in tenant name - only underscore and alphanumeric characters are allowed'),
    ],
    [
      '12 before 13: type of the path',
      'GET',
      '/v1/contextEntities/type/A/id/B?entity::type=C',
      { 'Fiware-Service': 'a-b' },
      '',
      200,
      orionError(400, 'bad character in tenant name - only underscore and alphanumeric characters are allowed'),
    ],
    [
      '12 before 13: path of an update',
      'POST',
      '/v1/updateContext',
      { ...json, 'Fiware-Service': 'a-b', 'Fiware-ServicePath': '/#' },
      '{"contextElements":[{"id":"x"}],"updateAction":"APPEND"}',
      200,
      orionError(400, 'bad character in tenant name - only underscore and alphanumeric characters are allowed'),
    ],
  ]
  for (const [rule, verb, path, headers, body, httpStatus, response] of rows) {
    t.strictSame(await raw(broker, verb, path, headers, body), [httpStatus, response], rule)
  }
})

test('411 and 413 stand where the operation reports its errors [context 10.1]', async (t) => {
  const short = status(411, 'Zero/No Content-Length in PUT/POST/PATCH request')
  const long = status(413, 'payload size: 1048577, max size supported: 1048576')
  for (const [path, shape] of [
    ['/v1/updateContext', 'errorCode'],
    ['/v1/queryContext', 'errorCode'],
    ['/ngsi10/queryContext', 'errorCode'],
    ['/v1/contextEntities/a', 'orionError'],
    ['/v1/contextEntities/a/attributes/b', 'orionError'],
    ['/v1/contextEntities', 'orionError'],
  ] as const) {
    t.strictSame(await raw(broker, 'POST', path, json), [411, { [shape]: short }], path)
    t.strictSame(await raw(broker, 'POST', path, json, big), [413, { [shape]: long }], path)
  }
  const full = `{"entities":[{"id":"x"}]${' '.repeat(1_048_576 - 25)}}`
  t.strictSame(await raw(broker, 'POST', '/v1/queryContext', { ...json, 'Fiware-Service': 'empty' }, full), [
    200,
    errorCode(404),
  ])
})

test('a verb that a path does not know is told those that it knows [context 8, 9, 10.1]', async (t) => {
  const client = new Client(broker, '')
  for (const [path, allow] of [
    ['updateContext', 'POST'],
    ['queryContext', 'POST'],
    ['contextEntities', 'POST, GET'],
    ['contextEntities/a', 'POST, GET, PUT, DELETE'],
    ['contextEntities/a/attributes', 'POST, GET, PUT, DELETE'],
    ['contextEntities/type/t/id/a', 'POST, GET, PUT, DELETE'],
    ['contextEntities/a/attributes/b', 'POST, GET, PUT, DELETE'],
    ['contextEntities/type/t/id/a/attributes/b', 'POST, GET, PUT, DELETE'],
    ['contextEntities/a/attributes/b/c', 'GET, PUT, DELETE'],
    ['contextEntities/type/t/id/a/attributes/b/c', 'POST, GET, PUT, DELETE'],
    ['contextEntityTypes/t', 'GET'],
    ['contextEntityTypes/t/attributes', 'GET'],
    ['contextEntityTypes/t/attributes/a', 'GET'],
    ['contextTypes', 'GET'],
    ['contextTypes/t', 'GET'],
  ] as const) {
    const others = ['POST', 'GET', 'PUT', 'DELETE', 'PATCH'].filter((verb) => !allow.split(', ').includes(verb))
    for (const verb of others) {
      const response = await client.send(verb, `/v1/${path}`, verb === 'GET' || verb === 'DELETE' ? undefined : {})
      t.strictSame([response.status, response.text, response.headers.get('Allow')], [405, '', allow], `${verb} ${path}`)
    }
  }
})

test('forbidden characters in paths and parameters [context 4.1, 10.1]', async (t) => {
  const client = new Client(broker, '')
  for (const character of '<>"\'=;()') {
    const encoded = `%${character.charCodeAt(0).toString(16)}`
    await holds(t, client, [
      [
        `${character} in a path`,
        'GET',
        `/v1/contextEntities/a${encoded}`,
        undefined,
        400,
        orionError(400, 'invalid character in URI'),
      ],
      [
        `${character} in a value`,
        'GET',
        `/v1/contextEntities?entity::type=a${encoded}`,
        undefined,
        400,
        orionError(400, 'invalid character in URI parameter'),
      ],
      [
        `${character} in a name`,
        'GET',
        `/v1/contextEntities?a${encoded}=b`,
        undefined,
        400,
        orionError(400, 'invalid character in URI parameter'),
      ],
    ])
  }
  for (const name of ['q', 'mq', 'idPattern', 'typePattern']) {
    await holds(t, client, [
      [`${name} may`, 'GET', `/v1/contextEntities?${name}=a==(b)`, undefined, 200, errorCode(404)],
    ])
  }
})

test('the values of URI parameters are checked [context 10.2, 1.6]', async (t) => {
  const client = tenantClient(broker)
  const wrong = [
    ['limit=x', 'Bad pagination limit: /x/ [must be a decimal number]'],
    ['limit=-1', 'Bad pagination limit: /-1/ [must be a decimal number]'],
    ['limit=1.5', 'Bad pagination limit: /1.5/ [must be a decimal number]'],
    ['limit=0', unreadable],
    ['limit=000', 'Bad pagination limit: /000/ [a value of ZERO is unacceptable]'],
    ['limit=1001', 'Bad pagination limit: /1001/ [max: 1000]'],
    ['offset=x', 'Bad pagination offset: /x/ [must be a decimal number]'],
    ['offset=-1', 'Bad pagination offset: /-1/ [must be a decimal number]'],
    ['details=yes', 'Bad value for /details/: /yes/ [accepted: /on/, /ON/, /off/, /OFF/. Default is /off/]'],
  ]
  const right = [
    'limit=1',
    'limit=1000',
    'limit=007',
    'offset=0',
    'offset=99999',
    'details=oFf',
    'limit=',
    'offset=',
    'details=',
    'unknown=x',
    'unknown',
  ]
  for (const path of [
    '/v1/contextEntities',
    '/v1/contextEntityTypes/T/attributes/x',
    '/v1/contextTypes',
    '/v1/contextTypes/T',
    '/v1/contextEntities/a/attributes/b/c',
  ]) {
    for (const [parameter, details] of wrong)
      t.strictSame(
        await client.request('GET', `${path}?${parameter}`),
        [400, orionError(400, details)],
        `${path} ${parameter}`,
      )
    for (const parameter of right)
      t.equal((await client.send('GET', `${path}?${parameter}`)).status, 200, `${path} ${parameter}`)
  }
  await holds(t, client, [
    ['in queryContext', 'POST', '/v1/queryContext?limit=0', one, 400, orionError(400, unreadable)],
  ])
})

test('nothing but what JSON requires is escaped in responses [context 3.3]', async (t) => {
  const client = tenantClient(broker)
  const id = 'a&b/é\n\t\\😀'
  t.strictSame(
    await client.update('UPDATE', [{ id, attributes: [level] }]),
    responses(item(shown(id, '', echo('level', 'percent')), status(404, id))),
  )
  const { text } = await client.send('POST', '/v1/queryContext', { entities: [{ id: 'a', isPattern: 'a&b/é' }] })
  t.equal(text, JSON.stringify(errorCode(400, 'invalid isPattern value for entity: /a&b/é/')))
})

test('a member of a status is absent rather than empty [context 1.1]', async (t) => {
  const { text } = await tenantClient(broker).send('GET', '/v1/contextEntityTypes/T?details=on')
  t.equal(text, JSON.stringify(errorCode(404, 'entityId::type /T/ non-existent')))
  t.equal((await tenantClient(broker).send('POST', '/v1/queryContext', one)).text, JSON.stringify(errorCode(404)))
})
