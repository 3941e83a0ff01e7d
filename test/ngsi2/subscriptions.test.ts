import { type Test, test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { type Requests, RunningBroker } from '../running.js'
import { until } from '../until.js'

const json = { 'Content-Type': 'application/json' }

/** A subscription to the vats of a broker, at a far end. */
interface Watched<Broker extends Requests = Requests> {
  readonly broker: Broker
  readonly end: FarEnd
  readonly id: string
}

interface Wanted {
  readonly condition?: unknown
  readonly notification?: object
  readonly more?: object
}

async function watched(t: Test, wanted: Wanted = {}): Promise<Watched> {
  return watchedAt(t, await RunningBroker.tenant(), wanted)
}

async function watchedAt<Broker extends Requests>(
  t: Test,
  broker: Broker,
  { condition, notification, more }: Wanted = {},
): Promise<Watched<Broker>> {
  const end = await FarEnd.listen(t)
  const subject = { entities: [{ idPattern: '^Vat-', type: 'Vat' }], ...(condition !== undefined && { condition }) }
  const body = { subject, notification: { http: { url: end.url() }, ...notification }, ...more }
  const made = await broker.send('POST', '/v2/subscriptions', body)
  t.equal(made.status, 201)
  const id = made.headers.get('location')?.split('/').at(-1) ?? ''
  t.match(id, /^[0-9a-f]{24}$/)
  return { broker, end, id }
}

/** Updates a vat through NGSIv1. */
async function update(broker: Requests, action: string, attributes: Record<string, string>, id = 'Vat-1') {
  const given = Object.entries(attributes).map(([name, value]) => ({ name, type: 'Text', value }))
  const { text } = await broker.update(action, { id, type: 'Vat', attributes: given })
  if (!text.includes('"code":"200"')) throw new Error(text)
}

async function bodiesOf({ end }: Watched, number: number): Promise<readonly unknown[]> {
  await until(() => end.received.length >= number)
  return end.bodies.map((body) => JSON.parse(body))
}

test('a subscription is silent until something happens, and then told in the normalized form', async (t) => {
  const w = await watched(t)
  await update(w.broker, 'APPEND', { heat: 'hot' })
  const [body] = await bodiesOf(w, 1)
  const heat = { type: 'Text', value: 'hot', metadata: {} }
  t.same(body, { subscriptionId: w.id, data: [{ id: 'Vat-1', type: 'Vat', heat }] })
  const headers = w.end.received[0]?.headers ?? {}
  t.equal(headers['ngsiv2-attrsformat'], 'normalized')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.equal(headers['fiware-servicepath'], '/')
  t.match(headers['fiware-correlator'], /; cbnotif=1$/)
})

for (const [attrsFormat, body] of [
  ['keyValues', { data: [{ id: 'Vat-1', type: 'Vat', heat: 'hot', lid: 'shut' }] }],
  ['values', { data: [['hot', 'shut']] }],
  ['simplifiedKeyValues', { id: 'Vat-1', type: 'Vat', heat: 'hot', lid: 'shut' }],
  ['legacy', { originator: 'localhost', contextResponses: [{ contextElement: { id: 'Vat-1' } }] }],
] as const) {
  test(`a notification has the form ${attrsFormat}`, async (t) => {
    const w = await watched(t, { notification: { attrsFormat } })
    await update(w.broker, 'APPEND', { lid: 'shut', heat: 'hot' })
    t.match((await bodiesOf(w, 1))[0], body)
  })
}

test('an expression decides, on the state after the update', async (t) => {
  const w = await watched(t, { condition: { attrs: ['heat'], expression: { q: 'heat==hot;lid==open' } } })
  await update(w.broker, 'APPEND', { heat: 'hot', lid: 'shut' })
  await update(w.broker, 'UPDATE', { lid: 'open' })
  await update(w.broker, 'UPDATE', { heat: 'cold' })
  await update(w.broker, 'UPDATE', { heat: 'hot' })
  const [body, ...others] = await bodiesOf(w, 1)
  t.match(body, { data: [{ heat: { value: 'hot' }, lid: { value: 'open' } }] })
  t.same(others, [])
})

test('alterations: a creation, a change, an update that changes nothing, a removal', async (t) => {
  const alterationTypes = ['entityCreate', 'entityUpdate', 'entityDelete']
  const notification = { attrs: ['alterationType'], attrsFormat: 'keyValues' }
  const w = await watched(t, { condition: { alterationTypes }, notification })
  await update(w.broker, 'APPEND', { heat: 'hot' })
  await update(w.broker, 'UPDATE', { heat: 'cold' })
  await update(w.broker, 'UPDATE', { heat: 'cold' })
  await update(w.broker, 'DELETE', {})
  const bodies = await bodiesOf(w, 4)
  const alterations = bodies.map((body) => (body as { data: { alterationType: string }[] }).data[0]?.alterationType)
  t.same(alterations, ['entityCreate', 'entityChange', 'entityUpdate', 'entityDelete'])
})

test('only what the request contained, covered by what is missing; what was before, and how it came', async (t) => {
  const metadata = ['previousValue', 'actionType']
  const notification = { attrs: ['heat', 'lid', 'none'], onlyChangedAttrs: true, metadata }
  const w = await watched(t, { notification })
  await update(w.broker, 'APPEND', { heat: 'hot', smell: 'none' })
  await update(w.broker, 'APPEND', { heat: 'cold', lid: 'open' })
  const [, second] = await bodiesOf(w, 2)
  const text = (value: string) => ({ type: 'Text', value })
  t.same(second, {
    subscriptionId: w.id,
    data: [
      {
        id: 'Vat-1',
        type: 'Vat',
        heat: { ...text('cold'), metadata: { previousValue: text('hot'), actionType: text('update') } },
        lid: { ...text('open'), metadata: { actionType: text('append') } },
      },
    ],
  })
})

test('what a subscription covers is shown although the entity lacks it', async (t) => {
  const w = await watched(t, { notification: { attrs: ['lid', 'heat'], covered: true, attrsFormat: 'values' } })
  await update(w.broker, 'APPEND', { heat: 'hot' })
  t.same(await bodiesOf(w, 1), [{ subscriptionId: w.id, data: [[null, 'hot']] }])
})

test('what a subscription covers is shown beside all attributes as well, in the place that it has in the list', async (t) => {
  const attrs = ['gone', '*', 'lid', 'servicePath']
  const w = await watched(t, { notification: { attrs, covered: true, attrsFormat: 'values' } })
  await update(w.broker, 'APPEND', { heat: 'hot' })
  t.same(await bodiesOf(w, 1), [{ subscriptionId: w.id, data: [['hot', null, null, '/']] }])
})

test('where only changes are shown, the path of the entity is none', async (t) => {
  const attrs = ['heat', 'servicePath', 'alterationType']
  const notification = { attrs, onlyChangedAttrs: true, attrsFormat: 'simplifiedKeyValues' }
  const w = await watched(t, { notification })
  await update(w.broker, 'APPEND', { heat: 'hot' })
  t.same(await bodiesOf(w, 1), [{ id: 'Vat-1', type: 'Vat', heat: 'hot', alterationType: 'entityCreate' }])
})

test('nothing is sent where only changes are shown and there would be nothing but the path', async (t) => {
  const w = await watched(t, { notification: { attrs: ['servicePath'], onlyChangedAttrs: true } })
  await update(w.broker, 'APPEND', { heat: 'hot' })
  const { json: state } = await w.broker.send('GET', `/admin/subscriptions/${w.id}`)
  t.match(state, { timesSent: 0, queueDepth: 0 })
})

test('to a subscription that does not hear of metadata, an update of nothing else is none', async (t) => {
  const condition = { alterationTypes: ['entityChange', 'entityUpdate'], notifyOnMetadataChange: false }
  const w = await watched(t, { condition, notification: { attrs: ['alterationType'], attrsFormat: 'values' } })
  const put = (value: number, unit: string, options = '') => {
    const body = { type: 'Number', value, metadata: { unit: { type: 'Text', value: unit } } }
    return w.broker.send('PUT', `/v2/entities/Vat-1/attrs/heat${options}`, body)
  }
  await w.broker.send('POST', '/v2/entities', { id: 'Vat-1', type: 'Vat', heat: { type: 'Number', value: 1 } })
  t.equal((await put(1, 'C')).status, 204)
  t.equal((await put(1, 'F', '?options=forcedUpdate')).status, 204)
  t.equal((await put(2, 'F')).status, 204)
  const notified = (await bodiesOf(w, 3)).map((body) => (body as { data: unknown }).data)
  t.same(notified, [[['entityUpdate']], [['entityChange']], [['entityChange']]])
})

test('a oneshot fires once, over a restart, until it is set again', async (t) => {
  const w = await watchedAt(t, await RunningBroker.start(t), { more: { status: 'oneshot' } })
  const status = async () =>
    ((await w.broker.send('GET', `/v2/subscriptions/${w.id}`)).json as { status: string }).status
  t.equal(await status(), 'oneshot')
  for (const heat of ['1', '2', '3']) await update(w.broker, 'APPEND', { heat }, `Vat-${heat}`)
  await bodiesOf(w, 1)
  t.equal(await status(), 'inactive')
  await w.broker.end('SIGKILL')
  await w.broker.run()
  t.equal(await status(), 'inactive')
  await update(w.broker, 'APPEND', { heat: '4' })
  t.equal((await w.broker.send('PATCH', `/v2/subscriptions/${w.id}`, { status: 'oneshot' })).status, 204)
  await update(w.broker, 'APPEND', { heat: '5' })
  await update(w.broker, 'APPEND', { heat: '6' })
  await until(() => w.end.bodies.at(-1)?.includes('"5"') === true)
  const values = w.end.bodies.map((body) => body.match(/"value":"(\d)"/)?.[1])
  t.same([...new Set(values)], ['1', '5'], 'a notification may come twice, but no other one')
})

test('what is made before a pause waits for its end; what happens during it is never told', async (t) => {
  const w = await watched(t)
  const patch = (body: unknown) => w.broker.send('PATCH', `/v2/subscriptions/${w.id}`, body)
  w.end.respond = responding(500)
  await update(w.broker, 'APPEND', { heat: '1' })
  await bodiesOf(w, 1)
  t.equal((await patch({ status: 'inactive' })).status, 204)
  w.end.respond = responding(200)
  await update(w.broker, 'UPDATE', { heat: '2' })
  t.equal((await patch({ status: 'active' })).status, 204)
  await update(w.broker, 'UPDATE', { heat: '3' })
  await until(() => w.end.bodies.at(-1)?.includes('"3"') === true)
  const values = w.end.bodies.map((body) => body.match(/"value":"(\d)"/)?.[1])
  t.equal(values.at(-2), '1')
  t.notOk(values.includes('2'))
})

test('too many failures in a row make a subscription inactive, and nothing is lost by it', async (t) => {
  const w = await watched(t, { notification: { maxFailsLimit: 2 } })
  w.end.respond = responding(500)
  await update(w.broker, 'APPEND', { heat: '1' })
  const shown = async () => (await w.broker.send('GET', `/v2/subscriptions/${w.id}`)).text
  await until(async () => (await shown()).includes('"status":"inactive"'))
  t.match(await shown(), /"maxFailsLimit":2,"failsCounter":3,/)
  const disabled = `Subscription ${w.id} automatically disabled due to failsCounter (3) overpasses maxFailsLimit (2)`
  // The lines of another thread come when they come.
  await w.broker.writes(disabled)
  t.equal(w.end.received.length, 3)
  w.end.respond = responding(200)
  t.equal((await w.broker.send('PATCH', `/v2/subscriptions/${w.id}`, { status: 'active' })).status, 204)
  await bodiesOf(w, 4)
  await until(async () => !(await shown()).includes('failsCounter'))
})

test('subscriptions of both interfaces are listed, paged, counted, changed and removed', async (t) => {
  const { broker } = await watched(t, { more: { description: 'vats', throttling: 5, expires: '2031-04-05T14:00:00Z' } })
  const reference = 'http://127.0.0.1:9/in'
  await broker.send('POST', '/v1/subscribeContext', {
    entities: [{ id: '.*', isPattern: 'true', type: 'Tub' }],
    reference,
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['lid'] }],
  })
  const { headers, json: all } = await broker.send('GET', '/v2/subscriptions?options=count&limit=1&offset=1')
  t.equal(headers.get('fiware-total-count'), '2')
  const [second] = all as { id: string }[]
  t.match(second, {
    subject: { entities: [{ idPattern: '.*', type: 'Tub' }], condition: { attrs: ['lid'] } },
    notification: { attrsFormat: 'legacy', http: { url: reference } },
    expires: /Z$/,
  })
  const path = `/v2/subscriptions/${second?.id}`
  t.equal((await broker.send('PATCH', path, { expires: '', description: 'tubs' }, json)).status, 204)
  const { json: changed } = await broker.send('GET', path)
  t.match(changed, { description: 'tubs', notification: { attrsFormat: 'legacy' } })
  t.notOk('expires' in (changed as object))
  t.equal((await broker.send('DELETE', path)).status, 204)
  t.same((await broker.send('DELETE', path)).json, {
    error: 'NotFound',
    description: 'The requested subscription has not been found. Check id',
  })
})

