import { join } from 'node:path'
import { t as root, test } from 'tap'
import { FarEnd, type Responder, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { Client } from '../wire/client.js'

// A provider that answers late, on a machine that stands still, is none that fails.
const flags = ['-multiservice', '-httpThreads', '2', '-httpTimeout', '60000', '-cprAnswerMaxSize', '200000']
const folder = root.testdir()
const broker = await RunningBroker.startOn(root, join(folder, 'patient'), flags)

/** One that soon takes a provider for silent, and passes little on. */
const impatientFlags = ['-multiservice', '-httpTimeout', '1000', '-cprForwardLimit', '2']
const impatient = await RunningBroker.startOn(root, join(folder, 'impatient'), impatientFlags)

const unknown = { error: 'NotFound', description: 'The requested entity has not been found. Check type and id' }
const noise = { type: 'Number', value: 58, metadata: {} }
const ozone = { type: 'ppb', value: 40, metadata: { window: { type: 'Text', value: '10m' } } }
const lamp = { type: 'Text', value: 'on', metadata: {} }
const street = { id: 'Street-4', type: 'Street' }

let tenants = 0

/** A client with a tenant of its own, and providers that are registered there. */
class City extends Client {
  constructor(at = broker) {
    super(at, `city${++tenants}`)
  }

  async registers(url: string, entity: object, attrs: readonly string[] = [], provider: object = {}): Promise<void> {
    const dataProvided = { entities: [entity], attrs }
    const { status, text } = await this.send('POST', '/v2/registrations', {
      dataProvided,
      provider: { http: { url }, ...provider },
    })
    if (status !== 201) throw new Error(`a registration was refused: ${text}`)
  }

  async holds(entity: object): Promise<void> {
    const { status, text } = await this.send('POST', '/v2/entities', entity)
    if (status !== 201) throw new Error(`an entity was refused: ${text}`)
  }
}

/** An object of many members. */
function many(members: number): object {
  return Object.fromEntries(Array.from({ length: members }, (_, at) => [`a${at}`, { value: at }]))
}

function gives(body: unknown, headers: Record<string, string> = {}, status = 200): Responder {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (_, response) => response.writeHead(status, headers).end(text)
}

function takeRequests(provider: FarEnd): readonly (readonly [url: string, body: unknown])[] {
  return provider.received.splice(0).map(({ url, body }) => [url, JSON.parse(body)] as const)
}

const whole = '/v2/op/query?limit=20&offset=0&options=count'

test('what is lacking here is asked for, joined with what is here, and shown as if it were here [NGSIv2 subscriptions 11.2]', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t)]
  await city.holds({ ...street, lamp })
  await city.registers(provider.url('/v2'), street, ['noise', 'lamp', 'ozone'])
  provider.respond = gives([{ ...street, ozone, noise, lamp: { value: 'off' } }])
  const path = '/v2/entities/Street-4'
  t.strictSame(await city.request('GET', `${path}?type=Street`), [200, { ...street, lamp, noise, ozone }])
  t.strictSame(takeRequests(provider), [
    ['/v2/op/query?limit=19&offset=0&options=count', { entities: [street], attrs: ['noise', 'ozone'] }],
  ])
  const rows: readonly (readonly [string, unknown])[] = [
    [`${path}?options=keyValues`, { ...street, lamp: 'on', noise: 58, ozone: 40 }],
    [`${path}?attrs=ozone,lamp&options=values`, [40, 'on']],
    [`${path}/attrs?attrs=ozone&metadata=none`, { ozone: { ...ozone, metadata: {} } }],
    [`${path}/attrs/ozone`, ozone],
    [`${path}/attrs/lamp`, lamp],
    ['/v2/entities?attrs=*,dateCreated&options=keyValues&type=Street', undefined],
  ]
  for (const [url, body] of rows) {
    const [status, shown] = await city.request('GET', url)
    t.equal(status, 200, url)
    if (body !== undefined) t.strictSame(shown, body, url)
  }
  t.same(
    takeRequests(provider).map(([, body]) => Reflect.get(Object(body), 'attrs')),
    [['noise', 'ozone'], ['ozone'], ['ozone'], ['ozone'], ['noise', 'ozone']],
  )
  const value = await city.send('GET', `${path}/attrs/noise/value`, undefined, { Accept: 'text/plain' })
  t.same([value.status, value.text], [200, '58'])
  provider.received.length = 0
  t.strictSame(await city.request('GET', `${path}?options=skipForwarding`), [200, { ...street, lamp }])
  t.strictSame(
    await city.request('GET', `${path}?attrs=dateCreated,servicePath&options=keyValues&metadata=x`).then(([s]) => s),
    200,
  )
  t.same(provider.received, [], 'builtin attributes are nobody else’s')
})

