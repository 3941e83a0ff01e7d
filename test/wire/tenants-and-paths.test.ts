import { test } from 'tap'
import { RunningBroker } from '../running.js'
import {
  attribute,
  Client,
  echo,
  errorCode,
  holds,
  item,
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
const all = { entities: [{ id: '.*', isPattern: 'true' }] }
const path = (text: string) => ({ 'Fiware-ServicePath': text })

test('tenants share nothing, and their names are folded to lower case [context 5.1]', async (t) => {
  const [acme, ACME, other, none] = ['acme_7', 'Acme_7', 'acme_8', ''].map((name) => new Client(broker, name))
  await acme?.given({ id: 'Silo1' })
  await none?.given({ id: 'Silo2' })
  t.strictSame(await ACME?.ids(all), ['Silo1'])
  t.strictSame(await other?.ids(all), errorCode(404))
  t.strictSame(await none?.ids(all), ['Silo2'])
  t.strictSame(await none?.ids(all, '', { 'Fiware-Service': '' }), ['Silo2'], 'an empty header is the default tenant')
})

test('a tenant name has 1 to 50 letters, digits and underscores [context 5.1]', async (t) => {
  const long = orionError(400, 'bad length - a tenant name can be max 50 characters long')
  const bad = orionError(400, 'bad character in tenant name - only underscore and alphanumeric characters are allowed')
  const rows = (
    [
      ['a'.repeat(50), undefined],
      ['a'.repeat(51), long],
      ['-'.repeat(51), long],
      ['a-b', bad],
      ['a b', bad],
      ['a.b', bad],
    ] as const
  ).flatMap(([name, error]): Row[] => {
    const headers = { 'Fiware-Service': name }
    return [
      [`types, ${name}`, 'GET', '/v1/contextTypes', undefined, 200, error ?? statusCode(404), headers],
      [`query, ${name}`, 'POST', '/v1/queryContext', all, 200, error ?? errorCode(404), headers],
      [
        `attribute, ${name}`,
        'DELETE',
        '/v1/contextEntities/x/attributes/y',
        undefined,
        200,
        error ?? status(404, 'x'),
        headers,
      ],
      [
        `entity, ${name}`,
        'PUT',
        '/v1/contextEntities/x',
        { attributes: [level] },
        200,
        error ?? errorCode(404, 'x'),
        headers,
      ],
    ]
  })
  await holds(t, new Client(broker, ''), rows)
})

const ten = '/1/2/3/4/5/6/7/8/9/10'

test('the syntax of service paths is checked for every operation [context 5.2]', async (t) => {
  const client = tenantClient(broker)
  const absolute = 'Only /absolute/ Service Paths allowed [a service path must begin with /]'
  const illegal = 'a component of ServicePath contains an illegal character'
  const empty = 'empty component in ServicePath'
  const errors = [
    ['a/b', absolute],
    ['/a, b', absolute],
    [`${ten}/11`, 'too many components in ServicePath'],
    [`/${'a'.repeat(51)}`, 'component-name too long in ServicePath'],
    ['/a//b', empty],
    ['//a', empty],
    ['/a.b', illegal],
    ['/a b', illegal],
    ['/#/a', illegal],
    ['/a/b#', illegal],
    ['/a/##', illegal],
    [Array(11).fill('/a').join(','), 'too many service paths - a maximum of ten service paths is allowed'],
  ] as const
  for (const [header, details] of errors) {
    const headers = path(header)
    const response = orionError(400, details)
    await holds(t, client, [
      [`types, ${header}`, 'GET', '/v1/contextTypes', undefined, 200, response, headers],
      [`query, ${header}`, 'POST', '/v1/queryContext', all, 200, response, headers],
      [`update, ${header}`, 'POST', '/v1/updateContext', {}, 200, response, headers],
      [`attribute, ${header}`, 'PUT', '/v1/contextEntities/a/attributes/b', {}, 200, response, headers],
      [`unknown path, ${header}`, 'GET', '/v1/nothing', undefined, 200, response, headers],
    ])
  }
  for (const header of [
    '',
    '/',
    '/a/',
    '/a///',
    ten,
    `${ten}/`,
    `/${'a'.repeat(50)}`,
    '/#',
    '/a/#',
    '/A_9',
    Array(10).fill('/a').join(' , '),
  ]) {
    t.strictSame(await client.ids(all, '', path(header)), errorCode(404), header)
  }
})

test('reads see the paths named, updates work in one [context 5.2]', async (t) => {
  const client = tenantClient(broker)
  await client.given({ id: 'root' })
  for (const [where, id] of [
    ['/a', 'a'],
    ['/a/b', 'ab'],
    ['/a/b/c/', 'abc'],
    ['/A', 'A'],
    ['/ab', 'beside'],
    ['/c/d', 'cd'],
  ] as const)
    await client.givenIn(where, { id, type: 'T' })
  const none = errorCode(404)
  for (const [header, found] of [
    ['', ['root', 'a', 'ab', 'abc', 'A', 'beside', 'cd']],
    ['/#', ['root', 'a', 'ab', 'abc', 'A', 'beside', 'cd']],
    ['/', ['root']],
    ['/a', ['a']],
    ['/a/', ['a']],
    ['/a/#', ['a', 'ab', 'abc']],
    ['/a/b/#', ['ab', 'abc']],
    ['/c', none],
    ['/c/#', ['cd']],
    ['/c/#, /a', ['a', 'cd']],
    ['/a,/a/#,/a/b', ['a', 'ab', 'abc']],
    ['/a/b , /A', ['ab', 'A']],
  ] as const) {
    t.strictSame(await client.ids(all, '', path(header)), found, `/${header}`)
  }
  t.strictSame(await client.ids(all, ''), ['root', 'a', 'ab', 'abc', 'A', 'beside', 'cd'])
  t.strictSame(
    await client.update('DELETE', [{ id: 'a' }]),
    responses(item(shown('a', ''), status(404, 'a'))),
    'an update without header works in the root',
  )
  t.strictSame(
    await client.update('DELETE', [{ id: 'ab' }], '', path('/a')),
    responses(item(shown('ab', ''), status(404, 'ab'))),
    'not in the children',
  )
})

test('an entity of the same id and type may live in several paths [context 5.2]', async (t) => {
  const client = tenantClient(broker)
  await client.givenIn('/x', { id: 'e', type: 'T', attributes: [attribute('level', '', 'x')] })
  await client.givenIn('/', { id: 'e', type: 'T', attributes: [attribute('level', '', 'root')] })
  await client.update('UPDATE', [{ id: 'e', attributes: [attribute('level', '', 'X')] }], '', path('/x'))
  t.strictSame(await client.held('e'), [
    shown('e', 'T', attribute('level', '', 'X')),
    shown('e', 'T', attribute('level', '', 'root')),
  ])
  t.strictSame(await client.request('GET', '/v1/contextEntities/type/T/id/e/attributes/level', undefined, path('/')), [
    200,
    { attributes: [attribute('level', '', 'root')], statusCode: status(200) },
  ])
  t.strictSame(await client.request('DELETE', '/v1/contextEntities/e', undefined, path('/x/')), [200, status(200)])
  t.strictSame(await client.held('e'), [shown('e', 'T', attribute('level', '', 'root'))])
})

test('an update has one path without # [context 5.2]', async (t) => {
  const several = status(400, 'more than one service path in context update request')
  const open = status(400, 'Bad Character in Service-Path')
  const entity = { attributes: [level] }
  for (const [header, error] of [
    ['/a,/b', several],
    ['/a, /#', several],
    ['/#', open],
    ['/a/#', open],
  ] as const) {
    const client = tenantClient(broker, path(header))
    await holds(t, client, [
      [
        'updateContext',
        'POST',
        '/v1/updateContext',
        { contextElements: [{ id: 'x' }], updateAction: 'APPEND' },
        200,
        { errorCode: error },
      ],
      ['POST', 'POST', '/v1/contextEntities', { id: 'x', ...entity }, 200, { errorCode: error }],
      ...['/v1/contextEntities/x', '/v1/contextEntities/x/attributes', '/v1/contextEntities/type/T/id/x'].flatMap(
        (at): Row[] => [
          [`POST ${at}`, 'POST', at, entity, 200, { errorCode: error }],
          [`PUT ${at}`, 'PUT', at, entity, 200, { errorCode: error }],
          [`DELETE ${at}`, 'DELETE', at, undefined, 200, error],
        ],
      ),
      ...[
        '/v1/contextEntities/x/attributes/y',
        '/v1/contextEntities/type/T/id/x/attributes/y',
        '/v1/contextEntities/type/T/id/x/attributes/y/z',
      ].flatMap((at): Row[] => [
        [`POST ${at}`, 'POST', at, { value: '1' }, 200, error],
        [`PUT ${at}`, 'PUT', at, { value: '1' }, 200, error],
        [`DELETE ${at}`, 'DELETE', at, undefined, 200, error],
      ]),
    ])
  }
})

test('a failed update in a path leaves it without entities [context 5.2]', async (t) => {
  const client = tenantClient(broker)
  t.strictSame(
    await client.update('UPDATE', [{ id: 'x', attributes: [level] }], '', path('/p')),
    responses(item(shown('x', '', echo('level', 'percent')), status(404, 'x'))),
  )
  t.strictSame(await client.ids(all), errorCode(404))
})
