import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { attribute, raw, tenantClient } from '../wire/client.js'

const broker = await RunningBroker.shared(['-multiservice', '-partitions', '3', '-httpThreads', '2', '-ngsiv1Autocast'])

function vat(id: string, type: string, values: Readonly<Record<string, unknown>>) {
  const kinds: Readonly<Record<string, string>> = { heat: 'Number', seen: 'DateTime' }
  return {
    id,
    type,
    attributes: Object.entries(values).map(([name, value]) => attribute(name, kinds[name] ?? 'Text', value)),
  }
}

const client = tenantClient(broker)
const seen = '2031-03-01T10:30+02:00'
await client.given(vat('Vat1', 'Vat', { heat: '61', lid: 'open', seen }))
await client.given(vat('Vat2', 'Vat', { heat: '20', lid: 'shut' }))
await client.given(vat('Tub1', 'Tub', { heat: '40', 'pipe.in': 'x' }))
await client.given(vat('Odd', '', {}))
await client.givenIn('/brew', vat('Vat1', 'Vat', { level: { a: [1] } }))

/** The ids that a list shows, or the text of its error. */
async function ids(query: string, headers = {}): Promise<unknown> {
  const { status, json } = await client.send('GET', `/v2/entities?options=keyValues&${query}`, undefined, headers)
  if (status !== 200) return [status, (json as { description: string }).description]
  return (json as readonly { id: string }[]).map(({ id }) => id)
}

test('every criterion must hold [NGSIv2 context 8.1]', async (t) => {
  for (const [query, found] of [
    ['', ['Vat1', 'Vat2', 'Tub1', 'Odd', 'Vat1']],
    ['id=Vat2,Tub1,Vat2', ['Vat2', 'Tub1']],
    ['id=Vat1,Tub1&type=Vat', ['Vat1', 'Vat1']],
    ['id=Vat2,Tub1,Odd&type=Vat,Tub', ['Vat2', 'Tub1']],
    ['id=Vat', []],
    ['id=,', []],
    ['type=Tub,Vat', ['Vat1', 'Vat2', 'Tub1', 'Vat1']],
    ['type=,', []],
    ['type=Thing', []],
    ['idPattern=1$', ['Vat1', 'Tub1', 'Vat1']],
    ['idPattern=1$&type=Tub,Keg', ['Tub1']],
    ['typePattern=u', ['Tub1']],
    ['typePattern=.*', ['Vat1', 'Vat2', 'Tub1', 'Odd', 'Vat1']],
    ['idPattern=^V&typePattern=^V', ['Vat1', 'Vat2', 'Vat1']],
    ['id=Vat2,Tub1&typePattern=^V', ['Vat2']],
    ['q=heat>30', ['Vat1', 'Tub1']],
    ['q=heat>30;!lid', ['Tub1']],
    ['q=servicePath==/brew', ['Vat1']],
    ["q='pipe.in'==x", ['Tub1']],
    ["q=level.a=='1'", ['Vat1']],
    ['q=seen>2031-01-01', ['Vat1']],
    ['mq=heat.dateCreated>2020-01-01', ['Vat1', 'Vat2', 'Tub1']],
    ['q=heat&mq=lid.dateModified', ['Vat1', 'Vat2']],
    ['orderBy=!heat&q=heat', ['Vat1', 'Tub1', 'Vat2']],
    ['orderBy=type,!id', ['Odd', 'Tub1', 'Vat2', 'Vat1', 'Vat1']],
    ['orderBy=geo:distance,id', ['Odd', 'Tub1', 'Vat1', 'Vat1', 'Vat2']],
    ['limit=2&offset=1', ['Vat2', 'Tub1']],
    ['offset=9', []],
    [`type=${Array.from({ length: 150 }, (_, n) => `T${n}`).join(',')},Tub`, ['Tub1']],
  ] as const) {
    t.strictSame(await ids(query.replaceAll('+', '%2B')), found, query.slice(0, 60))
  }
  t.strictSame(await ids('', { 'Fiware-ServicePath': '/' }), ['Vat1', 'Vat2', 'Tub1', 'Odd'])
  t.strictSame(await ids('', { 'Fiware-ServicePath': '/brew/#' }), ['Vat1'])
})