test('an entity of a provider has no dates and no path, and none of its attributes has [NGSIv2 context 6]', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t, gives([{ ...street, noise }]))]
  await city.registers(provider.url('/v2'), street)
  const path = '/v2/entities/Street-4?attrs=*,dateCreated,dateModified,servicePath&metadata=*,dateCreated'
  t.strictSame(await city.request('GET', path), [200, { ...street, noise }])
})

test('each request tells its number, the client and the brokers that it has passed [NGSIv2 subscriptions 11.2]', async (t) => {
  const [city, one, two] = [new City(), await FarEnd.listen(t), await FarEnd.listen(t)]
  await city.registers(one.url('/v2'), street, ['noise'])
  await city.registers(two.url('/v2'), street, ['ozone'])
  const headers = { 'Fiware-Correlator': 'q; cbfwd=1', 'X-Auth-Token': 'key', Via: '1.1 rigel-other' }
  await city.send('GET', '/v2/entities/Street-4?type=Street&attrs=ozone,noise', undefined, headers)
  const [first, second] = [two.received[0]?.headers, one.received[0]?.headers]
  t.match(first, {
    'fiware-correlator': 'q; cbfwd=1; cbfwd=1',
    'x-auth-token': 'key',
    'fiware-servicepath': '/',
    accept: 'application/json',
    'content-type': 'application/json; charset=utf-8',
    via: /^1\.1 rigel-other, 1\.1 rigel-[0-9a-f]+$/,
  })
  t.equal(second?.['fiware-correlator'], 'q; cbfwd=1; cbfwd=2')
  const back = { Via: String(first?.via) }
  t.strictSame(await city.request('GET', '/v2/entities/Street-4', undefined, back), [404, unknown], 'a ring ends')
})

test('providers are asked at the same time, and what they answer comes in the order of asking', async (t) => {
  const [city, one, two] = [new City(), await FarEnd.listen(t), await FarEnd.listen(t)]
  const lane = { id: 'Lane-1', type: 'Street' }
  await city.registers(one.url('/v2'), street)
  await city.registers(two.url('/v2'), lane)
  const waiting: (() => void)[] = []
  one.respond = (_, response) => {
    const respond = () => response.writeHead(200).end(JSON.stringify([{ ...street, noise }]))
    if (two.received.length > 0) respond()
    else waiting.push(respond)
  }
  two.respond = (_, response) => {
    response.writeHead(200).end(JSON.stringify([{ ...lane, lamp }]))
    for (const respond of waiting.splice(0)) respond()
  }
  const list = [
    200,
    [
      { ...street, noise },
      { ...lane, lamp },
    ],
  ]
  t.strictSame(
    await city.request('GET', '/v2/entities?type=Street'),
    list,
    'neither waits for the response to the other',
  )
})

