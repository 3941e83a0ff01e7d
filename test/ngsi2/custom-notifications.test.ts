import { type Test, test } from 'tap'
import { Mosquitto, skipped } from '../delivery/mosquitto.js'
import { FarEnd } from '../far-end.js'
import { type Requests, RunningBroker } from '../running.js'
import { until } from '../until.js'

/** A broker with one subscription to its vats. */
class Subscribed {
  readonly broker: Requests
  readonly id: string

  private constructor(broker: Requests, id: string) {
    this.broker = broker
    this.id = id
  }

  static async start(t: Test, notification: object, condition?: object, flags: readonly string[] = []) {
    const broker = flags.length === 0 ? await RunningBroker.tenant() : await RunningBroker.start(t, flags)
    const subject = { entities: [{ idPattern: '^Vat-' }], ...(condition !== undefined && { condition }) }
    const made = await broker.send('POST', '/v2/subscriptions', { subject, notification })
    t.equal(made.status, 201, made.text)
    return new Subscribed(broker, made.headers.get('location')?.split('/').at(-1) ?? '')
  }

  /** Updates a vat through NGSIv1. */
  async update(values: Readonly<Record<string, string>>): Promise<void> {
    const attributes = Object.entries(values).map(([name, value]) => ({ name, type: 'Text', value }))
    const { text } = await this.broker.update('APPEND', { id: 'Vat-3', type: 'Vat', attributes })
    if (!text.includes('"code":"200"')) throw new Error(text)
  }
}

async function arrived<Item>(items: readonly Item[], number = 1): Promise<readonly Item[]> {
  await until(() => items.length >= number)
  return items
}

test('a custom notification derives another entity at its own broker, of which others are told', async (t) => {
  const end = await FarEnd.listen(t)
  const broker = await RunningBroker.start(t)
  const attributes = [{ name: 'heat', value: '${heat}' }]
  const derived = { updateAction: 'APPEND', contextElements: [{ id: 'Sum-1', type: 'Sum', attributes }] }
  const deriving = { httpCustom: { url: `${broker.url}/v1/updateContext`, json: derived } }
  const told = { http: { url: end.url() }, attrsFormat: 'keyValues' }
  for (const [id, notification] of [['Vat-1', deriving] as const, ['Sum-1', told] as const]) {
    const made = await broker.send('POST', '/v2/subscriptions', { subject: { entities: [{ id }] }, notification })
    t.equal(made.status, 201, made.text)
  }
  for (const heat of ['1', '2']) {
    await broker.update('APPEND', {
      id: 'Vat-1',
      type: 'Vat',
      attributes: [{ name: 'heat', type: 'Text', value: heat }],
    })
    await arrived(end.received, Number(heat))
  }
  const values = end.bodies.map((body) => /"heat":"(.)"/.exec(body)?.[1])
  t.same(values, ['1', '2'])
})

test('httpCustom has the URL, query, method, headers and text of its template', async (t) => {
  const end = await FarEnd.listen(t)
  const httpCustom = {
    url: `${end.url().replace(/\/[^/]*$/, '')}/vats/\${id}`,
    method: 'PUT',
    qs: { z: '${heat}', kind: '${type}', no: '${gone}' },
    headers: { 'X-Area': 'hall%3D2', 'Fiware-ServicePath': '', Accept: 'text/plain', 'Fiware-Correlator': 'mine' },
    payload: 'heat of %22${id}%22: ${heat}, lid: ${lid}',
  }
  const subscribed = await Subscribed.start(t, { httpCustom })
  await subscribed.update({ heat: 'hot' })
  const [request] = await arrived(end.received)
  t.equal(request?.method, 'PUT')
  t.equal(request?.url, '/vats/Vat-3?kind=Vat&z=hot')
  t.equal(request?.body, 'heat of "Vat-3": hot, lid: null')
  t.match(request?.headers, {
    'x-area': 'hall=2',
    accept: 'text/plain',
    'content-type': 'text/plain; charset=utf-8',
    'ngsiv2-attrsformat': 'custom',
    'fiware-correlator': /; cbnotif=1$/,
  })
  t.notOk(request?.headers['fiware-servicepath'])
})

test('path and query arrive as they are filled in; only what cannot stand in a request line is encoded', async (t) => {
  const end = await FarEnd.listen(t)
  const httpCustom = { url: `${end.url()}/\${path}`, qs: { a: '${query}', b: '1' }, payload: null }
  const { broker } = await Subscribed.start(t, { httpCustom })
  const filledIn = [
    ['../x', 'x#y', '/notify/../x?a=x#y&b=1'],
    ['{1}', '{"a":1}', '/notify/{1}?a={"a":1}&b=1'],
    ['é', 'x HTTP/1.1\r\nHost: other', '/notify/%C3%A9?a=x%20HTTP/1.1%0D%0AHost:%20other&b=1'],
  ] as const
  for (const [at, [path, query]] of filledIn.entries()) {
    const attributes = {
      path: { type: 'TextUnrestricted', value: path },
      query: { type: 'TextUnrestricted', value: query },
    }
    const made = await broker.send('POST', '/v2/entities', { id: `Vat-${at}`, ...attributes })
    t.equal(made.status, 201, made.text)
    await arrived(end.received, at + 1)
  }
  t.same(
    end.received.map(({ url }) => url),
    filledIn.map(([, , url]) => url),
  )
})