test('a custom notification that comes back as an update of its entity notifies nobody', async (t) => {
  const w = await watched(t)
  const correlator = 'round-1'
  const put = (heat: number, headers: Record<string, string>) =>
    w.broker.send(
      'POST',
      '/v2/entities?options=upsert',
      { id: 'Vat-Loop', type: 'Vat', heat: { value: heat } },
      headers,
    )
  t.equal((await put(1, { 'Fiware-Correlator': correlator })).status, 204)
  const custom = { 'Ngsiv2-AttrsFormat': 'custom' }
  t.equal((await put(2, { ...custom, 'Fiware-Correlator': `${correlator}; cbnotif=1` })).status, 204)
  t.equal((await put(3, { ...custom, 'Fiware-Correlator': 'another' })).status, 204)
  const values = (await bodiesOf(w, 2)).map((body) => JSON.stringify(body).match(/"value":(\d)/)?.[1])
  t.same(values, ['1', '3'])
  await w.broker.writes(/"lvl":"WARN".*notification loop detected: the update of Vat-Loop /)
})

test('a change through NGSIv1 sends the present state in the form of NGSIv2', async (t) => {
  const condition = { attrs: ['lid'], expression: { q: 'heat==hot' } }
  const w = await watched(t, { condition, notification: { attrsFormat: 'keyValues', onlyChangedAttrs: true } })
  await update(w.broker, 'APPEND', { heat: 'cold' }, 'Vat-1')
  await update(w.broker, 'APPEND', { heat: 'hot' }, 'Vat-2')
  const notifyConditions = [{ type: 'ONCHANGE', condValues: ['heat'] }]
  const { status } = await w.broker.send('POST', '/v1/updateContextSubscription', {
    subscriptionId: w.id,
    notifyConditions,
  })
  t.equal(status, 200)
  t.same(await bodiesOf(w, 1), [{ subscriptionId: w.id, data: [{ id: 'Vat-2', type: 'Vat', heat: 'hot' }] }])
  t.equal(w.end.received[0]?.headers['ngsiv2-attrsformat'], 'keyValues')
})