test('with an offset behind what is here providers are asked in sequence: the offset of each is what is left of it [NGSIv2 subscriptions 11.2]', async (t) => {
  const [city, one, two, three] = [new City(), await FarEnd.listen(t), await FarEnd.listen(t), await FarEnd.listen(t)]
  const every = { idPattern: '.*', type: 'Street' }
  await city.holds({ id: 'Street-0', type: 'Street' })
  for (const provider of [one, two, three]) await city.registers(provider.url('/v2'), every)
  one.respond = gives([], { 'Fiware-Total-Count': '7' })
  two.respond = gives([{ id: 'Street-8', type: 'Street' }], { 'Fiware-Total-Count': '4' })
  three.respond = gives([{ id: 'Street-9', type: 'Street' }], { 'Fiware-Total-Count': 'many' })
  const found = await city.send('GET', '/v2/entities?type=Street&limit=5&offset=10&options=count,keyValues')
  t.strictSame(found.json, [
    { id: 'Street-8', type: 'Street' },
    { id: 'Street-9', type: 'Street' },
  ])
  t.equal(
    found.headers.get('fiware-total-count'),
    '13',
    'what is here, 7, 4, and what came of a provider that does not count',
  )
  const queries = [one, two, three].map((provider) => takeRequests(provider))
  t.strictSame(queries, [
    [['/v2/op/query?limit=5&offset=9&options=count', { entities: [every], attrs: [] }]],
    [['/v2/op/query?limit=5&offset=2&options=count', { entities: [every], attrs: [] }]],
    [['/v2/op/query?limit=4&offset=0&options=count', { entities: [every], attrs: [] }]],
  ])
  const here = await city.send('GET', '/v2/entities?type=Street&limit=1&options=count')
  t.same([here.json, here.headers.get('fiware-total-count')], [[{ id: 'Street-0', type: 'Street' }], '1'])
  t.same([one, two, three].flatMap(takeRequests), [], 'a page that is full needs nobody')
  one.respond = gives(Array.from({ length: 50 }, (_, at) => ({ id: `S${at}`, type: 'Street' })))
  const [, page] = await city.request('GET', '/v2/entities?type=Street&limit=3')
  t.equal(Array.isArray(page) && page.length, 3, 'a provider that gives more than it is asked for makes no page longer')
})

test('what is held here wins, whatever page it is on, and what was not asked for is left out [NGSIv2 subscriptions 11.2]', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t)]
  await city.holds({ id: 'Street-1', type: 'Street', noise: { value: 30 } })
  await city.registers(provider.url('/v2'), { idPattern: '.*', type: 'Street' })
  const foreign = [
    { id: 'Street-1', type: 'Lane' },
    { id: 'Alley', type: 'Street' },
  ]
  provider.respond = gives([{ id: 'Street-1', type: 'Street', noise, ozone }, { ...street, noise }, ...foreign])
  const list = (parameters: string) => city.request('GET', `/v2/entities?type=Street&options=keyValues&${parameters}`)
  const joined = { id: 'Street-1', type: 'Street', noise: 30, ozone: 40 }
  t.strictSame(await list('idPattern=^Street'), [200, [joined, { ...street, noise: 58 }]])
  t.strictSame(await list('idPattern=^Street&offset=1'), [200, [{ ...street, noise: 58 }]], 'it is on the page before')
  const unmatched = [
    200,
    [
      { id: 'Street-1', type: 'Street', ozone: 40 },
      { ...street, noise: 58 },
    ],
  ]
  t.strictSame(await list('idPattern=^Street&q=noise>50'), unmatched, 'a filter leaves it out, and its attributes too')
  t.strictSame(await city.request('GET', '/v2/entities/Street-4?type=Street'), [200, { ...street, noise }])
  t.same(
    takeRequests(provider).at(-1),
    [whole, { entities: [street], attrs: [] }],
    'who is asked for one id is told it',
  )
})

test('the type of the request is asked for, else the registered one; without any there is none', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t)]
  await city.registers(provider.url('/v2'), { id: 'Street-4' }, ['noise'])
  provider.respond = gives([
    { ...street, noise },
    { id: 'Street-4', type: 'Lane', noise },
  ])
  t.match(await city.request('GET', '/v2/entities/Street-4'), [409, { error: 'TooManyResults' }])
  t.strictSame(await city.request('GET', '/v2/entities/Street-4?type=Lane'), [200, { ...street, type: 'Lane', noise }])
  t.strictSame(await city.request('GET', '/v2/entities?id=Street-4&type=Lane,Alley&options=keyValues'), [
    200,
    [{ ...street, type: 'Lane', noise: 58 }],
  ])
  t.same(
    takeRequests(provider).map(([, body]) => Reflect.get(Object(body), 'entities')),
    [[{ id: 'Street-4' }], [{ id: 'Street-4', type: 'Lane' }], [{ id: 'Street-4' }]],
  )
})

