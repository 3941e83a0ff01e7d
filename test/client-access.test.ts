import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { t as root, test } from 'tap'
import { FarEnd, finalResponse } from './far-end.js'
import { brokerProgram } from './program.js'
import { type Reply, RunningBroker } from './running.js'
import { until } from './until.js'

/** What `rigel key` hands over to. */
const program = fileURLToPath(new URL('../src/runtime/commands/key-program.js', import.meta.url))
const folder = root.testdir()
const file = join(folder, 'keys')

function rigelKey(...words: readonly string[]): string {
  return execFileSync(process.execPath, [program, ...words], { encoding: 'utf8' }).trim()
}

const writer = rigelKey('writer', '--file', file)
const reader = rigelKey('reader', '--tenants', 'alpha,-', '--read', '--file', file)
const flags = [
  '-multiservice',
  '-httpThreads',
  '2',
  '-httpTimeout',
  '60000',
  '-logLevel',
  'INFO',
  '-rateLimit',
  'busy=1:3,alpha=100000',
]
const broker = await RunningBroker.startOn(root, join(folder, 'data'), [...flags, '-apiKeys', file, '-t', '245'])

const element = { id: 'Tank1', type: 'Tank', attributes: [{ name: 'level', type: 'Number', value: '1' }] }
const appends = { contextElements: [element], updateAction: 'APPEND' }
const query = { entities: [{ id: 'Tank1' }] }

function send(method: string, path: string, body: unknown, headers: Record<string, string>): Promise<Reply> {
  return broker.send(method, path, body, headers)
}

/** Sends a request often enough for both front ends to get some, on connections of their own; gives the statuses. */
async function statusesOf(headers: Record<string, string>): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>()
  for (let at = 0; at < 20; at += 1) {
    statuses.add((await send('GET', '/v2/entities', undefined, { ...headers, Connection: 'close' })).status)
  }
  return statuses
}

test('rigel key prints a key and the line that stands for it, which does not have the key in it', async (t) => {
  const [, key = '', line = ''] = /^key {3}([\w-]{43})\nline {2}(.*)$/.exec(rigelKey('third', '--tenants', 'a')) ?? []
  t.match(line, /^third sha256:[0-9a-f]{64} a write$/)
  t.notOk(line.includes(key))
  t.notOk(readFileSync(file, 'utf8').includes(writer))
  for (const wrong of [[], ['a b'], ['a', '--tenants', 'x-y'], ['a', 'b'], ['a', '--nothing']]) {
    t.equal(spawnSync(process.execPath, [program, ...wrong]).status, 2, wrong.join(' '))
  }
  const { status, stderr } = spawnSync(process.execPath, [program, 'a', '--file', '/nope/x'], { encoding: 'utf8' })
  t.equal(status, 1, 'what cannot be done')
  t.equal(stderr, 'rigel key: /nope/x: there is no such file or folder (ENOENT)\n')
  t.match(
    execFileSync(process.execPath, [brokerProgram, 'help', 'key'], { encoding: 'utf8' }),
    /^Usage: rigel key NAME/,
  )
})

test('without a key, or with one that is none, nothing is served but management, in the forms of both interfaces', async (t) => {
  const without: readonly Record<string, string>[] = [
    {},
    { 'X-Auth-Token': 'x' },
    { Authorization: `Bearer ${writer}x` },
    { Authorization: `Basic ${writer}` },
    { Authorization: '' },
  ]
  for (const headers of without) {
    const ngsi2 = await send('GET', '/v2/entities', undefined, headers)
    t.match(ngsi2, { status: 401, json: { error: 'Unauthorized', description: /^the request needs a valid key/ } })
    t.equal(ngsi2.headers.get('www-authenticate'), 'Bearer realm="context"')
    for (const path of ['/v1/updateContext', '/ngsi10/updateContext', '/nothing', '/ngsi9/registerContext']) {
      const ngsi1 = await send('POST', path, appends, headers)
      t.match(ngsi1, { status: 401, json: { orionError: { code: '401', details: /^the request needs a valid key/ } } })
    }
  }
  t.equal((await broker.send('GET', '/statistics')).status, 200)
  t.equal((await broker.send('OPTIONS', '/v2/entities')).status, 401)
})

test('whoever tries keys is seen in the log, and that the management is open to those without one', async (t) => {
  t.match(
    broker.output,
    /the management interface on port \d+ shows figures and takes trace levels from everybody, stored data/,
  )
  await broker.writes(/Raising alarm BadInput 127\.0\.0\.1: the request needs a valid key/)
  const { text: metrics } = await broker.send('GET', '/metrics')
  t.match(metrics, /^rigel_alarms_raised_total\{alarm="BadInput"\} 1$/m)
  t.match(metrics, /^rigel_http_rejected_total\{reason="unauthorized"\} [1-9]/m)
})

