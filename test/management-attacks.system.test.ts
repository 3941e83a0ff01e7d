import { networkInterfaces } from 'node:os'
import { type Test, test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

/** Subscribes a notification of a client to an operation of the management, and waits until the broker has tried to send it. */
async function attack(broker: RunningBroker, method: string, url: string): Promise<void> {
  const subscribed = await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ idPattern: '.*' }] },
    notification: { httpCustom: { url, method, payload: null } },
  })
  const location = subscribed.headers.get('location') ?? ''
  await broker.send('POST', '/v2/entities', { id: 'Kiln-1', heat: { value: 1, type: 'Number' } })
  await until(async () => (await broker.send('GET', location)).text.includes('"lastFailure"'))
}

async function victimOf(t: Test, broker: RunningBroker): Promise<string> {
  const subscribed = await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ id: 'Mill-7' }] },
    notification: { http: { url: 'http://127.0.0.1:9/' } },
  })
  t.equal(subscribed.status, 201)
  return (subscribed.headers.get('location') ?? '').split('/').at(-1) ?? ''
}

for (const isOnItsOwnPort of [false, true]) {
  const where = isOnItsOwnPort ? 'on a port of its own' : 'on the port of the context interface'
  test(`a notification removes no subscription by the management ${where}`, async (t) => {
    const adminPort = await freePort()
    const broker = await RunningBroker.start(t, isOnItsOwnPort ? ['-adminPort', `${adminPort}`] : [])
    const victim = await victimOf(t, broker)
    const port = isOnItsOwnPort ? adminPort : broker.port
    await attack(broker, 'DELETE', `http://localhost:${port}/admin/subscriptions/${victim}`)
    t.equal((await broker.send('GET', `/v2/subscriptions/${victim}`)).status, 200)
  })
}

test('a notification switches no traces on', async (t) => {
  const broker = await RunningBroker.start(t)
  await attack(broker, 'PUT', `http://127.0.0.1:${broker.port}/log/trace/0-255`)
  t.equal((await broker.send('GET', '/log/trace')).text, '{"tracelevels":"empty"}')
})

test('stored data is not given to other machines without a token', async (t) => {
  const broker = await RunningBroker.start(t)
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const outside = all.find(({ internal, family }) => !internal && family === 'IPv4')?.address
  t.equal((await broker.send('GET', '/admin/types')).status, 200)
  t.equal((await broker.send('GET', '/admin/types', undefined, { 'X-Forwarded-For': '10.0.0.9' })).status, 403)
  if (outside === undefined) return t.comment('this machine has no other address')
  for (const path of ['/admin/backup', '/admin/subscriptions', '/admin/config']) {
    t.equal((await fetch(`http://${outside}:${broker.port}${path}`)).status, 403, path)
  }
  t.equal((await fetch(`http://${outside}:${broker.port}/statistics`)).status, 200)
})