test('one who provides every id is asked once for a list, beside those of single entities', async (t) => {
  const [city, all, one] = [new City(), await FarEnd.listen(t), await FarEnd.listen(t)]
  await city.registers(all.url('/v2'), { idPattern: '.*', type: 'Street' }, ['lamp'])
  await city.registers(one.url('/v2'), street, ['noise'])
  all.respond = gives([
    { ...street, lamp },
    { id: 'Street-5', type: 'Street', lamp },
  ])
  one.respond = gives([{ ...street, noise }])
  const both = [
    { ...street, lamp: 'on', noise: 58 },
    { id: 'Street-5', type: 'Street', lamp: 'on' },
  ]
  t.strictSame(await city.request('GET', '/v2/entities?type=Street&options=keyValues'), [200, both])
  t.equal(all.received.length, 1)
  t.equal(one.received.length, 1)
})

/** What no provider that is well would answer; each leaves nothing to show. */
const hostile: readonly (readonly [string, Responder])[] = [
  ['refuses', responding(500)],
  ['redirects', (_, response) => response.writeHead(302, { Location: '/v2/elsewhere' }).end()],
  ['gives nothing', responding(200)],
  ['gives no JSON', gives('<html></html>')],
  ['gives an object', gives({ error: 'x' })],
  ['gives NGSIv1', gives({ contextResponses: [] })],
  ['gives what is no entity', gives([1, null, [], 'x', {}, { id: 5 }, { id: '' }, { type: 'Street' }])],
  ['gives more attributes than an entity may have', gives([{ id: 'Lane-1', type: 'Street', ...many(5001) }])],
  [
    'gives more members than an entity may have',
    gives([{ id: 'Lane-1', type: 'Street', a: { value: many(100_001) } }]),
  ],
  ['is too deep', gives(`${'['.repeat(100_000)}`)],
  ['hangs up', (_, response) => response.destroy()],
  [
    'does not end',
    (_, response) => {
      response.writeHead(200).write('[')
      const more = setInterval(() => response.write(' '.repeat(10_000)), 1)
      response.on('close', () => clearInterval(more))
    },
  ],
  ['is too long', gives(`[${' '.repeat(300_000)}]`)],
]

test('a provider that fails is missing, and nothing of it is seen [NGSIv2 subscriptions 11.2, 11.4]', async (t) => {
  const [city, ill, well] = [new City(), await FarEnd.listen(t), await FarEnd.listen(t, gives([{ ...street, noise }]))]
  const lane = { id: 'Lane-1', type: 'Street' }
  await city.registers(ill.url('/v2'), lane)
  await city.registers(well.url('/v2'), street)
  for (const [what, response] of hostile) {
    ill.respond = response
    t.strictSame(await city.request('GET', '/v2/entities/Lane-1'), [404, unknown], what)
    t.strictSame(await city.request('GET', '/v2/entities?type=Street'), [200, [{ ...street, noise }]], what)
  }
  await ill.close()
  t.strictSame(await city.request('GET', '/v2/entities/Lane-1'), [404, unknown], 'nobody listens')
})

/** What is waited for up to the limit. */
const endless: readonly (readonly [string, Responder])[] = [
  ['breaks off', (_, response) => void response.writeHead(200, { 'Content-Length': '100' }).write('[')],
  ['says nothing', () => undefined],
]

test('a provider that does not answer in time is missing [NGSIv2 subscriptions 11.2, 11.4]', async (t) => {
  const city = new City(impatient)
  const ill = await FarEnd.listen(t)
  await city.registers(ill.url('/v2'), { id: 'Lane-1', type: 'Street' })
  for (const [what, response] of endless) {
    ill.respond = response
    t.strictSame(await city.request('GET', '/v2/entities/Lane-1'), [404, unknown], what)
    t.strictSame(await city.request('GET', '/v2/entities?type=Street'), [200, []], what)
  }
})

