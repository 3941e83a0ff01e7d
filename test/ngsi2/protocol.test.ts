import { t as root, test } from 'tap'
import { RunningBroker } from '../running.js'
import { attribute, Client, raw } from '../wire/client.js'

const flags = ['-multiservice', '-corsOrigin', '__ALL', '-statCounters']

const broker = await RunningBroker.start(root, flags)

function badRequest(description: string) {
  return { error: 'BadRequest', description }
}

const unknown = badRequest('Service not found. Check your URL as probably it is wrong.')

test('GET /v2 names the collections [NGSIv2 context 1.1]', async (t) => {
  const client = new Client(broker, '')
  const collections = {
    entities_url: '/v2/entities',
    types_url: '/v2/types',
    subscriptions_url: '/v2/subscriptions',
    registrations_url: '/v2/registrations',
  }
  t.strictSame(await client.request('GET', '/v2'), [200, collections])
  t.strictSame(await client.request('GET', '/v2/'), [200, collections])
})

test('paths that nobody has are told by what is wrong with them [NGSIv2 context 1.1]', async (t) => {
  const client = new Client(broker, '')
  const short = (what: string) => badRequest(`${what} length: 0, min length supported: 1`)
  const noService = { orionError: { code: '400', reasonPhrase: 'Bad Request', details: 'service not found' } }
  for (const [path, body] of [
    ['/v2//', unknown],
    ['/v2/tanks', unknown],
    ['/v2/entities/V/metadata', unknown],
    ['/v2/entities//heat', unknown],
    ['/v2/entities///', unknown],
    ['/v2/entities/V/attrs//value/unit', unknown],
    ['/v2/types//attrs', unknown],
    ['/v2/entities//', short('entity id')],
    ['/v2/entities//attrs', short('entity id')],
    ['/v2/entities//attrs/heat/value', short('entity id')],
    ['/v2/entities/V/attrs//', short('attribute name')],
    ['/v2/entities/V/attrs//value', short('attribute name')],
    ['/v2/types//', short('entity type')],
    ['/V2/entities', noService],
    ['/v2%2Fentities', noService],
  ] as const) {
    for (const verb of ['GET', 'DELETE', 'POST']) {
      t.strictSame(await client.request(verb, path, verb === 'POST' ? {} : undefined), [400, body], `${verb} ${path}`)
    }
  }
  t.strictSame(
    await raw(broker, 'PUT', '/v2/entities/V/attrs//value', { 'Content-Type': 'text/plain' }, '1'),
    [400, short('attribute name')],
    'plain text is taken wherever values are',
  )
})

test('what is no identifier in the path is refused [NGSIv2 context 4.1]', async (t) => {
  const client = new Client(broker, '')
  for (const id of ['V%3C', 'V%201', 'V%23', 'V%2F1', 'V%C3%A9', 'V%26', 'V%']) {
    t.strictSame(await client.request('GET', `/v2/entities/${id}`), [400, badRequest('invalid character in URI')], id)
  }
})

test('an empty id of a subscription is a malformed one, for each verb [NGSIv2 context 1.1]', async (t) => {
  const client = new Client(broker, '')
  const missing = (description: string) => [404, { error: 'NotFound', description }]
  const malformed = [400, badRequest('Invalid subscription ID: bad length - 24 chars expected')]
  t.strictSame(await client.request('GET', '/v2/subscriptions//'), malformed)
  t.strictSame(
    await client.request('DELETE', '/v2/subscriptions//'),
    missing('The requested subscription has not been found. Check id'),
  )
  const patch = { throttling: 3 }
  t.strictSame(await client.request('PATCH', '/v2/subscriptions//', patch), missing('subscription id not found'))
})