test('the first wrong criterion decides [NGSIv2 context 1.4]', async (t) => {
  for (const [query, description] of [
    ['id=a&idPattern=a&type=T&typePattern=T', 'Incompatible parameters: id, IdPattern'],
    ['type=T&typePattern=T&q=;', 'Incompatible parameters: type, typePattern'],
    ['idPattern=*[&q=;', 'Invalid regex for entity idPattern'],
    ['typePattern=*[', 'Invalid regex for entity typePattern'],
    ['idPattern=(a)\\1', 'Invalid regex for entity idPattern'],
    [`idPattern=${'a.'.repeat(4)}{1000}{1000}`, 'Invalid regex for entity idPattern'],
    [
      `idPattern=${'\\pL'.repeat(50)}&q=heat~=${'\\PL'.repeat(50)}`,
      `regular expression takes too long to compile: '${'\\PL'.repeat(33)}\\...'`,
    ],
    ['q=;&mq=heat', 'empty q'],
    ['mq=heat&orderBy=a,a', 'no metadata in right-hand-side of q-item'],
    ['orderBy=a,b,!a', 'duplicate orderBy token detected'],
    [`orderBy=${Array.from({ length: 21 }, (_, n) => `a${n}`).join(',')}`, 'too many orderBy tokens [max: 20]'],
  ] as const) {
    t.strictSame(await ids(query), [400, description], query)
  }
})

test('the count is of all results, also of a page without any [NGSIv2 context 7.5]', async (t) => {
  for (const [query, count] of [
    ['options=count', '5'],
    ['options=count&limit=0', '5'],
    ['options=count&offset=9', '5'],
    ['options=count&q=zz', '0'],
    ['options=count&type=Vat&limit=1&attrs=lid', '3'],
    ['options=count&typePattern=^V&orderBy=id&limit=0', '3'],
    ['limit=0', null],
    ['', null],
  ] as const) {
    const { headers, json } = await client.send('GET', `/v2/entities?${query}`)
    t.equal(headers.get('Fiware-Total-Count'), count, query)
    if (query.includes('limit=0')) t.same(json, [], query)
  }
})

test('attrs and metadata say what is shown, not what is found [NGSIv2 context 7.1]', async (t) => {
  const first = await client.request('GET', '/v2/entities?attrs=lid,none,servicePath&limit=3&options=keyValues')
  t.strictSame(first, [
    200,
    [
      { id: 'Vat1', type: 'Vat', lid: 'open', servicePath: '/' },
      { id: 'Vat2', type: 'Vat', lid: 'shut', servicePath: '/' },
      { id: 'Tub1', type: 'Tub', servicePath: '/' },
    ],
  ])
  t.strictSame(await client.request('GET', '/v2/entities?type=Tub&options=values&attrs=heat'), [200, [[40]]])
  t.strictSame(await client.request('GET', '/v2/entities?id=Vat1&attrs=seen&q=seen'), [
    200,
    [{ id: 'Vat1', type: 'Vat', seen: { type: 'DateTime', value: '2031-03-01T08:30:00.000Z', metadata: {} } }],
  ])
})

test('a batch query finds and shows what its payload says [NGSIv2 context 11.2]', async (t) => {
  const batchQuery = (payload: object, search = '') => client.request('POST', `/v2/op/query${search}`, payload)
  t.strictSame(
    await batchQuery(
      { entities: [{ idPattern: '^Vat', type: 'Vat' }], attrs: ['heat'], expression: { q: 'heat>60' } },
      '?options=keyValues',
    ),
    [200, [{ id: 'Vat1', type: 'Vat', heat: 61 }]],
  )
  t.strictSame(await batchQuery({ attributes: ['pipe.in'] }, '?options=keyValues'), [
    200,
    [{ id: 'Tub1', type: 'Tub', 'pipe.in': 'x' }],
  ])
  const page = await client.send('POST', '/v2/op/query?orderBy=!heat&limit=1&options=count,values', { attrs: ['heat'] })
  t.strictSame([page.status, page.json, page.headers.get('Fiware-Total-Count')], [200, [[61]], '5'])
  t.strictSame(await batchQuery({ attrs: ['a'] }, '?orderBy=a,a'), [
    400,
    { error: 'BadRequest', description: 'duplicate orderBy token detected' },
  ])
  t.strictSame(await batchQuery({}), [400, { error: 'BadRequest', description: 'empty payload' }])
})