test('of a response what is malformed is left out, all else is as the provider gave it', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t)]
  await city.registers(provider.url('/v2'), street)
  const deep = `${'['.repeat(60)}${']'.repeat(60)}`
  const date = { type: 'DateTime', value: '2031-04-05T14:00:00+02:00', metadata: {} }
  provider.respond = gives(
    `[{"id":"Street-4","type":"Street","a":5,"b":{"value":${deep}},"c":{"value":"<x>","metadata":[]},"d":{"type":7},
      "e":{"value":1,"metadata":{"m":3,"n":{"value":{"k":[1,null]}}}},"f":${JSON.stringify(date)},"__proto__":{"value":true}}]`,
  )
  const { text } = await city.send('GET', '/v2/entities/Street-4?type=Street')
  const shown: unknown = JSON.parse(text)
  t.strictSame(
    Object.entries(Object(shown)).map(([name, value]) => [name, value]),
    [
      ['id', 'Street-4'],
      ['type', 'Street'],
      ['__proto__', { type: 'Boolean', value: true, metadata: {} }],
      ['c', { type: 'Text', value: '<x>', metadata: {} }],
      ['d', { type: 'None', value: null, metadata: {} }],
      ['e', { type: 'Number', value: 1, metadata: { n: { type: 'StructuredValue', value: { k: [1, null] } } } }],
      ['f', date],
    ],
  )
})

/** What a provider of NGSIv2 answers to an update of `noise`, and what of the client's `lamp`, `noise` and `dust` it makes. */
const partial = (names: string) => ({
  error: 'PartialUpdate',
  description: `Some of the following attributes were not updated: { Street-4-Street : [${names}] }`,
})

test('every outcome of an update that is passed on has its response [NGSIv2 subscriptions 11.3]', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t)]
  await city.registers(provider.url('/v2'), street, ['noise'])
  const path = '/v2/entities/Street-4/attrs'
  const failures = hostile.filter(([what]) => ['refuses', 'redirects', 'says nothing', 'hangs up'].includes(what))
  const refusals: readonly Responder[] = [
    gives('', {}, 404),
    gives({ error: 'x' }, {}, 422),
    ...failures.map(([, how]) => how),
  ]
  for (const response of refusals) {
    provider.respond = response
    t.strictSame(await city.request('PATCH', `${path}?type=Street`, { noise: { value: 61 } }), [404, unknown])
    t.strictSame(await city.request('PUT', `${path}/noise?type=Street`, { value: 61 }), [404, unknown])
  }
  provider.respond = responding(204)
  t.strictSame(await city.request('PATCH', `${path}?type=Street`, { noise: { value: 61 } }), [204, undefined])
  t.strictSame(await city.request('PUT', `${path}?type=Street`, { noise: { value: 61 } }), [204, undefined])
  t.strictSame(await city.request('PATCH', `${path}?type=Street`, { noise: { value: 61 }, dust: { value: 1 } }), [
    404,
    partial('dust'),
  ])
  t.strictSame(
    await city.request('PATCH', path, { noise: { value: 61 } }),
    [404, unknown],
    'who names no type means registrations without one',
  )
  await city.holds({ ...street, lamp })
  const all = { dust: { value: 1 }, lamp: { value: 'off' }, noise: { value: 61 } }
  t.strictSame(await city.request('PATCH', `${path}?type=Street`, all), [404, partial('dust')])
  for (const response of refusals) {
    provider.respond = response
    t.strictSame(await city.request('PATCH', `${path}?type=Street`, all), [404, partial('dust, noise')])
  }
  t.match(
    await city.request('PATCH', `${path}?type=Street`, { dust: { value: 1 } }),
    [422, { error: 'Unprocessable' }],
    'nobody provides it',
  )
  provider.received.length = 0
  for (const [verb, url, body] of [
    ['POST', path, { noise: { value: 1 } }],
    ['DELETE', `${path}/noise?type=Street`, undefined],
    ['DELETE', `${path}/noise?type=Street`, undefined],
    ['POST', '/v2/op/update', { actionType: 'delete', entities: [{ ...street, noise: {} }] }],
  ] as const) {
    await city.send(verb, url, body)
  }
  t.same(provider.received, [], 'what is created, appended or removed is so here')
})