test('a header that no notification can have is accepted and ignored; others are sent, in UTF-8', async (t) => {
  const end = await FarEnd.listen(t)
  const ignored = { 'Keep-Alive': 'timeout%3D5', Expect: '100-continue', upgrade: '', 'Transfer-Encoding': 'chunked' }
  const kept = { TE: 'trailers', Trailer: 'x-sum', 'Proxy-Connection': 'keep-alive', 'x-price': '${price} é' }
  await (await Subscribed.start(t, { httpCustom: { url: end.url(), headers: { ...ignored, ...kept } } })).update({
    price: '5 €',
  })
  const [request] = await arrived(end.received)
  t.match(request?.headers, { te: 'trailers', trailer: 'x-sum', 'proxy-connection': 'keep-alive' })
  t.equal(Buffer.from(String(request?.headers['x-price']), 'latin1').toString(), '5 € é')
  for (const name of ['keep-alive', 'expect', 'upgrade', 'transfer-encoding']) t.notOk(request?.headers[name], name)
})

test('an empty text from a macro removes the header that would be sent otherwise, and null leaves it', async (t) => {
  const end = await FarEnd.listen(t)
  const headers = { 'User-Agent': '${empty}', Accept: '${gone}' }
  await (await Subscribed.start(t, { httpCustom: { url: end.url(), headers } })).update({ empty: '' })
  const [request] = await arrived(end.received)
  t.equal(request?.headers['user-agent'], undefined)
  t.equal(request?.headers.accept, 'application/json')
})

test('a URL of a scheme that is none of HTTP is refused, whatever is filled in behind it', async (t) => {
  const broker = await RunningBroker.tenant()
  const subject = { entities: [{ idPattern: '.*' }] }
  const made = (url: string) =>
    broker.send('POST', '/v2/subscriptions', { subject, notification: { httpCustom: { url } } })
  for (const scheme of ['mqtt', 'kafka', 'MQTT']) {
    const description = `${scheme.toLowerCase()} URL cannot be used in http notifications`
    t.same((await made(`${scheme}://${'${host}'}/in`)).json, { error: 'BadRequest', description })
  }
  t.equal((await made('${scheme}://${host}/in')).status, 201)
})