test('a flag of MQTT that is null is refused, as every other one', async (t) => {
  const broker = await RunningBroker.tenant()
  for (const kind of ['mqtt', 'mqttCustom']) {
    const notification = { [kind]: { url: 'mqtt://127.0.0.1:9', topic: 't', retain: null } }
    const { status, json } = await broker.send('POST', '/v2/subscriptions', {
      subject: { entities: [{ idPattern: '.*' }] },
      notification,
    })
    t.same([status, json], [400, { error: 'BadRequest', description: 'retain is not a bool' }], kind)
  }
})

test('notifications over Kafka are refused after everything else that is wrong', async (t) => {
  const broker = await RunningBroker.tenant()
  const subject = { entities: [{ idPattern: '.*' }] }
  const made = await broker.send('POST', '/v2/subscriptions', {
    subject,
    notification: { http: { url: 'http://127.0.0.1:9/' }, attrs: ['a'], covered: true },
  })
  const own = made.headers.get('location') ?? ''
  const unknown = '/v2/subscriptions/0123456789abcdef01234567'
  const paths = { 'Fiware-ServicePath': '/a,/b' }
  const below = { 'Fiware-ServicePath': '/a/#' }
  const cases = [
    ['POST', '/v2/subscriptions', {}, {}, 501, 'kafka notifications are not supported'],
    ['POST', '/v2/subscriptions', {}, paths, 400, 'max one service-path allowed for subscriptions'],
    ['PATCH', own, { attrs: ['a'] }, {}, 501, 'kafka notifications are not supported'],
    ['PATCH', own, { covered: false }, {}, 501, 'kafka notifications are not supported'],
    ['PATCH', own, {}, {}, 400, 'covered true cannot be used if notification attributes list is empty'],
    ['PATCH', own, {}, below, 400, 'servicepath with wildcard # is not allowed in patch update request'],
    ['PATCH', unknown, {}, {}, 404, 'subscription id not found'],
    ['PATCH', '/v2/subscriptions/none', {}, {}, 404, 'subscription id not found'],
  ] as const
  const errors = { 400: 'BadRequest', 404: 'NotFound', 501: 'NotImplemented' }
  for (const kind of ['kafka', 'kafkaCustom']) {
    for (const [method, path, more, headers, status, description] of cases) {
      const notification = { [kind]: { url: 'kafka://127.0.0.1:9', topic: 't' }, ...more }
      const response = await broker.send(method, path, { subject, notification }, headers)
      t.same([response.status, response.json], [status, { error: errors[status], description }], `${method} ${path}`)
    }
  }
  t.match((await broker.send('GET', own)).json, { notification: { http: { url: 'http://127.0.0.1:9/' } } })
})