test('an update is passed on as it was given, whatever the type means here [NGSIv2 subscriptions 11.3]', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t, responding(204))]
  await city.registers(provider.url('/v2'), street)
  const path = '/v2/entities/Street-4/attrs'
  const given = {
    at: { type: 'DateTime', value: '2031-04-05T14:00:00.000Z', metadata: {} },
    latest: { type: 'DateTime', value: { $max: '2031-04-05T14:00:00.000Z' }, metadata: {} },
    count: { type: 'StructuredValue', value: { $inc: 2 }, metadata: {} },
    place: {
      type: 'geo:point',
      value: '1, 2',
      metadata: { since: { type: 'DateTime', value: '2031-04-05T14:00:00.000Z' } },
    },
    kind: { type: 'Text', value: 'x', metadata: { ID: { type: 'string', value: '7' } } },
  }
  t.strictSame(await city.request('PATCH', `${path}?type=Street`, given), [204, undefined])
  t.strictSame(takeRequests(provider), [
    ['/v2/op/update', { actionType: 'update', entities: [{ ...street, ...given }] }],
  ])
  await city.send('PUT', `${path}/noise/value?type=Street`, '61', { 'Content-Type': 'text/plain' })
  t.strictSame(takeRequests(provider), [
    [
      '/v2/op/update',
      { actionType: 'update', entities: [{ ...street, noise: { type: 'Number', value: 61, metadata: {} } }] },
    ],
  ])
})

test('an update without type of an entity that is held here finds who is registered for its type, and for every type [NGSIv2 subscriptions 11.1]', async (t) => {
  const [city, typed, untyped] = [
    new City(),
    await FarEnd.listen(t, responding(204)),
    await FarEnd.listen(t, responding(204)),
  ]
  await city.holds({ ...street, state: { value: 'off' } })
  await city.registers(typed.url('/v2'), street, ['ring'])
  await city.registers(untyped.url('/v2'), { id: 'Street-4' }, ['horn'])
  const path = '/v2/entities/Street-4/attrs'
  const ring = { type: 'command', value: '', metadata: {} }
  t.strictSame(await city.request('PATCH', path, { ring }), [204, undefined])
  t.strictSame(await city.request('PUT', `${path}/ring`, ring), [204, undefined])
  const ofType = ['/v2/op/update', { actionType: 'update', entities: [{ ...street, ring }] }]
  t.strictSame(takeRequests(typed), [ofType, ofType])
  t.strictSame(await city.request('PATCH', path, { state: { value: 'on' }, horn: ring }), [204, undefined])
  t.strictSame(takeRequests(untyped), [
    ['/v2/op/update', { actionType: 'update', entities: [{ ...street, horn: ring }] }],
  ])
})

test('a batch is one request for each provider, and its response names what is left over of each entity [NGSIv2 subscriptions 11.3]', async (t) => {
  const [city, one, two] = [
    new City(),
    await FarEnd.listen(t, responding(200)),
    await FarEnd.listen(t, responding(404)),
  ]
  await city.registers(one.url('/v2'), { idPattern: '.*', type: 'Street' }, ['noise'])
  await city.registers(two.url('/v2'), { idPattern: '.*', type: 'Street' }, ['ozone'])
  await city.holds({ id: 'S1', type: 'Street', lamp })
  const entities = [
    { id: 'S1', type: 'Street', lamp: { value: 'off' }, noise: { value: 1 } },
    { id: 'S2', type: 'Street', ozone: { value: 2 }, noise: { value: 3 }, dust: { value: 4 } },
    { id: 'S3', type: 'Lane', dust: { value: 5 } },
  ]
  const left = '{ S2-Street : [ozone, dust], S3-Lane : [dust] }'
  t.strictSame(await city.request('POST', '/v2/op/update', { actionType: 'update', entities }), [
    404,
    { error: 'PartialUpdate', description: `Some of the following attributes were not updated: ${left}` },
  ])
  t.same([one.received.length, two.received.length], [1, 1])
  const correlators = [one, two].map(({ received }) => received[0]?.headers['fiware-correlator']?.toString().slice(-9))
  t.same(correlators, ['; cbfwd=1', '; cbfwd=2'])
  t.strictSame(await city.request('POST', '/v2/op/update', { actionType: 'replace', entities: entities.slice(1, 2) }), [
    404,
    {
      error: 'PartialUpdate',
      description: 'Some of the following attributes were not updated: { S2-Street : [ozone, dust] }',
    },
  ])
  const lanes = { actionType: 'update', entities: entities.slice(2) }
  t.match(await city.request('POST', '/v2/op/update', lanes), [
    404,
    { description: 'do not exist: S3/Lane - [entity itself]' },
  ])
})

