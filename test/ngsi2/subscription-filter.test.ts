import { t as root, test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

const broker = await RunningBroker.tenant()
const end = await FarEnd.listen(root, responding(200))
const other = 'http://other.example:8080/inbox'

async function subscribed(entities: readonly object[], more: object = {}, url = other, attrs: readonly string[] = []) {
  const subject = { entities, condition: { attrs } }
  const body = { subject, notification: { http: { url } }, ...more }
  const response = await broker.send('POST', '/v2/subscriptions', body)
  root.equal(response.status, 201, response.text)
  return response.headers.get('location')?.split('/').at(-1) ?? ''
}

const vat = await subscribed([{ id: 'Vat1', type: 'Vat' }], {}, other, ['heat'])
const vats = await subscribed(
  [{ idPattern: '^Vat[0-9]+$', typePattern: '^V' }],
  { status: 'inactive' },
  end.url('/in/1'),
)
const all = await subscribed([{ idPattern: '.*' }], {}, end.url('/in/2'), ['level', 'heat'])
const two = await subscribed([{ id: 'Vat2', type: 'Tank' }, { id: 'Lamp1' }], {}, 'http://third.example/in')
const once = await subscribed([{ id: 'Once1', type: 'Once' }], { status: 'oneshot' }, end.url('/once'), ['on'])
// Once -subscriptionGrace is over as well, the broker removes it within a minute.
const yesterday = new Date(Date.now() - 86_400_000).toISOString()
const late = await subscribed([{ id: 'Late1', type: 'Late' }], { expires: yesterday }, other, ['x'])

const old = await broker.send('POST', '/v1/subscribeContext', {
  ...{ entities: [{ id: 'Old.*', isPattern: 'true', type: 'Vat' }], reference: other, duration: 'P1M' },
  notifyConditions: [{ type: 'ONCHANGE', condValues: ['heat'] }],
})
const ofOld = String(Object(old.json).subscribeResponse.subscriptionId)

async function found(query: string): Promise<readonly string[]> {
  const { json } = await broker.send('GET', `/v2/subscriptions?${query}`)
  return Array.from(Object(json), (each) => String(Object(each).id))
}

test('subscriptions are found by the beginning of the URL of their receiver', async (t) => {
  t.same(await found(`url=${encodeURIComponent(end.url('/in'))}`), [vats, all])
  t.same(await found(`url=${encodeURIComponent(end.url('/in/2'))}`), [all])
  t.same(await found(`url=${encodeURIComponent('http://third')}`), [two])
  t.same(await found('url=other.example'), [])
})

test('subscriptions are found by the entities that they mean', async (t) => {
  t.same(await found('entity=Vat1'), [vat, vats, all])
  t.same(await found('entity=Vat1x'), [all])
  t.same(await found('entity=Lamp1'), [all, two])
  t.same(await found('entity=Older'), [all, ofOld])
  t.same(await found('type=Vat'), [vat, vats, all, two, ofOld])
  t.same(await found('type=Tank'), [all, two])
  t.same(await found('entity=Vat2&type=Tank'), [all, two])
  t.same(await found('entity=Lamp1&type=Tank'), [all, two], 'of any type')
  t.same(await found('entity=Vat2&type=Vat'), [vats, all], 'one selector means both')
})

test('subscriptions are found by the attributes that trigger them', async (t) => {
  t.same(await found('attrs=heat'), [vat, vats, all, two, ofOld])
  t.same(await found('attrs=level,on'), [vats, all, two, once])
  t.same(await found('attrs=none'), [vats, two])
})

test('subscriptions are found by the status that is shown', async (t) => {
  t.same(await found('status=active'), [vat, all, two, ofOld])
  t.same(await found('status=oneshot'), [once])
  t.same(await found('status=inactive'), [vats])
  t.same(await found('status=expired'), [late])
  await broker.send('POST', '/v2/entities', { id: 'Once1', type: 'Once', on: { value: 1 } })
  await until(async () => (await found('status=inactive')).length === 2)
  t.same(await found('status=inactive'), [vats, once], 'a oneshot that has fired')
  t.same(await found('status=oneshot'), [])
})

test('all filters have to fit, and pages and counts are of what is found', async (t) => {
  t.same(await found(`entity=Vat1&attrs=level&url=${encodeURIComponent(end.url('/'))}`), [vats, all])
  t.same(await found('entity=Vat1&status=active&attrs=level'), [all])
  const page = await broker.send('GET', '/v2/subscriptions?entity=Vat1&limit=1&offset=1&options=count')
  t.equal(page.headers.get('fiware-total-count'), '3')
  t.match(page.json, [{ id: vats }])
  t.equal(Object(page.json).length, 1)
  t.same(await found('entity=Vat1&offset=3'), [])
  t.same(await found('unknown=1&limit=2'), [vat, vats], 'without a filter all are listed')
  const elsewhere = await broker.send('GET', '/v2/subscriptions?entity=Vat1', undefined, { 'Fiware-Service': 'acme' })
  t.same(elsewhere.json, [])
})

test('wrong values are refused', async (t) => {
  for (const [query, description] of [
    ['status=failed', 'Bad subscription status: /failed/ [must be one of active, inactive, oneshot, expired]'],
    ['status=', 'Empty right-hand-side for URI param /status/'],
    [`entity=${'x'.repeat(257)}`, 'entity id length: 257, max length supported: 256'],
    ['entity=a%20b', 'Invalid characters in entity id'],
    ['type=a%23', 'Invalid characters in entity type'],
    ['attrs=a,,b', 'attribute name length: 0, min length supported: 1'],
    ['url=http://a%3Db', 'invalid character in URI parameter'],
  ] as const) {
    const response = await broker.send('GET', `/v2/subscriptions?${query}`)
    t.match(response, { status: 400, json: { error: 'BadRequest', description } }, query)
  }
})

test('what is found is bound to the service path', async (t) => {
  const path = { 'Fiware-ServicePath': '/west' }
  const subject = { entities: [{ id: 'Vat1' }] }
  await broker.send('POST', '/v2/subscriptions', { subject, notification: { http: { url: other } } }, path)
  const { headers, json } = await broker.send('GET', '/v2/subscriptions?entity=Vat1&options=count', undefined, path)
  t.equal(headers.get('fiware-total-count'), '1')
  t.match(json, [{ subject }])
})
