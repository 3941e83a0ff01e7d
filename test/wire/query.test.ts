import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import {
  attribute,
  type Client,
  errorCode,
  ID,
  item,
  metadata,
  ok,
  responses,
  shown,
  status,
  tenantClient,
  WGS84,
} from './client.js'

const broker = await RunningBroker.shared()

const all = [{ id: '.*', isPattern: 'true' }]
const level = (value: unknown, ...m: readonly unknown[]) => attribute('level', 'percent', value, ...m)
const none = errorCode(404)

test('an entity is found by any selector, once [context 7.2]', async (t) => {
  const client = tenantClient(broker)
  await client.given(
    { id: 'MySilo2', type: 'Silo' },
    { id: 'Silo1' },
    { id: 'Silo1', type: 'Silo' },
    { id: 'silo3', type: 'Barn' },
    { id: 'Silo.4', type: 'silo' },
  )
  const rows: readonly (readonly [string, readonly object[], unknown])[] = [
    ['an exact id', [{ id: 'Silo1' }], ['Silo1', 'Silo1']],
    ['an exact id is no pattern', [{ id: 'Silo.*', isPattern: 'false' }], none],
    ['an exact type', [{ id: 'Silo1', type: 'Silo' }], ['Silo1']],
    ['an empty type is any', [{ id: 'Silo1', type: '' }], ['Silo1', 'Silo1']],
    ['a type is exact', [{ id: '.*', isPattern: 'true', type: 'Sil' }], none],
    ['a type is case-sensitive', [{ id: '.*', isPattern: 'true', type: 'silo' }], ['Silo.4']],
    ['a pattern is not anchored', [{ id: 'Silo', isPattern: 'true' }], ['MySilo2', 'Silo1', 'Silo1', 'Silo.4']],
    ['a pattern with anchors', [{ id: '^Silo[0-9]$', isPattern: true }], ['Silo1', 'Silo1']],
    ['a pattern of classes and counts', [{ id: '\\d{1}$|\\.', isPattern: '1', type: 'Silo' }], ['MySilo2', 'Silo1']],
    [
      'several selectors',
      [{ id: 'silo3' }, { id: 'nothing' }, { id: 'ilo', isPattern: 'true', type: 'Barn' }, { id: 'MySilo2' }],
      ['MySilo2', 'silo3'],
    ],
    ['selectors that match nothing', [{ id: 'x' }, { id: 'q', isPattern: 'true' }], none],
  ]
  for (const [rule, entities, found] of rows) t.strictSame(await client.ids({ entities }), found, rule)
})

test('attributes named choose entities and what is shown of them [context 7.2, 7.3, 2.7]', async (t) => {
  const client = tenantClient(broker)
  const [a, b, B, eAcute] = ['a', 'b', 'B', 'é'].map((name) => attribute(name, '', name))
  const [north, south] = ['north', 'south'].map((where) => attribute('h', '', '1', ID(where)))
  await client.given(
    { id: 'x', attributes: [eAcute, b, a, B] },
    { id: 'y', attributes: [south, north, b] },
    { id: 'z' },
  )
  const rows: readonly (readonly [string, unknown, unknown])[] = [
    [
      'none: all, in the order of bytes',
      [],
      responses(item(shown('x', '', B, a, b, eAcute)), item(shown('y', '', b, north, south)), item(shown('z', ''))),
    ],
    [
      '*: all',
      ['*'],
      responses(item(shown('x', '', B, a, b, eAcute)), item(shown('y', '', b, north, south)), item(shown('z', ''))),
    ],
    ['the order asked for does not matter', ['b', 'a'], responses(item(shown('x', '', a, b)), item(shown('y', '', b)))],
    ['all instances of a name', ['h'], responses(item(shown('y', '', north, south)))],
    ['a name that none has', ['q'], none],
    ['a name twice', ['a', 'a'], responses(item(shown('x', '', a)))],
  ]
  for (const [rule, attributes, found] of rows)
    t.strictSame(await client.query({ entities: all, attributes }), found, rule)
  t.strictSame(await client.query({ entities: all }), rows[0]?.[2], 'absent: all')
})

