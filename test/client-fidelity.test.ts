import { test } from 'tap'
import { FarEnd } from './far-end.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

const kilns = { entities: [{ idPattern: '^Kiln-' }] }

test('what an operator leaves equal is a change, also to who does not hear of metadata', async (t) => {
  const receiver = await FarEnd.listen(t)
  const broker = await RunningBroker.tenant()
  await broker.send('POST', '/v2/entities', { id: 'Kiln-1', heat: { value: 5 }, o: { value: { a: 1 } } })
  await broker.send('POST', '/v2/subscriptions', {
    subject: { ...kilns, condition: { notifyOnMetadataChange: false } },
    notification: { http: { url: receiver.url() }, attrs: ['alterationType'], attrsFormat: 'simplifiedKeyValues' },
  })
  await broker.send('PATCH', '/v2/entities/Kiln-1/attrs', { heat: { value: 5 } })
  await broker.send('PATCH', '/v2/entities/Kiln-1/attrs', { heat: { value: { $inc: 0 } } })
  await broker.send('PUT', '/v2/entities/Kiln-1/attrs/o/value', { $unset: { z: 1 } })
  await until(() => receiver.received.length === 2)
  for (const body of receiver.bodies) t.match(JSON.parse(body), { alterationType: 'entityChange' })
})

test('a statement of mq about an attribute that is absent holds in no subscription', async (t) => {
  const receiver = await FarEnd.listen(t)
  const broker = await RunningBroker.tenant()
  await broker.send('POST', '/v2/subscriptions', {
    subject: { ...kilns, condition: { expression: { mq: '!level.probe' } } },
    notification: { http: { url: receiver.url() }, attrs: ['level'], attrsFormat: 'simplifiedKeyValues' },
  })
  await broker.send('POST', '/v2/entities', { id: 'Kiln-1', heat: { value: 5 } })
  await broker.send('POST', '/v2/entities/Kiln-1/attrs', { level: { value: 1 } })
  await until(() => receiver.received.length > 0)
  t.match(receiver.bodies, [/"level":1/])
  t.match((await broker.send('GET', '/v2/entities?mq=!none.probe')).json, [{ id: 'Kiln-1' }])
})

test('a PATCH of the subject takes back what it does not give of its condition', async (t) => {
  const broker = await RunningBroker.tenant()
  const made = await broker.send('POST', '/v2/subscriptions', {
    subject: { ...kilns, condition: { attrs: ['heat'], notifyOnMetadataChange: false } },
    notification: { http: { url: 'http://127.0.0.1:9/' } },
  })
  const path = made.headers.get('location') ?? ''
  const onMetadata = async () => /"notifyOnMetadataChange":(\w+)/.exec((await broker.send('GET', path)).text)?.[1]
  await broker.send('PATCH', path, { status: 'inactive' })
  t.equal(await onMetadata(), 'false')
  await broker.send('PATCH', path, { subject: { ...kilns, condition: { attrs: ['heat'] } } })
  t.equal(await onMetadata(), 'true')
})

test('quotation marks of filters stand around names and values, and nowhere else', async (t) => {
  const broker = await RunningBroker.tenant()
  const rows: readonly (readonly [string, string])[] = [
    ["house'flat'", 'forbidden characters in String Filter'],
    ["!a'b'", 'forbidden characters in String Filter'],
    ["'a'b", 'forbidden characters in String Filter'],
    ["h(t'x'", 'invalid character found in URI param /q/'],
    ["a~='101'", 'forbidden characters in String Filter'],
    ["a=='10'x", 'non-terminated forced string'],
    ["a=='10'x,'11'", 'non-terminated forced string'],
    ["a=='10'x'", 'quote in forced string'],
  ]
  for (const [q, description] of rows) {
    const { json } = await broker.send('GET', `/v2/entities?q=${encodeURIComponent(q)}`)
    t.strictSame(json, { error: 'BadRequest', description }, q)
  }
  for (const q of ["'a.b'.c", "'a'.'b'=='c'", "a.'b.c'"]) {
    t.equal((await broker.send('GET', `/v2/entities?q=${encodeURIComponent(q)}`)).text, '[]', q)
  }
})

test('what is no date is said before which operators may stand together', async (t) => {
  const broker = await RunningBroker.tenant()
  for (const more of [{ foo: 1 }, { $min: '2031-01-01' }]) {
    const when = { type: 'DateTime', value: { $max: '2031-01-01', ...more } }
    t.match((await broker.send('POST', '/v2/entities', { id: 'E1', when })).text, 'date has invalid format')
  }
})

