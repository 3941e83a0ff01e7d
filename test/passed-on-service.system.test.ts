import { test } from 'tap'
import { FarEnd } from './far-end.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

// A receiver that answers late, on a machine that stands still, is not sent to again.
const patient = ['-httpTimeout', '60000']

const vat = (heat: number) => ({ id: 'Vat-3', type: 'Vat', heat: { type: 'Number', value: heat } })

function services(receiver: FarEnd): readonly unknown[] {
  return receiver.received.map(({ headers }) => headers['fiware-service'])
}

function sentAs(broker: RunningBroker, service: string | undefined, method: string, path: string, body: unknown) {
  return broker.send(method, path, body, service === undefined ? {} : { 'fiware-service': service })
}

test('without -multiservice a notification carries the service of the update, also after a crash', async (t) => {
  const receiver = await FarEnd.listen(t)
  const broker = await RunningBroker.start(t, [...patient, '-notifRetryMin', '100'])
  const http = { url: receiver.url() }
  const subject = { entities: [{ idPattern: '.*', type: 'Vat' }] }
  await sentAs(broker, 'other', 'POST', '/v2/subscriptions', { subject, notification: { http } })
  await sentAs(broker, 'Farm7', 'POST', '/v2/entities', vat(1))
  await until(() => receiver.received.length === 1)
  await sentAs(broker, undefined, 'PATCH', '/v2/entities/Vat-3/attrs', { heat: { value: 2 } })
  await until(() => receiver.received.length === 2)
  receiver.respond = (_, response) => response.writeHead(503).end()
  await sentAs(broker, 'barn', 'PATCH', '/v2/entities/Vat-3/attrs', { heat: { value: 3 } })
  await until(() => receiver.received.length >= 3)
  await broker.end('SIGKILL')
  const before = receiver.received.length
  receiver.respond = (_, response) => response.writeHead(200).end()
  await broker.run()
  await until(() => receiver.bodies.slice(before).some((body) => body.includes('"value":3')))
  t.strictSame(services(receiver).slice(0, 2), ['farm7', undefined])
  const last = receiver.received.filter(({ body }) => body.includes('"value":3'))
  t.ok(
    last.length > 1 && last.every(({ headers }) => headers['fiware-service'] === 'barn'),
    'every attempt has the same',
  )
})

test('without -multiservice an initial notification carries the service of its subscription request', async (t) => {
  const receiver = await FarEnd.listen(t)
  const broker = await RunningBroker.start(t, patient)
  await broker.send('POST', '/v2/entities', vat(1))
  await sentAs(broker, 'Farm', 'POST', '/v1/subscribeContext', {
    entities: [{ type: 'Vat', isPattern: 'true', id: '.*' }],
    attributes: ['heat'],
    reference: receiver.url(),
    duration: 'P1M',
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['heat'] }],
  })
  await until(() => receiver.received.length === 1)
  t.strictSame(services(receiver), ['farm'])
})

test('without -multiservice an availability notification carries the service of what caused it', async (t) => {
  const receiver = await FarEnd.listen(t)
  const broker = await RunningBroker.start(t, patient)
  const entities = [{ type: 'Street', isPattern: 'false', id: 'Street-4' }]
  const register = (service: string, name: string) =>
    sentAs(broker, service, 'POST', '/v1/registry/registerContext', {
      contextRegistrations: [
        {
          entities,
          attributes: [{ name, type: 'any', isDomain: 'false' }],
          providingApplication: 'http://127.0.0.1:9/v1',
        },
      ],
      duration: 'P1M',
    })
  await register('north', 'noise')
  const subscription = { entities, duration: 'P1M', reference: receiver.url() }
  await sentAs(broker, 'South', 'POST', '/v1/registry/subscribeContextAvailability', subscription)
  await until(() => receiver.received.length === 1)
  await register('West', 'ozone')
  await until(() => receiver.received.length === 2)
  t.strictSame(services(receiver), ['south', 'west'])
})

test('without -multiservice templates know the service of the update', async (t) => {
  const receiver = await FarEnd.listen(t)
  const broker = await RunningBroker.start(t, patient)
  const httpCustom = { url: receiver.url(), json: { from: `\${service}` } }
  const subject = { entities: [{ idPattern: '.*', type: 'Vat' }] }
  await broker.send('POST', '/v2/subscriptions', { subject, notification: { httpCustom } })
  await sentAs(broker, 'Farm7', 'POST', '/v2/entities', vat(1))
  await until(() => receiver.received.length === 1)
  t.strictSame([receiver.bodies, services(receiver)], [['{"from":"farm7"}'], ['farm7']])
})

test('without -multiservice what is forwarded carries the service of the client, in both forms', async (t) => {
  const provider = await FarEnd.listen(t)
  const broker = await RunningBroker.start(t, patient)
  for (const legacyForwarding of [true, false]) {
    await sentAs(broker, 'other', 'POST', '/v2/registrations', {
      dataProvided: { entities: [{ id: `Street-${legacyForwarding}`, type: 'Street' }], attrs: ['noise'] },
      provider: { http: { url: `http://127.0.0.1:${provider.port}/p` }, legacyForwarding },
    })
    const path = `/v2/entities/Street-${legacyForwarding}/attrs?type=Street`
    await sentAs(broker, 'Farm7', 'PATCH', path, { noise: { value: 3 } })
    await sentAs(broker, undefined, 'GET', `/v2/entities/Street-${legacyForwarding}?type=Street`, undefined)
  }
  t.strictSame(services(provider), ['farm7', undefined, 'farm7', undefined])
})