test('pages count every result [context 7.6]', async (t) => {
  const client = tenantClient(broker)
  const names = Array.from({ length: 25 }, (_, n) => `e${(n * 7) % 25}`)
  await client.given(...names.map((id) => ({ id, type: `T${id}` })))
  const idsFor = (search: string) => client.ids({ entities: all }, search)
  t.strictSame(await idsFor(''), names.slice(0, 20), 'twenty without a limit, by creation over all partitions')
  t.strictSame(await idsFor('?limit=3'), names.slice(0, 3))
  t.strictSame(await idsFor('?limit=1000'), names)
  t.strictSame(await idsFor('?limit=10&offset=20'), names.slice(20))
  t.strictSame(await idsFor('?offset=25'), none)
  t.strictSame(await idsFor('?offset=25&details=off'), none)
  t.strictSame(await idsFor('?offset=25&details=on'), errorCode(404, 'Number of matching entities: 25. Offset is 25'))
  t.strictSame(await idsFor('?offset=400&details=ON'), errorCode(404, 'Number of matching entities: 25. Offset is 400'))
  for (const details of ['on', 'ON', 'oN']) {
    t.strictSame(await client.query({ entities: all }, `?limit=1&offset=24&details=${details}`), {
      ...responses(item(shown(names[24] ?? '', `T${names[24]}`))),
      ...errorCode(200, 'Count: 25'),
    })
  }
  t.strictSame(await client.query({ entities: [{ id: 'x' }] }, '?details=on'), none, 'nothing to count')
  t.strictSame(await client.query({ entities: [{ id: 'x' }] }, '?details=on&offset=5'), none, 'nothing to be past of')
  const page = await client.request('GET', '/v1/contextEntities?limit=1&details=on')
  t.strictSame(page, [200, { ...responses(item(shown('e0', 'Te0'))), ...errorCode(200, 'Count: 25') }])
})

test('results come in the order asked for [context 7.7]', async (t) => {
  const client = tenantClient(broker)
  await client.given(
    { id: 'b', type: 'X', attributes: [level('2'), attribute('n', '', 'b')] },
    { id: 'c', type: 'W' },
    { id: 'a', type: 'X', attributes: [level('10')] },
    { id: 'd', type: '', attributes: [level('2'), attribute('n', '', 'a')] },
  )
  await delay(5) // The clock of dates has milliseconds.
  await client.update('UPDATE', [{ id: 'b', attributes: [attribute('n', '', 'bb')] }])
  const idsFor = (order: string) => client.ids({ entities: all }, `?orderBy=${order}`)
  t.strictSame(await idsFor(''), ['b', 'c', 'a', 'd'])
  t.strictSame(await idsFor('id'), ['a', 'b', 'c', 'd'])
  t.strictSame(await idsFor('!id'), ['d', 'c', 'b', 'a'])
  t.strictSame(await idsFor('type,id'), ['d', 'c', 'a', 'b'])
  t.strictSame(
    await idsFor('level'),
    ['c', 'a', 'b', 'd'],
    'without the attribute first; texts by bytes; then by creation',
  )
  t.strictSame(await idsFor('level,n'), ['c', 'a', 'd', 'b'])
  t.strictSame(await idsFor('!level,n'), ['d', 'b', 'a', 'c'])
  t.strictSame(await idsFor('dateModified'), ['c', 'a', 'd', 'b'])
  t.strictSame(await idsFor('!dateCreated'), ['b', 'c', 'a', 'd'], 'elements of one request have one date')
})

