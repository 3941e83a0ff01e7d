import { t as root, test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

const receiver = await FarEnd.listen(root)
const broker = await RunningBroker.start(root, ['-multiservice', '-logLevel', 'INFO'])

/** Hostile as text, and harmless as JSON. */
const hostile = '\u202e%3Cimg src%3Dx onerror%3Dalert%281%29%3E javascript:alert%281%29'

async function subscribe(body: object, headers: Record<string, string> = {}): Promise<string> {
  const reply = await broker.send('POST', '/v2/subscriptions', body, headers)
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.headers.get('location')?.split('/').at(-1) ?? ''
}

const room = await subscribe({
  description: 'rooms that are hot',
  subject: {
    entities: [{ idPattern: '^Room', type: 'Room' }],
    condition: { attrs: ['temperature'], expression: { q: 'temperature>20', mq: 'temperature.accuracy<2' } },
  },
  notification: { http: { url: receiver.url('/rooms') }, attrs: ['temperature'] },
  throttling: 3600,
})
const other = await subscribe(
  {
    subject: { entities: [{ id: 'Door1' }] },
    notification: {
      httpCustom: { url: 'http://nobody.example/x', headers: { Authorization: 'secret' }, payload: hostile },
    },
  },
  { 'Fiware-Service': 'acme', 'Fiware-ServicePath': '/north/#' },
)

async function read(path: string): Promise<unknown> {
  const reply = await broker.send('GET', path)
  root.equal(reply.status, 200, `${path}: ${reply.text.slice(0, 300)}`)
  return reply.json
}

/** Ids of the subscriptions that a search finds. */
async function idsOf(search: string): Promise<readonly string[]> {
  const found = await read(`/admin/subscriptions?details=on&${search}`)
  const { subscriptions } = Object(found)
  return Array.from(subscriptions, (each) => String(Object(each).id))
}

test('a search finds subscriptions by tenant, status, receiver and any of their words, page by page', async (t) => {
  t.same(await idsOf('limit=10'), [room, other])
  t.same(await idsOf('service=ACME'), [other])
  t.same(await idsOf('service='), [room])
  t.same(await idsOf('receiver=NOBODY'), [other])
  t.same(await idsOf('receiver=secret'), [], 'secrets are not found')
  for (const word of ['are%20HOT', '%5EROOM', 'temperature%3E20', room])
    t.same(await idsOf(`text=${word}`), [room], word)
  t.same(await idsOf('status=active'), [room, other])
  t.same(await idsOf('status=expired'), [])
  t.match(await read('/admin/subscriptions?details=on&limit=1&offset=1'), { count: 2, subscriptions: [{ id: other }] })
  t.match(await read('/admin/subscriptions?limit=1'), [{ id: room }])
})

test('one is shown whole, without secrets, and whatever its template holds is text', async (t) => {
  const whole = await broker.send('GET', `/admin/subscriptions/${other}?details=on`)
  t.match(whole.json, {
    service: 'acme',
    servicePath: '/north/#',
    subject: { entities: [{ id: 'Door1' }], condition: { attrs: [] } },
    notification: { attrs: [], kind: 'http', isCustom: true },
    target: { kind: 'http', headers: { Authorization: '***' }, payload: hostile },
  })
  t.notMatch(whole.text, 'secret')
  t.match(whole.headers.get('content-type'), 'application/json')
  const rooms = await broker.send('GET', `/admin/subscriptions/${room}?details=on`)
  t.match(rooms.json, { description: 'rooms that are hot', throttling: 3600, notification: { attrs: ['temperature'] } })
})

test('a parameter that is wrong is named, with what is right', async (t) => {
  const refusals: readonly (readonly [string, RegExp])[] = [
    ['?limit=0', /limit is no whole number from 1 to 1000/],
    ['?limit=1001', /from 1 to 1000/],
    ['?limit=x', /limit is no whole number/],
    ['?offset=-1', /offset is no whole number/],
    ['?status=well', /status is none of active, inactive/],
    ['?details=yes', /details is none of on, off/],
    ['?text=', /text is empty/],
    [`?text=${'x'.repeat(1025)}`, /longer than 1024/],
    ['?limit=1&service=a-b', /service: bad character/],
    ['?limit=1&texts=x', /unknown URI parameter texts: known are service, limit/],
    [`/${room}?details=1`, /details is none/],
    [`/${room}/explain`, /entity is missing/],
    [`/${room}/explain?entity=Room1&change=all`, /change is none of entityCreate/],
  ]
  for (const [target, text] of refusals) {
    const { status, json } = await broker.send('GET', `/admin/subscriptions${target}`)
    t.equal(status, 400, target)
    t.match(json, { error: 'BadRequest', description: text }, target)
  }
})

/** Which conditions do not fit, and what would become of a change. */
async function explained(entity: string, more = ''): Promise<{ why: unknown; misfits: readonly string[] }> {
  const found = Object(await read(`/admin/subscriptions/${room}/explain?entity=${entity}${more}`))
  const { why, conditions, wouldNotify } = Object(found.entities[0])
  root.equal(wouldNotify, why === undefined)
  const misfits = Array.from(conditions, (each) => Object(each)).filter(({ fits }) => fits !== true)
  return { why, misfits: misfits.map(({ condition }) => String(condition)) }
}

async function store(entity: object): Promise<void> {
  const reply = await broker.send('POST', '/v2/entities?options=upsert', entity)
  if (reply.status >= 300) throw new Error(reply.text)
}

function temperature(value: number, accuracy: number): object {
  return { temperature: { type: 'Number', value, metadata: { accuracy: { type: 'Number', value: accuracy } } } }
}

test('why nothing is sent is said for each condition, as it is when something is', async (t) => {
  const seen = receiver.received.length
  await store({ id: 'Hall1', type: 'Hall', ...temperature(25, 1) })
  t.same(await explained('Hall1'), { why: 'not meant', misfits: ['id', 'type'] })
  await store({ id: 'Room1', type: 'Room', ...temperature(15, 3) })
  t.same(await explained('Room1'), { why: 'condition not met', misfits: ['q', 'mq'] })
  await store({ id: 'Room1', type: 'Room', ...temperature(15, 1), humidity: { value: 1, type: 'Number' } })
  t.same(await explained('Room1'), { why: 'condition not met', misfits: ['q'] })
  t.same(await explained('Room1', '&attributes=humidity'), {
    why: 'not triggered',
    misfits: ['changed attributes', 'q'],
  })
  t.equal(receiver.received.length, seen, 'indeed nothing was sent')
  await store({ id: 'Room1', type: 'Room', ...temperature(25, 1) })
  await until(() => receiver.received.length !== seen)
  t.same(await explained('Room1'), { why: 'throttled', misfits: ['throttling'] })
  t.same((await explained('Room1', '&change=entityDelete')).why, 'not triggered')
  const { entities } = Object(await read(`/admin/subscriptions/${room}/explain?entity=Room1&type=Room`))
  const conditions = Array.from(Object(entities[0]).conditions, (each) => Object(each))
  t.match(
    conditions.find(({ condition }) => condition === 'q'),
    { required: 'temperature>20', held: { temperature: 25 } },
  )
})

test('a change would not be notified to a receiver that is paused after failed attempts', async (t) => {
  const gone = await subscribe({
    subject: { entities: [{ id: 'Gate1' }] },
    notification: { http: { url: 'http://127.0.0.1:9/gone' } },
  })
  await store({ id: 'Gate1', type: 'Gate', open: { type: 'Boolean', value: true } })
  let explanation: { wouldNotify?: unknown; why?: unknown } = {}
  await until(async () => {
    const { entities } = Object(await read(`/admin/subscriptions/${gone}/explain?entity=Gate1`))
    explanation = Object(entities[0])
    return Array.from(Object(explanation).conditions, (each) => Object(each)).some(
      ({ condition, fits }) => condition === 'receiver' && fits === false,
    )
  }, 'the receiver is paused')
  t.match(explanation, { wouldNotify: false, why: 'the receiver is paused after failed attempts' })
})

test('to explain changes nothing: the next change is notified or not as before', async (t) => {
  const quick = await subscribe({
    subject: { entities: [{ id: 'Lamp1' }] },
    notification: { http: { url: receiver.url('/lamp') } },
    throttling: 3600,
  })
  const lamps = () => receiver.received.filter(({ url }) => url === '/lamp').length
  await broker.send('PATCH', `/v2/subscriptions/${quick}`, { status: 'inactive' })
  await store({ id: 'Lamp1', type: 'Lamp', on: { type: 'Boolean', value: true } })
  const inactive = Object(await read(`/admin/subscriptions/${quick}/explain?entity=Lamp1`)).entities[0]
  t.match(inactive, { wouldNotify: false, why: 'not meant' })
  await broker.send('PATCH', `/v2/subscriptions/${quick}`, { status: 'active' })
  for (let times = 0; times < 3; times += 1) {
    const explanation = Object(await read(`/admin/subscriptions/${quick}/explain?entity=Lamp1`)).entities[0]
    t.match(explanation, { wouldNotify: true }, JSON.stringify(explanation))
  }
  t.equal(lamps(), 0)
  await store({ id: 'Lamp1', type: 'Lamp', on: { type: 'Boolean', value: false } })
  await until(() => lamps() !== 0)
  t.equal(lamps(), 1)
})

test('an entity that is not stored, and a subscription that there is not, are not found', async (t) => {
  const entity = await broker.send('GET', `/admin/subscriptions/${room}/explain?entity=None`)
  t.match(entity, { status: 404, json: { error: 'NotFound', description: /no such entity in the tenant/ } })
  const none = await broker.send('GET', '/admin/subscriptions/5718a2f1c0de00112233aabb/explain?entity=Room1')
  t.equal(none.status, 404)
  t.equal((await broker.send('DELETE', '/admin/subscriptions/5718a2f1c0de00112233aabb')).status, 404)
})

test('a subscription of any tenant is ended, and it is said what that costs, also in the log', async (t) => {
  receiver.respond = responding(500)
  const failing = await subscribe(
    { subject: { entities: [{ id: 'Pump1' }] }, notification: { http: { url: receiver.url('/pump') } } },
    { 'Fiware-Service': 'acme' },
  )
  const headers = { 'Fiware-Service': 'acme' }
  await broker.send('POST', '/v2/entities', { id: 'Pump1', type: 'Pump', on: { type: 'Number', value: 1 } }, headers)
  await until(async () => Object(await read(`/admin/subscriptions/${failing}`)).queueDepth > 0)
  await until(async () => (await idsOf('status=failed')).includes(failing))
  const ended = await broker.send('DELETE', `/admin/subscriptions/${failing}`)
  t.match(ended, { status: 200, json: { id: failing, dropped: 1 } })
  t.equal((await broker.send('GET', `/admin/subscriptions/${failing}`)).status, 404)
  await broker.writes(`subscription ${failing} ended`)
})

test('another web site, a foreign host and a request without the token get nothing', async (t) => {
  const site = { 'Sec-Fetch-Site': 'cross-site' }
  const paths = ['/admin/subscriptions?details=on', `/admin/subscriptions/${room}/explain?entity=Room1`]
  for (const path of paths) t.equal((await broker.send('GET', path, undefined, site)).status, 403, path)
  t.equal((await broker.send('DELETE', `/admin/subscriptions/${room}`, undefined, site)).status, 403)
  t.equal((await idsOf('limit=1'))[0], room, 'and nothing was done')
})
