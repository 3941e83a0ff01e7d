import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { FarEnd, responding } from './far-end.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

/** In everything that is secret. */
const mark = 'S3cret'
const adminToken = `${mark}-management-token`
const headers = {
  'X-Auth-Token': `${mark}-auth`,
  Authorization: `Bearer ${mark}-bearer`,
  Cookie: `session=${mark}-cookie`,
  'Proxy-Authorization': `Basic ${mark}-proxy`,
}
const admin = { Authorization: `Bearer ${adminToken}` }

const road = { type: 'Road', isPattern: 'false', id: 'Road-1' }

function registration(providingApplication: string, name: string) {
  return {
    contextRegistrations: [{ entities: [road], attributes: [{ name }], providingApplication }],
    duration: 'P1M',
  }
}

test('no secret appears in a line at any level, in a metric, or in what management answers', async (t) => {
  const provider = await FarEnd.listen(t, responding(200))
  const receiver = await FarEnd.listen(t, responding(404))
  const flags = ['-logLevel', 'DEBUG', '-t', '0-255', '-verbose', '5', '-logSummary', '1', '-relogAlarms']
  const broker = await RunningBroker.start(t, [...flags, '-adminToken', adminToken])
  const send = (path: string, body?: unknown) =>
    broker.send(body === undefined ? 'GET' : 'POST', path, body, headers).then(({ text }) => text)
  const responses: string[] = []

  const user = `http://${mark}-user:${mark}-p%40ss@127.0.0.1:`
  t.match(
    await send('/v1/registry/registerContext', registration(`${user}${provider.port}/v1`, 'noise')),
    'registrationId',
  )
  const escaped = JSON.stringify(registration(`${user}1/v1`, 'ozone')).replaceAll('/', '\\/')
  t.match(await send('/v1/registry/registerContext', escaped), 'registrationId')
  for (const odd of [
    `http:${mark}:${mark}@127.0.0.1:1/v1`,
    `http:\\\\${mark}:${mark}@127.0.0.1:1`,
    `http://${mark} a:${mark}@host/v1`,
    `ftp://${mark}:${mark}@host:99999999/v1`,
  ])
    t.match(await send('/v1/registry/registerContext', registration(odd, 'odd')), 'registrationId')
  for (const name of ['noise', 'ozone', 'odd']) {
    responses.push(await send('/v1/queryContext', { entities: [road], attributes: [name] }))
    const contextElements = [{ ...road, attributes: [{ name, type: '', value: '1' }] }]
    responses.push(await send('/v1/updateContext', { contextElements, updateAction: 'UPDATE' }))
  }
  t.match(provider.received[0]?.headers, {
    authorization: `Basic ${Buffer.from(`${mark}-user:${mark}-p@ss`).toString('base64')}`,
    'x-auth-token': headers['X-Auth-Token'],
  })

  const subscription = { entities: [road], reference: receiver.url(), duration: 'P1M' }
  t.match(await send('/v1/subscribeContext', subscription), 'subscribeResponse')
  const response = await send('/v1/subscribeContext', { ...subscription, reference: `${user}1/` })
  t.match(response, 'Invalid URL')
  const contextElements = [{ ...road, attributes: [{ name: 'lamp', type: '', value: 'on' }] }]
  responses.push(response, await send('/v1/updateContext', { contextElements, updateAction: 'APPEND' }))
  for (const wrong of [
    `{"reference":"${user}1/`,
    { ...subscription, colour: `${user}1/` },
    { ...subscription, duration: `${user}1/?token%3D1` },
    `"${user}1/?password=${mark}" `.padEnd(6000, 'x'),
    `{"a":"${'x'.repeat(5090)}http://${mark}:${mark}${mark}${mark}@h"}`,
  ])
    responses.push(await send('/v1/subscribeContext', wrong))
  for (const query of [
    `token=${mark}`,
    `x=1&ACCESS_TOKEN=${mark}`,
    `%61pikey=${mark}&api_key=${mark}`,
    `password=${mark}`,
  ])
    responses.push(await send(`/v1/contextEntities/Road-1?${query}`), await send(`/nothing?${query}`))
  for (const path of ['/statistics', '/log/trace']) responses.push(await send(path))

  await until(() => receiver.received.length !== 0)
  t.equal(receiver.received[0]?.headers['x-auth-token'], headers['X-Auth-Token'], 'the receiver gets the token')
  await delay(1200) // A summary.
  const paths = [
    '/statistics',
    '/admin/metrics',
    '/metrics',
    '/admin/subscriptions',
    '/admin/availabilitySubscriptions',
  ]
  for (const path of [...paths, '/cache/statistics', '/version', '/admin/log', '/health/ready'])
    responses.push((await broker.send('GET', path, undefined, admin)).text)
  await broker.end('SIGTERM')
  for (const response of responses) t.notMatch(response, mark)
  const lines = broker.output.split('\n')
  t.ok(lines.length > 500, `${lines.length} lines were written`)
  const found = lines.filter(
    (line) => line.includes(mark) || line.includes(Buffer.from(mark).toString('base64').slice(0, 7)),
  )
  t.same(
    found.map((line) => line.slice(0, 600)),
    [],
  )
  await broker.writes('Raising alarm ForwardingError http://***@127.0.0.1:1/v1')
})