test('no form of a path, of a verb or of a key gets past the check', async (t) => {
  const forms = [
    ...[
      '/v2/entities',
      '/v2/entities/',
      '//v2/entities',
      '/v2//entities',
      '/%76%32/entities',
      '/V2/entities',
      '/v2%2Fentities',
    ],
    ...[
      '/./v2/entities',
      '/v2/./entities',
      '/version/../v2/entities',
      '/health/..%2f..%2fv2/entities',
      '/v2/entities?options=count',
    ],
    ...[
      `/v2/entities?token=${writer}`,
      `/v2/entities?X-Auth-Token=${writer}`,
      '/V1/contextEntities/Tank1',
      '/NGSI10/contextEntities/Tank1',
    ],
    ...['/v1/%61dmin/../contextEntities/Tank1', '/admin/../v2/entities', '/metrics/../v2/entities', '/nothing', '/'],
    ...[`http://127.0.0.1:${broker.port}/v2/entities`, `http://${writer}@127.0.0.1/v2/entities`],
  ]
  for (const verb of ['GET', 'HEAD', 'OPTIONS', 'POST', 'TRACE']) {
    for (const form of forms) {
      const status = await statusOf(verb, form, '')
      t.ok(status >= 400 && status < 500, `${verb} ${form}: ${status}`)
    }
  }
  const [colon, token] = [`X-Auth-Token: ${writer}`, `AUTHORIZATION: BEARER   ${writer}`]
  t.equal(
    await statusOf('GET', '/v2/entities', `${colon.toUpperCase().replace(writer.toUpperCase(), writer)}\r\n`),
    200,
  )
  t.equal(await statusOf('GET', '/v2/entities', `${token}\r\n`), 200)
  for (const wrong of [`X-Auth-Token : ${writer}`, `Cookie: X-Auth-Token=${writer}`, `X_Auth_Token: ${writer}`]) {
    const status = await statusOf('GET', '/v2/entities', `${wrong}\r\n`)
    t.ok(status >= 400 && status < 500, `${wrong}: ${status}`)
  }
})

/** The status of a request that is sent as it stands here. */
async function statusOf(verb: string, target: string, headers: string): Promise<number> {
  const socket = connect(broker.port, '127.0.0.1')
  socket.end(`${verb} ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Connection: close\r\n\r\n`)
  return Number(/^HTTP\/1\.1 (\d+)/.exec(finalResponse(await text(socket)))?.[1])
}

test('a key opens what its line says: tenants, reading, writing', async (t) => {
  const status = async (method: string, path: string, key: string, tenant = '', body?: unknown) => {
    const headers = { 'X-Auth-Token': key, ...(tenant !== '' && { 'Fiware-Service': tenant }) }
    return (await send(method, path, body, headers)).status
  }
  t.equal(await status('POST', '/v1/updateContext', writer, 'alpha', appends), 200)
  t.equal(await status('POST', '/v2/entities', writer, 'beta', { id: 'B', type: 'T' }), 201)
  t.equal(await status('GET', '/v2/entities/Tank1', reader, 'Alpha'), 200)
  t.equal(await status('GET', '/v2/entities', reader), 200)
  t.equal(await status('POST', '/v1/queryContext', reader, 'alpha', query), 200)
  t.equal(await status('POST', '/v1/registry/discoverContextAvailability', reader, 'alpha', query), 200)
  t.equal(await status('POST', '/v2/op/query', reader, 'alpha', query), 200)
  t.equal(await status('GET', '/v2/subscriptions', reader, 'alpha'), 200)
  const response = await send('GET', '/v2/entities', undefined, { 'X-Auth-Token': reader, 'Fiware-Service': 'beta' })
  t.match(response, { status: 403, json: { error: 'Forbidden', description: 'this key is for other tenants' } })
  t.equal(await status('GET', '/v2/entities', reader, 'a-b'), 403)
  const writes: readonly [string, string, unknown][] = [
    ['POST', '/v1/updateContext', appends],
    ['POST', '/v1/contextEntities', element],
    ['POST', '/v1/subscribeContext', {}],
    ['POST', '/v1/notifyContext', {}],
    ['POST', '/v1/registry/registerContext', {}],
    ['DELETE', '/v1/contextEntities/Tank1', undefined],
    ['POST', '/v2/op/update', {}],
    ['POST', '/v2/subscriptions', {}],
    ['PUT', '/v2/entities/Tank1/attrs/level/value', 5],
  ]
  for (const [method, path, body] of writes) t.equal(await status(method, path, reader, 'alpha', body), 403, path)
  const ngsi1 = await send('POST', '/v1/updateContext', appends, { Authorization: `bearer ${reader}` })
  t.match(ngsi1, {
    status: 403,
    json: { orionError: { code: '403', reasonPhrase: 'Forbidden', details: 'this key is for reading' } },
  })
  t.equal(await status('PATCH', '/v1/updateContext', reader, 'alpha', appends), 405)
})