test('attributesFormat=object keys attributes by name [context 7.8]', async (t) => {
  const client = tenantClient(broker)
  const given = {
    id: 'x',
    type: 'T',
    attributes: [
      level('1'),
      attribute('h', '', '7', ID('b')),
      attribute('h', '', '8', ID('a')),
      { ...attribute('c', 't', '9'), metadatas: [metadata('m', '', '1')] },
    ],
  }
  const echoed = {
    level: { type: 'percent', value: '' },
    h: { type: '', value: '', metadatas: [ID('a')] },
    c: { type: 't', value: '', metadatas: [metadata('m', '', '1')] },
  }
  const held = {
    c: { type: 't', value: '9', metadatas: [metadata('m', '', '1')] },
    h: { type: '', value: '8', metadatas: [ID('a')] },
    level: { type: 'percent', value: '1' },
  }
  const entity = (attributes: unknown) => ({ type: 'T', isPattern: 'false', id: 'x', attributes })
  t.strictSame(await client.update('APPEND', [given], '?attributesFormat=object'), responses(item(entity(echoed))))
  for (const search of ['?attributesFormat=object', '?attributeFormat=object'])
    t.strictSame(await client.query({ entities: all }, search), responses(item(entity(held))))
  t.strictSame(
    await client.query({ entities: all }, '?attributesFormat=list'),
    await client.query({ entities: all }),
    'another value is ignored',
  )
  const get = (path: string) => client.request('GET', `/v1/${path}?attributesFormat=object`)
  t.strictSame(await get('contextEntities'), [200, responses(item(entity(held)))])
  t.strictSame(await get('contextEntities/x'), [
    200,
    { contextElement: entity(held), contextElements: [entity(held)], statusCode: ok },
  ])
  t.strictSame(await get('contextEntities/type/T/id/x'), [200, { contextElement: entity(held), statusCode: ok }])
  t.strictSame(await get('contextEntities/x/attributes/h'), [200, { attributes: { h: held.h }, statusCode: ok }])
  t.strictSame(await get('contextEntities/x/attributes/h/b'), [
    200,
    { attributes: { h: { type: '', value: '7', metadatas: [ID('b')] } }, statusCode: ok },
  ])
  t.strictSame(await get('contextEntityTypes/T/attributes/level'), [
    200,
    responses(item(entity({ level: held.level }))),
  ])
  t.strictSame(
    await client.request('PUT', '/v1/contextEntities/x?attributesFormat=object', { attributes: [level('2')] }),
    [200, responses({ attributes: { level: echoed.level }, statusCode: ok })],
  )
  t.strictSame(
    await client.request('POST', '/v1/contextEntities/x?attributesFormat=object', { attributes: [level('2')] }),
    [
      200,
      { type: 'T', isPattern: 'false', id: 'x', ...responses({ attributes: { level: echoed.level }, statusCode: ok }) },
    ],
  )
  t.strictSame((await get('contextTypes'))[1], {
    types: [{ name: 'T', attributes: ['c', 'h', 'level'] }],
    statusCode: ok,
  })
})

const scoped = (client: Client, ...scopes: readonly unknown[]) => client.ids({ entities: all, restriction: { scopes } })
const scope = (type: string, value: unknown) => ({ type, value })

test('all scopes hold, those of unknown types are ignored [context 7.4]', async (t) => {
  const client = tenantClient(broker)
  await client.given({ id: 'bare', attributes: [level('1')] }, { id: 'typed', type: 'T', attributes: [level('1')] })
  const typed = scope('FIWARE::Filter::Existence', 'entity::type')
  const untyped = scope('FIWARE::Filter::Not::Existence', 'entity::type')
  t.strictSame(await scoped(client, typed), ['typed'])
  t.strictSame(await scoped(client, untyped), ['bare'])
  t.strictSame(await scoped(client, scope('FIWARE::Filter::!::Existence', 'entity::type')), ['bare'])
  t.strictSame(await scoped(client, typed, untyped), none)
  t.strictSame(await scoped(client, scope('Other', 'x')), ['bare', 'typed'])
  t.strictSame(await scoped(client, scope('Other', { any: 'thing' }), typed), ['typed'])
  t.strictSame(await client.ids({ entities: all, restriction: { attributeExpression: 'x' } }), ['bare', 'typed'])
  t.strictSame(
    await scoped(client, { value: 'entity::type', type: 'FIWARE::Filter::Existence' }),
    ['typed'],
    'members in any order',
  )
})

const circle = (radius: unknown, more: object = {}) =>
  scope('FIWARE::Location', { circle: { centerLatitude: '0', centerLongitude: 0, radius, ...more } })
const corners = [
  [-0.9, -0.9],
  [-0.9, 0.9],
  [0.9, 0.9],
  [0.9, -0.9],
].map(([latitude, longitude]) => ({ latitude, longitude: String(longitude) }))
const polygon = (more: object = {}, vertices: readonly unknown[] = corners) =>
  scope('FIWARE_Location', { polygon: { vertices, ...more } })