test('what PATCH and DELETE may not work in is said before what is wrong with their bodies', async (t) => {
  const broker = await RunningBroker.tenant()
  const textOf = async (method: string, path: string, services: string) =>
    (await broker.send(method, path, method === 'PATCH' ? '{ {' : undefined, { 'fiware-servicepath': services })).text
  for (const path of ['/v2/entities/E1/attrs', '/v2/subscriptions/123456789012345678901234']) {
    t.match(await textOf('PATCH', path, '/#'), 'servicepath with wildcard # is not allowed in patch update request')
    t.match(await textOf('PATCH', path, '/a, /b'), 'more than one servicepath in patch update request is not allowed')
  }
  t.match(await textOf('DELETE', '/v2/entities/E1', '/#'), 'servicepath with wildcard # is not allowed in DELETE')
})

test('an id has as many types as -typesPerId says', async (t) => {
  const broker = await RunningBroker.start(t, ['-typesPerId', '2'])
  for (const type of ['A', 'B']) t.equal((await broker.send('POST', '/v2/entities', { id: 'E', type })).status, 201)
  const { json, status } = await broker.send('POST', '/v2/entities', { id: 'E', type: 'C' })
  const description = 'number of types of one id exceeds the max supported: 2'
  t.strictSame([status, json], [422, { error: 'Unprocessable', description }])
})

test('Location leads to the entity that was created, whatever is in its id and type', async (t) => {
  const broker = await RunningBroker.tenant()
  for (const id of ['a%2fb', 'a%62c', '100%', 'a+b', 'x:y', '%25', 'a\\b', 'a[b]|{c}^`d`~!$*,@']) {
    const made = await broker.send('POST', '/v2/entities', { id, type: id })
    const found = await broker.send('GET', made.headers.get('location') ?? '')
    t.match([made.status, found.status, found.json], [201, 200, { id, type: id }], id)
  }
})

test('nothing in Location is percent-encoded that leads to the entity as it is [NGSIv2 context 8.2]', async (t) => {
  const broker = await RunningBroker.tenant()
  for (const [id, type, location] of [
    ['a[b]', 'T[1]', 'a[b]?type=T[1]'],
    ['a|{b}^`c`', 'T|\\', 'a|{b}^`c`?type=T|\\'],
    ['a+b%', 'a+b%', 'a+b%25?type=a%2Bb%25'],
  ] as const) {
    for (const options of ['', '?options=upsert']) {
      const { headers } = await broker.send('POST', `/v2/entities${options}`, { id, type })
      t.equal(headers.get('location'), `/v2/entities/${location}`)
    }
  }
})

test('who listens with another service path than that of the subscription finds none, in both interfaces', async (t) => {
  const broker = await RunningBroker.tenant()
  const subscription = { subject: kilns, notification: { http: { url: 'sse:' } } }
  const made = await broker.send('POST', '/v2/subscriptions', subscription, { 'fiware-servicepath': '/a' })
  const id = made.headers.get('location')?.split('/').at(-1)
  for (const api of ['v1', 'v2']) {
    const status = async (path: string) =>
      (await broker.send('GET', `/${api}/subscriptions/${id}/events`, undefined, { 'fiware-servicepath': path })).status
    t.strictSame([await status('/b'), await status('/a')], [404, 200], api)
  }
})

test('a subscription with a time-interval condition is one of NGSIv1 only, also for who listens to it', async (t) => {
  const broker = await RunningBroker.tenant()
  const { json } = await broker.send('POST', '/v1/subscribeContext', {
    ...{ entities: [{ id: 'Kiln-1' }], reference: 'sse:', duration: 'P1D' },
    notifyConditions: [{ type: 'ONTIMEINTERVAL', condValues: ['PT1H'] }],
  })
  const { subscribeResponse } = json as { readonly subscribeResponse?: { readonly subscriptionId: string } }
  const events = `subscriptions/${subscribeResponse?.subscriptionId}/events`
  const listening = async (api: string) => (await broker.send('GET', `/${api}/${events}`)).status
  t.strictSame([await listening('v1'), await listening('v2')], [200, 404])
})

test('the words of options are checked on every path of NGSIv1', async (t) => {
  const broker = await RunningBroker.tenant()
  for (const path of ['/v1/contextEntities/E', '/ngsi9/registerContext', '/v1/nothing', '/ngsi10/contextEntities/E']) {
    for (const options of ['BAD', 'count,BAD', 'keyValues,values']) {
      const { text, status } = await broker.send('GET', `${path}?options=${options}`)
      t.match([status, text], [400, 'Invalid value for URI param /options/'], `${path} ${options}`)
    }
  }
  for (const options of ['', 'count,keyValues,append']) {
    t.equal((await broker.send('GET', `/v1/contextEntities/E?options=${options}`)).status, 200)
  }
})