/** The attributes in notifications in the form of NGSIv1, each as its name, its value and the names of its metadata. */
function legacyAttributes(bodies: readonly unknown[]) {
  return (bodies as { contextResponses: { contextElement: { id: string; attributes?: LegacyAttribute[] } }[] }[]).map(
    ({ contextResponses }) =>
      contextResponses.map(({ contextElement: { id, attributes = [] } }) => [
        id,
        ...attributes.map(({ name, value, metadatas = [] }) => [name, value, ...metadatas.map((each) => each.name)]),
      ]),
  )
}

interface LegacyAttribute {
  readonly name: string
  readonly value: string
  readonly metadatas?: readonly { readonly name: string }[]
}

for (const [notification, changed, whole] of [
  [
    {},
    [
      ['heat', 'cold', 'ID', 'n', 'o'],
      ['lid', 'shut'],
    ],
    [
      ['heat', 'cold', 'ID', 'n', 'o'],
      ['lid', 'shut'],
    ],
  ],
  [{ exceptAttrs: ['heat', 'none'] }, [['lid', 'shut']], [['lid', 'shut']]],
  [
    { onlyChangedAttrs: true },
    [['heat', 'cold', 'ID', 'n', 'o']],
    [
      ['heat', 'cold', 'ID', 'n', 'o'],
      ['lid', 'shut'],
    ],
  ],
  [{ metadata: ['n'], attrs: ['heat'] }, [['heat', 'cold', 'n']], [['heat', 'cold', 'n']]],
  [
    { metadata: ['*', 'dateCreated'], attrs: ['heat'] },
    [['heat', 'cold', 'ID', 'n', 'o']],
    [['heat', 'cold', 'ID', 'n', 'o']],
  ],
] as const) {
  test(`the form of NGSIv1 shows what ${JSON.stringify(notification)} selects, of changes and of the state`, async (t) => {
    const w = await watched(t, { notification: { attrsFormat: 'legacy', ...notification } })
    const metadatas = ['ID', 'n', 'o'].map((name) => ({ name, type: 'Text', value: '1' }))
    const heat = (value: string) => ({ name: 'heat', type: 'Text', value, metadatas })
    const lid = { name: 'lid', type: 'Text', value: 'shut' }
    await w.broker.update('APPEND', { id: 'Vat-1', type: 'Vat', attributes: [heat('hot'), lid] })
    await w.broker.update('UPDATE', { id: 'Vat-1', type: 'Vat', attributes: [heat('cold')] })
    t.same(legacyAttributes(await bodiesOf(w, 2))[1], [['Vat-1', ...changed]])
    const { 'ngsiv2-attrsformat': format, 'fiware-correlator': correlator } = w.end.received[1]?.headers ?? {}
    t.equal(format, undefined)
    t.notMatch(correlator, 'cbnotif')
    await w.broker.update('APPEND', { id: 'Vat-2', type: 'Vat', attributes: [lid] })
    const notifyConditions = [{ type: 'ONCHANGE', condValues: ['heat'] }]
    await w.broker.send('POST', '/v1/updateContextSubscription', { subscriptionId: w.id, notifyConditions })
    const isWhole = () => legacyAttributes(w.end.bodies.map((body) => JSON.parse(body))).at(-1)
    const vat2 = notification.attrs === undefined ? [['Vat-2', ['lid', 'shut']]] : []
    await until(
      () => JSON.stringify(isWhole()) === JSON.stringify([['Vat-1', ...whole], ...vat2]),
      () => JSON.stringify(isWhole()),
    )
  })
}