test('areas are circles and polygons [context 7.4.1]', async (t) => {
  const client = tenantClient(broker)
  // One degree of the equator is 111 194.9 m long on a sphere of 6 371 000 m.
  await client.given(
    { id: 'centre', attributes: [attribute('p', 'geo:point', '0,0')] },
    { id: 'near', attributes: [attribute('p', 'x', '0, 1', WGS84)] },
    { id: 'far', attributes: [attribute('p', 'geo:point', '40, 40')] },
    { id: 'nowhere', attributes: [attribute('p', 'x', '0, 0')] },
  )
  t.strictSame(await scoped(client, circle(111_195)), ['centre', 'near'])
  t.strictSame(await scoped(client, circle('111194')), ['centre'])
  for (const inverted of ['true', '1', true, 1])
    t.strictSame(await scoped(client, circle(5, { inverted })), ['near', 'far'], 'without a location never')
  for (const inverted of ['false', '0', false, 0])
    t.strictSame(await scoped(client, circle(5, { inverted })), ['centre'])
  t.strictSame(await scoped(client, polygon()), ['centre'])
  t.strictSame(await scoped(client, polygon({}, [...corners, corners[0]])), ['centre'], 'closed by the request')
  t.strictSame(await scoped(client, polygon({ inverted: 'true' })), ['near', 'far'])
  t.strictSame(await scoped(client, circle(111_195), circle(5, { inverted: 'true' })), ['near'], 'two areas: both hold')
  t.strictSame(
    await scoped(
      client,
      scope('FIWARE::Location', {
        circle: { inverted: 'false', radius: '5', centerLongitude: '0', centerLatitude: '0' },
      }),
    ),
    ['centre'],
    'members in any order',
  )
})

test('an area that can not be understood is an error [context 7.4.1]', async (t) => {
  const client = tenantClient(broker)
  const around = (value: object) => scope('FIWARE::Location', { circle: value })
  const centre = { centerLatitude: '1', centerLongitude: '1' }
  for (const [given, details] of [
    [around(centre), 'Missing radius for circle area'],
    [around({ ...centre, radius: '0' }), 'Radius zero for a circle area'],
    [around({ ...centre, radius: 0 }), 'Radius zero for a circle area'],
    [around({ centerLongitude: '1', radius: '5' }), 'Missing latitude for circle center'],
    [around({ centerLatitude: '1', radius: '5' }), 'Missing longitude for circle center'],
    [around({ ...centre, radius: '5', inverted: 'yes' }), 'bad string for circle/inverted: /yes/'],
    [around({ ...centre, centerLatitude: '90.1', radius: '5' }), 'invalid value for latitude'],
    [around({ ...centre, centerLatitude: 'x', radius: '5' }), 'invalid value for latitude'],
    [around({ ...centre, centerLongitude: '-181', radius: '5' }), 'invalid value for longitude'],
    [around({ ...centre, centerLongitude: '1x', radius: '5' }), 'invalid value for longitude'],
    [polygon({}, corners.slice(0, 2)), 'too few vertices for a polygon'],
    [polygon({}, []), 'too few vertices for a polygon'],
    [polygon({ inverted: 'no' }), 'bad string for polygon/inverted: /no/'],
    [polygon({}, [...corners, { longitude: '1' }]), 'missing latitude value for polygon vertex'],
    [polygon({}, [...corners, { latitude: '1' }]), 'missing longitude value for polygon vertex'],
    [polygon({}, [...corners, { latitude: '-91', longitude: '1' }]), 'invalid value for latitude'],
    [polygon({}, [...corners, { latitude: '1', longitude: 'x' }]), 'invalid value for longitude'],
  ] as const) {
    t.strictSame(await scoped(client, given), errorCode(400, details), details)
  }
})

const filter = (client: Client, q: string) => scoped(client, scope('FIWARE::StringQuery', q))

test('string filters compare texts with texts [context 7.4.2]', async (t) => {
  const client = tenantClient(broker)
  await client.given(
    {
      id: 'a',
      attributes: [level('5'), attribute('on', '', 'true'), attribute('d', '', { k: { x: '1' }, 'q.r': 'z' })],
    },
    {
      id: 'b',
      attributes: [level('7'), attribute('d', '', { k: { x: '2' } }), attribute('tank.1', '', { level: 'high' })],
    },
    { id: 'c', attributes: [attribute('level', '', 'full', ID('x')), attribute('level', '', 'empty', ID('y'))] },
    { id: 'd', attributes: [attribute('name', '', 'a null')] },
  )
  for (const [q, found] of [
    ['level', ['a', 'b', 'c']],
    ['!level', ['d']],
    ["level=='5'", ['a']],
    ["level:'5'", ['a']],
    ['level==5', none],
    ["level!='5'", ['b', 'c']],
    ["level>'5'", ['b', 'c']],
    ["level>='5'", ['a', 'b', 'c']],
    ["level<'6'", ['a']],
    ['level>1', none],
    ["level=='5'..'7'", ['a', 'b']],
    ["level!='5'..'7'", ['c']],
    ["level=='5','empty'", ['a', 'c']],
    ['level==full', ['c']],
    ['level==empty', ['c']],
    ['level~=ul', ['c']],
    ['level~=^[0-9]$', ['a', 'b']],
    ["on=='true'", ['a']],
    ['on==true', none],
    ["d.k.x=='1'", ['a']],
    ["d.k.x!='1'", ['b']],
    ["'tank.1'.level==high", ['b']],
    ["level=='5';on", ['a']],
    ["level=='7';on", none],
    ['level;', ['a', 'b', 'c']],
    ['name==a null', ['d']],
    ['dateCreated>2000-01-01T00:00:00Z', ['a', 'b', 'c', 'd']],
    ['dateModified<2000-01-01T00:00:00Z', none],
  ] as const) {
    t.strictSame(await filter(client, q), found, q)
  }
})