test('a key reaches no receiver; a token of the client beside it does', async (t) => {
  const end = await FarEnd.listen(t)
  const subscription = {
    subject: { entities: [{ idPattern: '.*' }] },
    notification: { http: { url: end.url() } },
  }
  const tenant = { 'Fiware-Service': 'told' }
  const auth = { Authorization: `Bearer ${writer}` }
  t.equal((await send('POST', '/v2/subscriptions', subscription, { ...tenant, ...auth })).status, 201)
  const sent: readonly Record<string, string>[] = [
    { 'X-Auth-Token': writer },
    { ...auth, 'X-Auth-Token': reader },
    { ...auth, 'X-Auth-Token': `x, ${reader}` },
    { ...auth, 'X-Auth-Token': 'of-the-receiver' },
  ]
  for (const [at, headers] of sent.entries()) {
    const changed = { ...element, attributes: [{ name: 'level', type: 'Number', value: String(at) }] }
    const body = { contextElements: [changed], updateAction: 'APPEND' }
    t.equal((await send('POST', '/v1/updateContext', body, { ...headers, ...tenant })).status, 200)
    await until(() => end.received.length > at)
  }
  t.same(
    end.received.map(({ headers }) => headers['x-auth-token']),
    [undefined, undefined, undefined, 'of-the-receiver'],
  )
})

test('a tenant that sends more than it may gets 429 until it has paused, others do not, and it is counted', async (t) => {
  const busy = { 'X-Auth-Token': writer, 'Fiware-Service': 'Busy' }
  const sent = Array.from({ length: 12 }, () =>
    send('GET', '/v2/entities', undefined, { ...busy, Connection: 'close' }),
  )
  const began_ms = performance.now()
  const refusals = (await Promise.all(sent)).filter(({ status }) => status === 429)
  const [served, passed_s] = [sent.length - refusals.length, (performance.now() - began_ms) / 1000]
  t.ok(served >= 3 && served <= 4 + passed_s, `${served} are served in ${passed_s} s: 3 at once, and one each second`)
  const last = refusals.at(-1)
  t.match(last?.json, { error: 'TooManyRequests', description: 'this tenant sends more requests than it may' })
  t.equal(last?.headers.get('retry-after'), '1')
  const ngsi1 = await until(async () => {
    const reply = await send('POST', '/v1/queryContext', query, busy)
    return reply.status === 429 && reply
  }, 'NGSIv1 refuses as well')
  t.match(ngsi1, { status: 429, json: { orionError: { code: '429', reasonPhrase: 'Too Many Requests' } } })
  t.equal((await send('GET', '/v2/entities', undefined, { 'X-Auth-Token': writer })).status, 200)
  const metrics = (await broker.send('GET', '/metrics')).text
  const [, counted] = /^rigel_http_rejected_total\{reason="rate_limit"\} (\d+)$/m.exec(metrics) ?? []
  t.equal(Number(counted), refusals.length + 1)
  t.match(metrics, /^rigel_http_rejected_total\{reason="forbidden"\} 1\d$/m)
  await broker.writes(/1 request was refused \(tenant busy\): the tenant sends more than -rateLimit allows/)
  await until(async () => (await send('GET', '/v2/entities', undefined, busy)).status !== 429)
})

test('SIGHUP brings the file into force in all threads; a file with a mistake changes nothing', async (t) => {
  const before = readFileSync(file, 'utf8')
  const third = rigelKey('third', '--file', file)
  t.same([...(await statusesOf({ 'X-Auth-Token': third }))], [401])
  broker.signal('SIGHUP')
  await broker.writes('3 keys of clients were read again')
  await until(async () => !(await statusesOf({ 'X-Auth-Token': third })).has(401))
  writeFileSync(file, `${before}\nnonsense\n`)
  broker.signal('SIGHUP')
  await broker.writes('the keys of clients stay as they were')
  t.match(broker.output, /keys:\d+: the line must be: name sha256:/)
  t.same([...(await statusesOf({ 'X-Auth-Token': third }))], [200])
  writeFileSync(file, before)
  broker.signal('SIGHUP')
  await broker.writes('2 keys of clients were read again')
  await until(async () => !(await statusesOf({ 'X-Auth-Token': third })).has(200))
  t.same([...(await statusesOf({ 'X-Auth-Token': writer }))], [200])
})

test('the log names keys, and never shows one', async (t) => {
  await send('GET', '/v2/entities', undefined, { 'X-Auth-Token': writer })
  await broker.writes(/"key":"writer"/)
  await broker.writes(/key reader/)
  for (const key of [writer, reader]) t.notOk(broker.output.includes(key))
})

test('a file that cannot be used ends the start with 4 and a line that names it', async (t) => {
  const place = t.testdir()
  const wrong = join(place, 'wrong')
  writeFileSync(wrong, '# nobody\nx y z\n')
  await t.rejects(RunningBroker.startOn(t, join(place, 'data'), ['-apiKeys', wrong]), {
    message: /ended with 4.*wrong:2: the line must be: name sha256/s,
  })
})