test('json is filled in with values, and no payload is no body', async (t) => {
  const end = await FarEnd.listen(t)
  const json = { t: '${heat}', say: 'is ${heat}', pair: ['${heat|len}', '${servicePath}'], gone: '${lid}' }
  const subscribed = await Subscribed.start(t, { httpCustom: { url: end.url(), json } })
  const httpCustom = { url: end.url(), payload: null }
  const subject = { entities: [{ idPattern: '.*' }] }
  await subscribed.broker.send('POST', '/v2/subscriptions', { subject, notification: { httpCustom } })
  await subscribed.update({ heat: 'hot' })
  const [first, second] = [...(await arrived(end.received, 2))].sort((a, b) => b.body.length - a.body.length)
  t.same(JSON.parse(first?.body ?? ''), { t: 'hot', say: 'is hot', pair: [3, '/'], gone: null })
  t.equal(first?.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(second?.body, '')
  t.equal(second?.headers['content-length'], '0')
  t.notOk(second?.headers['content-type'])
})

test('ngsi is laid upon the entity before attributes are selected', async (t) => {
  const end = await FarEnd.listen(t)
  const ngsi = {
    id: '${id}:${type}',
    twice: { value: '${heat + heat}', metadata: { evalPriority: { type: 'Number', value: 1 } } },
    when: { type: 'DateTime', value: '${heat|len}' },
    long: { value: '${twice|len}' },
  }
  const attrs = ['long', 'when', 'lid', 'twice']
  const subscribed = await Subscribed.start(t, { httpCustom: { url: end.url(), ngsi }, attrs })
  await subscribed.update({ heat: 'hot', lid: 'shut' })
  const [request] = await arrived(end.received)
  t.same(JSON.parse(request?.body ?? ''), {
    subscriptionId: subscribed.id,
    data: [
      {
        ...{ id: 'Vat-3:Vat', type: 'Vat' },
        twice: { type: 'Text', value: 'hothot', metadata: { evalPriority: { type: 'Number', value: 1 } } },
        when: { type: 'DateTime', value: 3, metadata: {} },
        long: { type: 'Text', value: 6, metadata: {} },
        lid: { type: 'Text', value: 'shut', metadata: {} },
      },
    ],
  })
  t.equal(request?.headers['ngsiv2-attrsformat'], 'normalized')
})

test('a priority is notified where the metadata that are asked for let it through', async (t) => {
  const end = await FarEnd.listen(t)
  const ngsi = { a: { value: '${heat}', metadata: { evalPriority: { value: 2 } } } }
  const notification = { httpCustom: { url: end.url(), ngsi }, attrs: ['a'], attrsFormat: 'simplifiedNormalized' }
  const subscribed = await Subscribed.start(t, { ...notification, metadata: ['previousValue'] })
  for (const metadata of [['evalPriority'], ['*'], []]) {
    await subscribed.broker.send('PATCH', `/v2/subscriptions/${subscribed.id}`, {
      notification: { ...notification, metadata },
    })
    await subscribed.update({ heat: `hot${metadata}` })
  }
  await subscribed.broker.send('PATCH', `/v2/subscriptions/${subscribed.id}`, {
    notification: { ...notification, metadata: ['previousValue'] },
  })
  await subscribed.update({ heat: 'cold' })
  await until(() => end.received.length === 4)
  const seen = end.bodies.map((body) => JSON.parse(body).a.metadata)
  const shown = { evalPriority: { type: 'Number', value: 2 } }
  t.strictSame(seen, [shown, shown, shown, {}])
})

test('a template is shown with default types; an empty payload is not shown', async (t) => {
  const ngsi = { id: '', a: { value: '${heat}' }, b: {}, c: { value: [1], metadata: { evalPriority: { value: 2 } } } }
  const subscribed = await Subscribed.start(t, { httpCustom: { url: 'http://127.0.0.1:9/in', ngsi } })
  const shown = async () => {
    const { text } = await subscribed.broker.send('GET', `/v2/subscriptions/${subscribed.id}`)
    return JSON.parse(text).notification
  }
  t.strictSame((await shown()).httpCustom.ngsi, {
    a: { type: 'Text', value: '${heat}' },
    b: { type: 'None', value: null },
    c: { type: 'StructuredValue', value: [1], metadata: { evalPriority: { type: 'Number', value: 2 } } },
  })
  const mqttCustom = { url: 'mqtt://127.0.0.1:9', topic: 't', payload: '' }
  await subscribed.broker.send('PATCH', `/v2/subscriptions/${subscribed.id}`, { notification: { mqttCustom } })
  t.strictSame((await shown()).mqttCustom, { url: 'mqtt://127.0.0.1:9', topic: 't', qos: 0, retain: false })
})

test('what a template makes nothing sendable of is dropped, counted and logged; what follows is sent', async (t) => {
  const end = await FarEnd.listen(t)
  const subscribed = await Subscribed.start(t, { httpCustom: { url: '${where}', payload: '${heat}' } })
  await subscribed.update({ heat: 'hot', where: 'nowhere' })
  await subscribed.update({ heat: 'cold', where: encodeURI(end.url()) })
  await arrived(end.received)
  t.same(end.bodies, ['cold'])
  const { text } = await subscribed.broker.send('GET', `/admin/subscriptions/${subscribed.id}`)
  t.match(text, /"discarded":1\b/)
})

test('a jexlExpression decides: only true itself does', async (t) => {
  const end = await FarEnd.listen(t)
  const condition = { attrs: ['heat'], jexlExpression: '(heat|len) > 3 && metadata.heat.previousValue != heat' }
  const subscribed = await Subscribed.start(t, { http: { url: end.url() }, attrsFormat: 'keyValues' }, condition)
  await subscribed.update({ heat: 'hot' })
  await subscribed.update({ heat: 'cold' })
  await subscribed.update({ heat: '' })
  await subscribed.update({ heat: 'tepid' })
  await arrived(end.received, 2)
  t.match(
    end.bodies.map((body) => JSON.parse(body)),
    [{ data: [{ heat: 'cold' }] }, { data: [{ heat: 'tepid' }] }],
  )
})

test('with -disableCustomNotifications httpCustom is sent as http, and shown as it was given', async (t) => {
  const end = await FarEnd.listen(t)
  const httpCustom = { url: end.url('/n/${id}'), method: 'PUT', headers: { 'x-a': 'b' }, payload: '${heat}' }
  const subscribed = await Subscribed.start(t, { httpCustom }, undefined, ['-disableCustomNotifications'])
  await subscribed.update({ heat: 'hot' })
  const [request] = await arrived(end.received)
  t.equal(request?.method, 'POST')
  t.equal(request?.url, '/n/${id}')
  t.match(JSON.parse(request?.body ?? ''), { data: [{ id: 'Vat-3', heat: { value: 'hot' } }] })
  t.notOk(request?.headers['x-a'])
  const { text } = await subscribed.broker.send('GET', `/v2/subscriptions/${subscribed.id}`)
  t.match(JSON.parse(text), { notification: { httpCustom } })
})

test('mqttCustom publishes its text to the topic filled in', { skip: skipped }, async (t) => {
  const bus = await Mosquitto.start(t)
  const received = await bus.subscribe('plant/#')
  const mqttCustom = { url: bus.url, topic: 'plant/${type}/${id}', qos: 1, payload: 'heat is ${heat}' }
  const subscribed = await Subscribed.start(t, { mqttCustom })
  await subscribed.update({ heat: 'hot' })
  t.match(await arrived(received), [{ topic: 'plant/Vat/Vat-3', body: 'heat is hot', qos: 1 }])
})