test('in the form of NGSIv1, a change that leaves nothing to show notifies nobody', async (t) => {
  const w = await watched(t, { notification: { attrsFormat: 'legacy', exceptAttrs: ['heat'] } })
  const only = await watchedAt(t, w.broker, {
    notification: { attrsFormat: 'legacy', attrs: ['lid'], onlyChangedAttrs: true },
  })
  await update(w.broker, 'APPEND', { heat: 'hot' })
  await update(w.broker, 'APPEND', { lid: 'shut' })
  await update(w.broker, 'UPDATE', { heat: 'cold' })
  await update(w.broker, 'UPDATE', { lid: 'open' })
  const lid = (value: string) => [['Vat-1', ['lid', value]]]
  t.same(legacyAttributes(await bodiesOf(w, 3)), [lid('shut'), lid('shut'), lid('open')])
  t.same(legacyAttributes(await bodiesOf(only, 2)), [lid('shut'), lid('open')])
})

test('a subscription that is inactive, or whose oneshot has fired, makes no notification of the state either', async (t) => {
  const w = await watched(t, { notification: { attrsFormat: 'keyValues' } })
  const patch = (status: string) => w.broker.send('PATCH', `/v2/subscriptions/${w.id}`, { status })
  const conditioned = async (type: string, ...condValues: readonly string[]) => {
    const change = { subscriptionId: w.id, notifyConditions: [{ type, condValues }] }
    t.equal((await w.broker.send('POST', '/v1/updateContextSubscription', change)).status, 200)
  }
  const heats = async (number: number) =>
    (await bodiesOf(w, number)).map((body) => (body as { data: { heat: string }[] }).data[0]?.heat)
  await update(w.broker, 'APPEND', { heat: '1' })
  await bodiesOf(w, 1)
  t.equal((await patch('inactive')).status, 204)
  await conditioned('ONCHANGE', 'heat')
  await update(w.broker, 'UPDATE', { heat: '2' })
  await conditioned('ONTIMEINTERVAL', 'PT1S')
  await update(w.broker, 'UPDATE', { heat: '3' })
  await conditioned('ONCHANGE', 'heat')
  await update(w.broker, 'UPDATE', { heat: '4' })
  t.equal((await patch('oneshot')).status, 204)
  await update(w.broker, 'UPDATE', { heat: '5' })
  await conditioned('ONCHANGE')
  await update(w.broker, 'UPDATE', { heat: '6' })
  t.equal((await patch('active')).status, 204)
  await update(w.broker, 'UPDATE', { heat: '7' })
  t.same(await heats(3), ['1', '5', '7'])
})
