import { test } from 'tap'
import { FarEnd } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

const broker = await RunningBroker.shared()

interface Attempt {
  readonly result: string
  readonly response?: string
}

async function made(path: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await broker.send('POST', path, body, headers)
  if (response.status >= 300) throw new Error(response.text)
  return response.headers.get('location')?.split('/').at(-1) ?? ''
}

function hasResponse({ response }: Attempt): boolean {
  return response !== undefined
}

/** The attempts of a subscription, once this holds of the last one. */
function attemptsOf(path: string, holds: (last: Attempt) => boolean): Promise<readonly Attempt[]> {
  return until(async () => {
    const { json } = await broker.send('GET', path)
    const attempts: readonly Attempt[] = Array.from(Object(json).attempts)
    return attempts[0] !== undefined && holds(attempts[0]) && attempts
  }, `${path}: ${holds}`)
}

test('of an attempt it is said what the receiver responded, without secrets and as text, or why there was no response', async (t) => {
  const token = 'S3cretOfTheClient'
  const receiver = await FarEnd.listen(t, ({ url, headers }, response) => {
    if (url.startsWith('/echo'))
      response.end(`/echo?token=S3cret&a=b http://user:pw@host ${headers['x-auth-token']} ${headers.authorization}`)
    else if (url === '/long') response.end('\u00fc'.repeat(200))
    else response.writeHead(410).end(Buffer.from([0x67, 0x6f, 0x6e, 0x65, 0xff, 0x1b]))
  })
  const closed = await FarEnd.listen(t)
  await closed.close()
  const subject = { entities: [{ id: 'Responded' }] }
  const subscribed = (notification: object) => made('/v2/subscriptions', { subject, notification })
  const headers = { Authorization: 'Bearer S3cret/OfTheSubscription' }
  const echo = await subscribed({ httpCustom: { url: receiver.url('/echo'), headers } })
  const long = await subscribed({ http: { url: receiver.url('/long') } })
  const binary = await subscribed({ http: { url: receiver.url('/binary') } })
  const none = await subscribed({ http: { url: closed.url() } })
  await made('/v2/entities', { id: 'Responded', n: { value: 1 } }, { 'X-Auth-Token': token })
  const ofOne = (id: string, holds: (last: Attempt) => boolean = hasResponse) =>
    attemptsOf(`/admin/subscriptions/${id}`, holds)
  t.match(await ofOne(echo), [
    { result: 'accepted', status: 200, response: '/echo?token=***&a=b http://***@host *** ***' },
  ])
  t.match(await ofOne(long), [{ status: 200, response: `${'\u00fc'.repeat(128)}(...)` }])
  t.match(await ofOne(binary), [{ result: 'refused', status: 410, response: 'gone\ufffd\ufffd' }])
  const [refused] = await ofOne(none, ({ result }) => result === 'trouble')
  t.match(refused, { result: 'trouble', reason: 'connection refused' })
  t.notOk('status' in Object(refused) || 'response' in Object(refused))
})

test('a subscription to registrations tells of its attempts as well', async (t) => {
  const receiver = await FarEnd.listen(t, (_, response) => response.end('noted'))
  const entities = [{ type: 'Near', isPattern: 'false', id: 'Near1' }]
  const subscribed = await broker.send('POST', '/v1/registry/subscribeContextAvailability', {
    ...{ entities, attributes: [], reference: receiver.url(), duration: 'P1D' },
  })
  const path = `/admin/availabilitySubscriptions/${Object(subscribed.json).subscriptionId}`
  const contextRegistrations = [{ entities, attributes: [], providingApplication: receiver.url('/v2') }]
  await broker.send('POST', '/v1/registry/registerContext', { contextRegistrations, duration: 'P1D' })
  t.match(await attemptsOf(path, hasResponse), [{ result: 'accepted', status: 200, response: 'noted' }])
})

test('an attempt on an event stream has neither a status nor a response', async (t) => {
  const subject = { entities: [{ id: 'Streamed' }] }
  const id = await made('/v2/subscriptions', { subject, notification: { http: { url: 'sse:' } } })
  const gone = new AbortController()
  t.teardown(() => gone.abort())
  await fetch(`http://127.0.0.1:${broker.port}/v2/subscriptions/${id}/events`, { signal: gone.signal })
  await made('/v2/entities', { id: 'Streamed', n: { value: 1 } })
  const [attempt] = await attemptsOf(`/admin/subscriptions/${id}`, ({ result }) => result === 'accepted')
  t.same(Object.keys(attempt ?? {}), ['at', 'duration_ms', 'result'])
})