test('the head is checked in the order of every interface [NGSIv2 context 1.4]', async (t) => {
  const path = '/v2/entities/Vat1?limit=x'
  const json = { 'Content-Type': 'application/json' }
  const slash = { 'Fiware-ServicePath': 'brew' }
  const absolute = badRequest('Only /absolute/ Service Paths allowed [a service path must begin with /]')
  const media = (error: string, description: string) => ({ error, description })
  for (const [why, headers, body, response] of [
    ['service path', { ...slash, 'Content-Type': 'a/b' }, '{}', [400, absolute]],
    ['two slashes', { 'Fiware-ServicePath': '/a//' }, '', [400, badRequest('empty component in ServicePath')]],
    [
      'type',
      { 'Content-Type': 'a/b', Accept: 'a/b' },
      '{}',
      [415, media('UnsupportedMediaType', 'not supported content type: a/b')],
    ],
    [
      'text',
      { 'Content-Type': 'text/plain' },
      '1',
      [415, media('UnsupportedMediaType', 'not supported content type: text/plain')],
    ],
    ['accept', { Accept: 'a/b' }, '', [406, media('NotAcceptable', 'no acceptable mime-type in accept header')]],
    [
      'parameters',
      { Accept: 'text/plain' },
      '',
      [400, badRequest('Bad pagination limit: /x/ [must be a positive integer number]')],
    ],
  ] as const) {
    t.strictSame(await raw(broker, 'GET', path, headers, body), response, why)
  }
  const plain = '/v2/entities/Vat1'
  t.strictSame(
    await raw(broker, 'GET', plain, { Accept: 'text/*' }),
    [406, media('NotAcceptable', 'acceptable MIME types: application/json')],
    'only text',
  )
  t.strictSame(
    await raw(broker, 'GET', plain, json, '{}'),
    [400, badRequest('Rigel accepts no payload for GET/DELETE requests')],
    'payload',
  )
  for (const path of ['/v2/entities/Vat1/attrs/value', '/v2/types/value'])
    t.strictSame(
      await raw(broker, 'PUT', path, { 'Content-Type': 'text/plain' }, '7'),
      [415, media('UnsupportedMediaType', 'not supported content type: text/plain')],
      'plain text for an attribute of that name',
    )
  t.strictSame(
    await raw(broker, 'GET', '/v2/entities/Vat1/attrs/value', { Accept: 'text/plain' }),
    [406, media('NotAcceptable', 'acceptable MIME types: application/json')],
    'an attribute of that name as text',
  )
  t.strictSame(
    await raw(broker, 'POST', '/v2/tanks', {}),
    [411, media('ContentLengthRequired', 'Zero/No Content-Length in PUT/POST/PATCH request')],
    'no body',
  )
  t.strictSame(
    await raw(broker, 'GET', plain, { 'Fiware-Service': 'a-b' }),
    [400, badRequest('bad character in tenant name - only underscore and alphanumeric characters are allowed')],
    'tenant',
  )
})

test('pages of other origins may use all of NGSIv2, and wrong verbs name OPTIONS [management 11.6]', async (t) => {
  const client = new Client(broker, '', { Origin: 'https://panel.example' })
  const error = await client.send('GET', '/v2/tanks')
  t.equal(error.headers.get('Access-Control-Allow-Origin'), '*')
  const options = await client.send('OPTIONS', '/v2')
  t.equal(options.status, 200)
  t.equal(options.headers.get('Access-Control-Allow-Methods'), 'GET, OPTIONS')
  const wrong = await client.send('POST', '/v2', {})
  t.strictSame([wrong.status, wrong.json], [405, { error: 'MethodNotAllowed', description: 'method not allowed' }])
  t.equal(wrong.headers.get('Allow'), 'GET, OPTIONS')
})

test('reads of one entity are counted together, whatever they show [management 4.5]', async (t) => {
  const client = new Client(broker, 'counted')
  await client.given({ type: 'Vat', id: 'Vat1', attributes: [attribute('heat', 'Number', '61')] })
  t.equal((await client.send('GET', '/v2/entities/Vat1')).status, 200)
  t.equal((await client.send('GET', '/v2/entities/Vat1/attrs')).status, 200)
  t.match((await client.send('GET', '/statistics')).json, {
    counters: { requests: { '/v2/entities/{id}[/attrs]': { GET: Number } } },
  })
})