test('a value is JSON when it is compound, else plain text [NGSIv2 context 9.3]', async (t) => {
  const path = '/v2/entities/Vat1/attrs'
  const value = async (name: string, accept: string | undefined, where = '/') => {
    const headers = { 'Fiware-ServicePath': where, ...(accept !== undefined && { Accept: accept }) }
    const reply = await client.send('GET', `${path}/${name}/value`, undefined, headers)
    return [reply.status, reply.headers.get('Content-Type'), reply.text]
  }
  t.strictSame(await value('lid', undefined), [200, 'text/plain', '"open"'])
  t.strictSame(await value('heat', 'text/*'), [200, 'text/plain', '61'])
  t.strictSame(await value('seen', '*/*'), [200, 'text/plain', '2031-03-01T08:30:00.000Z'])
  const refusal = JSON.stringify({ error: 'NotAcceptable', description: 'accepted MIME types: text/plain' })
  t.strictSame(await value('lid', 'application/json'), [406, 'application/json', refusal])
  for (const [accept, type] of [
    ['application/json', 'application/json'],
    ['*/*', 'application/json'],
    ['text/plain', 'text/plain'],
    ['text/plain, application/json', 'text/plain'],
    ['text/plain;q=0.5, application/*;q=0.7', 'application/json'],
    ['image/png, text/*;q=0.9, */*;q=0.1', 'text/plain'],
  ] as const) {
    t.strictSame(await value('level', accept, '/brew'), [200, type, '{"a":["1"]}'], accept)
  }
  t.same((await value('none', 'text/plain'))[0], 404)
  t.strictSame(await raw(broker, 'GET', `${path}/lid/value`, { Accept: 'image/png' }), [
    406,
    { error: 'NotAcceptable', description: 'no acceptable mime-type in accept header' },
  ])
})

test('places are asked for by three parameters, or by an expression [NGSIv2 context 10.4]', async (t) => {
  const sites = tenantClient(broker)
  const site = (id: string, coordinates: string) => ({
    id,
    type: 'Site',
    attributes: [attribute('here', 'geo:point', coordinates)],
  })
  await sites.given(site('Near', '48.2, 16.37'), site('Far', '40.4, -3.7'), site('Mid', '48.1, 11.6'), {
    id: 'None',
    type: 'Site',
  })
  const found = async (query: string) => {
    const { status, json } = await sites.send('GET', `/v2/entities?options=values&attrs=none&${query}`)
    if (status !== 200) return json
    const named = await sites.send('GET', `/v2/entities?options=keyValues&${query}`)
    return (named.json as readonly { id: string }[]).map(({ id }) => id)
  }
  const near = 'georel=near;maxDistance:1000000&geometry=point&coords=48.2,16.3'
  t.same(await found(near), ['Near', 'Mid'])
  t.same(await found(`${near}&orderBy=geo:distance`), ['Near', 'Mid'])
  t.same(await found(`${near}&orderBy=!geo:distance`), ['Mid', 'Near'])
  t.same(await found(`${near}&orderBy=id,!geo:distance`), ['Mid', 'Near'], 'only as the first name')
  t.same(await found('georel=near;minDistance:1000000&geometry=point&coords=48.2,16.3'), ['Far'])
  t.same(await found('georel=coveredBy&geometry=box&coords=45,10;50,20'), ['Near', 'Mid'])
  t.same(await found('georel=disjoint&geometry=box&coords=45,10;50,20'), ['Far'])
  for (const [query, description] of [
    ['coords=1,2', 'Invalid query: URI param /coords/ used without /geometry/'],
    ['geometry=point', 'Invalid query: URI param /geometry/ used without /coords/'],
    ['georel=equals', 'Invalid query: URI param /georel/ used without /geometry/'],
    ['geometry=point&coords=1,2', 'Invalid query: URI param /geometry/ used without /georel/'],
    ['geometry=point&coords=1', 'Invalid query: invalid point in URI param /coords/'],
    [
      'georel=near&geometry=point&coords=1,2',
      'Invalid query: georel /near/ without either minDistance nor maxDistance',
    ],
  ] as const) {
    t.same(await found(query), { error: 'BadRequest', description }, query)
  }
  const geoQuery = (expression: object) =>
    sites.request('POST', '/v2/op/query?options=keyValues', { expression, attrs: ['none'] })
  t.strictSame(await geoQuery({ georel: 'near;maxDistance:9', geometry: 'point', coords: '48.2,16.37' }), [
    200,
    [{ id: 'Near', type: 'Site' }],
  ])
  const partial = 'partial geo expression: geometry, georel and coords have to be provided together'
  t.strictSame(await geoQuery({ georel: 'equals', coords: '1,2' }), [
    400,
    { error: 'BadRequest', description: partial },
  ])
  const unknown = 'error parsing geo-query fields: Invalid modifier in georel parameter'
  t.strictSame(await geoQuery({ georel: 'touches', geometry: 'point', coords: '1,2' }), [
    400,
    { error: 'BadRequest', description: unknown },
  ])
})