test('requests of NGSIv1 reach providers of NGSIv2, and get their values by their kind [NGSIv2 subscriptions 9, 11]', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t)]
  await city.registers(provider.url('/v2'), street)
  const element = { type: 'Street', isPattern: 'false', id: 'Street-4' }
  provider.respond = gives([{ ...street, noise, ozone }])
  t.strictSame(await city.query({ entities: [element] }), {
    contextResponses: [
      {
        contextElement: {
          ...element,
          attributes: [
            { name: 'noise', type: 'Number', value: 58 },
            { name: 'ozone', type: 'ppb', value: 40, metadatas: [{ name: 'window', type: 'Text', value: '10m' }] },
          ],
        },
        statusCode: { code: '200', reasonPhrase: 'OK' },
      },
    ],
  })
  t.strictSame(takeRequests(provider), [[whole, { entities: [street], attrs: [] }]])
  const none = { code: '404', reasonPhrase: 'No context element found' }
  const failed = { errorCode: { ...none, details: 'invalid context provider response' } }
  for (const [response, body] of [
    [gives([]), { errorCode: none }],
    [gives({}, {}, 404), { errorCode: none }],
    [responding(500), failed],
    [gives('x'), failed],
  ] as const) {
    provider.respond = response
    t.strictSame(await city.query({ entities: [element] }), body)
  }
  provider.received.length = 0
  const instance = (value: string) => ({ name: 'ID', type: 'string', value })
  const attributes = [
    { name: 'noise', type: 'dB', value: '61' },
    { name: 'lane', type: 't', value: 'a', metadatas: [instance('1')] },
    { name: 'lane', type: 't', value: 'b', metadatas: [instance('2')] },
  ]
  const echo = attributes.map((attribute) => ({ ...attribute, value: '' }))
  provider.respond = responding(204)
  const done = {
    contextResponses: [
      { contextElement: { ...element, attributes: echo }, statusCode: { code: '200', reasonPhrase: 'OK' } },
    ],
  }
  t.strictSame(await city.update('UPDATE', [{ ...element, attributes }]), done)
  const lane = (value: string, id: string) => ({ type: 't', value, metadata: { ID: { type: 'string', value: id } } })
  t.strictSame(takeRequests(provider), [
    [
      '/v2/op/update',
      {
        actionType: 'update',
        entities: [
          { ...street, noise: { type: 'dB', value: '61', metadata: {} }, lane: lane('a', '1') },
          { ...street, lane: lane('b', '2') },
        ],
      },
    ],
  ])
  provider.respond = responding(404)
  t.match(await city.update('UPDATE', [{ ...element, attributes }]), {
    contextResponses: [{ statusCode: { ...none, details: 'Street-4' } }],
  })
  provider.respond = responding(500)
  t.strictSame(await city.update('UPDATE', [{ ...element, attributes }]), {
    errorCode: { ...none, details: 'error forwarding update' },
  })
})