test('a filter that can not be understood is an error [context 7.4.2]', async (t) => {
  const client = tenantClient(broker)
  for (const [q, details] of [
    [';', 'empty q'],
    [';;', 'empty q-item'],
    ['a;;b', 'empty q-item'],
    ['==5', 'empty left-hand-side in q-item'],
    ['a==', 'empty right-hand-side in q-item'],
    ['a==1,,2', 'empty item in list'],
    ['a==..2', 'empty item in range'],
    ['a==1..', 'empty item in range'],
    ['a>1..2', 'ranges only valid for equal and not equal ops'],
    ['a>1,2', 'lists only valid for equal and not equal ops'],
    ["a==1..'b'", 'invalid range: types mixed'],
    ['a==true..5', 'invalid range: types mixed'],
    ['a==1,null', 'invalid JSON value type in list'],
    ['a; ;b', 'empty q-item'],
    ["a=='b'c", 'forbidden characters in String Filter'],
    ["a==1,'b'", 'invalid JSON value type in list'],
    ["a=='b", 'non-terminated forced string'],
    ['a==(b)', 'forbidden characters in String Filter'],
    ['', 'Empty value in restriction scope'],
  ] as const) {
    t.strictSame(await filter(client, q), errorCode(400, details), q)
  }
  t.strictSame(await filter(client, ' '), errorCode(400, 'empty q'), 'spaces alone')
})

test('filters on metadata look at attribute.metadata [context 7.4.2]', async (t) => {
  const client = tenantClient(broker)
  const unit = (value: string) => metadata('unit', '', value)
  await client.given(
    { id: 'a', attributes: [level('5', unit('cm'))] },
    { id: 'b', attributes: [level('5', unit('7'))] },
    { id: 'c', attributes: [level('5')] },
    { id: 'd', attributes: [level('1', ID('x'), unit('l')), level('2', ID('y'), unit('cm'))] },
  )
  for (const [mq, found] of [
    ['level.unit==cm', ['a', 'd']],
    ["level.unit=='7'", ['b']],
    ['level.unit==7', none],
    ['level.unit', ['a', 'b', 'd']],
    ['!level.unit', ['c']],
    ["level.unit!='7';level.unit~=c", ['a', 'd']],
    ['level.other', none],
  ] as const) {
    t.strictSame(await scoped(client, scope('FIWARE::StringQuery::Metadata', mq)), found, mq)
  }
  t.strictSame(
    await scoped(client, scope('FIWARE::StringQuery::Metadata', 'level.unit==')),
    errorCode(400, 'empty right-hand-side in q-item'),
  )
  t.strictSame(
    await scoped(client, scope('FIWARE::StringQuery::Metadata', 'level.==1')),
    errorCode(400, 'empty left-hand-side in q-item'),
  )
})

test('results are read in order within one second and over partitions [context 2.7]', async (t) => {
  const client = tenantClient(broker)
  const names: string[] = []
  for (let n = 0; n < 30; n += 1) {
    const id = `e${(n * 17) % 31}`
    names.push(id)
    await client.given({ id })
  }
  t.strictSame(await client.ids({ entities: all }, '?limit=100'), names)
  await client.update('DELETE', [{ id: names[3] }])
  await client.given({ id: names[3] })
  t.strictSame(
    await client.ids({ entities: all }, '?limit=100'),
    [...names.filter((_, n) => n !== 3), names[3]],
    'made anew is last',
  )
  t.strictSame(await client.query({ entities: [{ id: 'nobody' }] }), { errorCode: status(404) })
})