test('the response to an update that a provider has failed names the provider and what happened', async (t) => {
  const [gone, silent] = [await FarEnd.listen(t), await FarEnd.listen(t, () => undefined)]
  await gone.close()
  const city = new City(impatient)
  await city.holds({ ...street, lamp })
  for (const [url, shown, reason] of [
    [gone.url(''), `${gone.url('')}/`, 'connection refused'],
    ['http://nowhere.invalid/v2', 'http://nowhere.invalid/v2', 'name not resolved'],
    [silent.url('/v2'), silent.url('/v2'), 'timeout'],
  ] as const) {
    const attribute = `open_${reason.slice(0, 4)}`
    await city.registers(url, street, [attribute])
    const failed = `${shown}: ${reason}`
    const open = { [attribute]: { value: true } }
    const path = '/v2/entities/Street-4/attrs?type=Street'
    for (const [given, body] of [
      [open, unknown],
      [{ ...open, lamp: { value: 'off' } }, partial(attribute)],
    ]) {
      const { status, json, headers } = await city.send('PATCH', path, given)
      t.strictSame([status, json, headers.get('rigel-forwarding-error')], [404, body, failed])
    }
    const attributes = [{ name: attribute, type: 'command', value: 'true' }]
    const [whole, one] = [
      await city.send('POST', '/v1/updateContext', {
        ...{ updateAction: 'UPDATE', contextElements: [{ ...street, isPattern: 'false', attributes }] },
      }),
      await city.send('PUT', `/v1/contextEntities/type/Street/id/Street-4/attributes/${attribute}`, { value: 'true' }),
    ]
    const status = { code: '404', reasonPhrase: 'No context element found', details: 'error forwarding update' }
    t.strictSame([whole.json, one.json], [{ errorCode: status }, status])
    for (const { headers } of [whole, one]) t.equal(headers.get('rigel-forwarding-error'), failed)
  }
  const both = { open_conn: { value: 1 }, open_name: { value: 1 } }
  const { headers } = await city.send('PATCH', '/v2/entities/Street-4/attrs?type=Street', both)
  t.match(headers.get('rigel-forwarding-error'), /: connection refused, .*: name not resolved$/)
  const here = await city.send('PATCH', '/v2/entities/Street-4/attrs?type=Street', { lamp: { value: 'on' } })
  t.strictSame([here.status, here.headers.get('rigel-forwarding-error')], [204, null])
})

test('requests of NGSIv2 reach providers that NGSIv1 registered, in its form [NGSIv2 subscriptions 9, 11]', async (t) => {
  const [city, provider] = [new City(), await FarEnd.listen(t)]
  const contextRegistrations = [
    {
      entities: [{ ...street, isPattern: 'false' }],
      attributes: [{ name: 'noise', type: 'dB', isDomain: 'false' }],
      providingApplication: provider.url('/v1'),
    },
  ]
  await city.send('POST', '/v1/registry/registerContext', { contextRegistrations })
  const element = { ...street, isPattern: 'false', attributes: [{ name: 'noise', type: 'dB', value: 58.5 }] }
  provider.respond = gives({ contextResponses: [{ contextElement: element, statusCode: { code: 200 } }] })
  const path = '/v2/entities/Street-4'
  t.strictSame(await city.request('GET', path), [200, { ...street, noise: { type: 'dB', value: 58.5, metadata: {} } }])
  t.equal(provider.received[0]?.headers['fiware-correlator']?.includes('cbfwd'), false)
  t.strictSame(takeRequests(provider), [
    ['/v1/queryContext', { entities: [{ ...street, isPattern: 'false' }], attributes: ['noise'] }],
  ])
  t.same(await city.query({ entities: [street] }), {
    contextResponses: [
      {
        contextElement: { ...element, attributes: [{ name: 'noise', type: 'dB', value: '58.5' }] },
        statusCode: { code: '200', reasonPhrase: 'OK' },
      },
    ],
  })
  provider.respond = gives({ contextResponses: [{ contextElement: element, statusCode: { code: 404 } }] })
  t.strictSame(await city.request('GET', path), [404, unknown], 'a code that is a number is one')
  t.strictSame(await city.request('PATCH', `${path}/attrs?type=Street`, { noise: { value: 1 } }), [404, unknown])
})

test('no more is passed on for one request than -cprForwardLimit says, in however many rounds [NGSIv2 subscriptions 11.4]', async (t) => {
  const [city, provider] = [new City(impatient), await FarEnd.listen(t)]
  for (const at of [1, 2, 3, 4]) await city.registers(provider.url(`/${at}`), { id: `S${at}`, type: 'Street' })
  provider.respond = ({ body }, response) => response.end(JSON.stringify(JSON.parse(body).entities))
  const ids = async (parameters: string) => (await city.send('GET', `/v2/entities?type=Street${parameters}`)).text
  t.equal(await ids(''), '[{"id":"S1","type":"Street"},{"id":"S2","type":"Street"}]')
  t.equal(provider.received.splice(0).length, 2)
  provider.respond = gives([], { 'Fiware-Total-Count': '1' })
  t.equal(await ids('&offset=3'), '[]')
  t.same(
    provider.received.map(({ url }) => url),
    ['/1/op/query?limit=20&offset=3&options=count', '/2/op/query?limit=20&offset=2&options=count'],
  )
})
