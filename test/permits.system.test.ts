import { writeFileSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { makeApiKey } from '../src/flags/api-keys.js'
import { FarEnd } from './far-end.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'
import { applyAtOnce, holdWriteLock } from './write-lock.js'

/** Long enough for hundreds of scans to take many times as long as what must not wait for them. */
const entities = 15_000
const scans = 300
const long = { entities: [{ id: '.*', isPattern: 'true' }], attributes: ['nowhere'] }

async function filled(broker: RunningBroker): Promise<void> {
  for (let first = 0; first < entities; first += 1000) {
    const elements = Array.from({ length: 1000 }, (_, at) => ({
      type: 'Silo',
      isPattern: 'false',
      id: `Silo-${first + at}`,
    }))
    const { status } = await broker.update('APPEND', ...elements)
    if (status !== 200) throw new Error(`the broker was not filled: ${status}`)
  }
}

/** Requests that the test waits for, each on a connection of its own, and how they stand. */
class Requests {
  readonly statuses: number[] = []
  readonly retryAfter: (string | undefined)[] = []
  open = 0
  readonly #requests: ClientRequest[] = []
  #scansFrom: RunningBroker | undefined

  /** Scans of all entities until `destroy`: each that is answered is sent again, however fast it was. */
  keepScanning(broker: RunningBroker): void {
    this.#scansFrom = broker
    for (let at = 0; at < scans; at += 1) this.send(broker, '/v1/queryContext', long)
  }

  send(broker: RunningBroker, path: string, body: unknown): void {
    const text = JSON.stringify(body)
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
    const sent = request(`${broker.url}${path}`, { method: 'POST', headers, agent: false })
    this.#requests.push(sent)
    this.open += 1
    let hasResponse = false
    sent.on('close', () => {
      this.open -= 1
      if (hasResponse && this.#scansFrom !== undefined && body === long) this.send(this.#scansFrom, path, body)
    })
    sent.on('error', () => {})
    sent.on('response', (response) => {
      hasResponse = true
      this.statuses.push(response.statusCode ?? 0)
      this.retryAfter.push(response.headers['retry-after'])
      response.resume()
    })
    sent.end(text)
  }

  async allOver(): Promise<void> {
    await until(() => this.open <= 0)
  }

  destroy(): void {
    this.#scansFrom = undefined
    for (const sent of this.#requests) sent.destroy()
  }
}

/** So many are under way as the broker sees it. */
async function inFlight(broker: RunningBroker, count: number): Promise<void> {
  await until(async () => {
    const { text } = await broker.send('GET', '/metrics')
    return Number(/^rigel_http_requests_in_flight (\d+)/m.exec(text)?.[1]) >= count
  }, `${count} requests in flight`)
}

async function provided(t: Test, broker: RunningBroker, id = 'Far-1'): Promise<FarEnd> {
  const provider = await FarEnd.listen(t, () => {}) // It takes requests and never answers.
  const { status } = await broker.send('POST', '/v1/registry/registerContext', {
    contextRegistrations: [
      {
        entities: [{ type: 'Silo', isPattern: 'false', id }],
        attributes: [{ name: 'level', type: '', isDomain: 'false' }],
        providingApplication: provider.url('/v1'),
      },
    ],
  })
  t.equal(status, 200)
  return provider
}

const level = (id: string, value = '1') => ({
  type: 'Silo',
  isPattern: 'false',
  id,
  attributes: [{ name: 'level', type: 'n', value }],
})

test('scans hold up neither updates, nor reads of one id, nor short pages, and end when their clients go', async (t) => {
  // Nobody is refused for having waited long: a slow machine takes its time.
  const broker = await RunningBroker.start(t, ['-reqPoolSize', '4', '-reqMaxWait', '0'])
  await filled(broker)
  const under = new Requests()
  under.keepScanning(broker)
  await inFlight(broker, scans / 2)
  t.equal((await broker.update('APPEND', level('Silo-1'))).status, 200)
  t.equal((await broker.send('GET', '/v1/contextEntities/Silo-1')).status, 200)
  t.equal((await broker.send('GET', '/v1/contextEntities?limit=1')).status, 200)
  t.ok(under.open > scans / 3, `${under.open} scans are still under way`)
  const waiting = under.open
  under.destroy()
  const scanned_ms = async () => {
    const began_ms = broker.worked_ms
    t.match((await broker.send('POST', '/v1/queryContext', long)).json, { errorCode: { code: '404' } })
    return broker.worked_ms - began_ms
  }
  const one = await scanned_ms()
  await broker.becomesIdle()
  const alone = await scanned_ms()
  // That a client has gone is found out within two looks at the connections, a second apart.
  t.ok(
    one < 2500 * availableParallelism() + alone * (waiting / 2),
    `work on one after the others: ${one} ms, on one alone: ${alone} ms, others: ${waiting}`,
  )
})

test('a query that is not done in its time is 503, and says when to come back', async (t) => {
  const broker = await RunningBroker.start(t, ['-queryTimeout', '1'])
  await filled(broker)
  const { status, headers, text } = await broker.send('POST', '/v1/queryContext', long)
  t.equal(status, 503)
  t.match(text, /the query took too long/)
  t.equal(headers.get('Retry-After'), '10')
  t.equal((await broker.send('GET', '/v1/contextEntities/Silo-1')).status, 200)
})

test('a provider that hangs holds up only what it is asked for, and no more of that than may wait', async (t) => {
  const broker = await RunningBroker.start(t, [
    '-reqPoolSize',
    '4',
    '-forwardMax',
    '20',
    '-forwardPerProvider',
    '20',
    '-httpTimeout',
    '600000',
  ])
  const provider = await provided(t, broker)
  const query = { entities: [{ type: 'Silo', id: 'Far-1' }] }
  const under = new Requests()
  t.teardown(() => under.destroy())
  for (let at = 0; at < 20; at += 1) under.send(broker, '/v1/queryContext', query)
  await until(() => provider.received.length >= 20)
  t.equal((await broker.update('APPEND', level('Silo-1'))).status, 200)
  t.equal((await broker.send('GET', '/v1/contextEntities/Silo-1')).status, 200)
  const beyond = await broker.send('POST', '/v1/queryContext', query)
  t.equal(beyond.status, 503)
  t.match(beyond.text, /too many requests wait for context providers/)
  t.equal(beyond.headers.get('Retry-After'), '1')
  t.equal((await broker.update('UPDATE', level('Far-1'))).status, 503)
  const partly = await broker.update('UPDATE', level('Silo-1'), level('Far-1'))
  t.equal(partly.status, 200, 'what is done here is answered')
  t.match(partly.json, { contextResponses: [{ statusCode: { code: '200' } }, { statusCode: { code: '404' } }] })
  provider.respond = (_, response) => response.end('{"errorCode":{"code":"404","reasonPhrase":"none"}}')
  t.equal(under.open, 20)
})

test('a provider that hangs leaves others half of what may wait, and gives its room back', async (t) => {
  const broker = await RunningBroker.start(t, ['-forwardMax', '20', '-httpThreads', '2', '-httpTimeout', '600000'])
  const [hanging, other] = [await provided(t, broker, 'Far-1'), await provided(t, broker, 'Far-2')]
  const none = '{"errorCode":{"code":"404","reasonPhrase":"none"}}'
  other.respond = (_, response) => response.end(none)
  const queryOf = (...ids: readonly string[]) => ({ entities: ids.map((id) => ({ type: 'Silo', id })) })
  const under = new Requests()
  t.teardown(() => under.destroy())
  // Whoever waits for one of two does not wait for the other one any more.
  for (let at = 0; at < 10; at += 1) under.send(broker, '/v1/queryContext', queryOf('Far-1', 'Far-2'))
  await until(() => !(hanging.received.length < 10 || other.received.length < 10))
  for (const ids of [['Far-1'], ['Far-2', 'Far-1']]) {
    const beyond = await broker.send('POST', '/v1/queryContext', queryOf(...ids))
    t.equal(beyond.status, 503)
    t.match(beyond.json, { orionError: { details: `too many requests wait for context provider ${hanging.url('')}` } })
    t.equal(beyond.headers.get('Retry-After'), '1')
  }
  for (let at = 0; at < 20; at += 1)
    t.equal((await broker.send('POST', '/v1/queryContext', queryOf('Far-2'))).status, 200)
  t.equal(hanging.received.length, 10)
  under.destroy()
  await under.allOver()
  hanging.respond = (_, response) => response.end(none)
  const status = async () => (await broker.send('POST', '/v1/queryContext', queryOf('Far-1'))).status
  await until(async () => (await status()) !== 503, 'there is a permit again')
  t.equal(await status(), 200)
})

test('an orderly end is over at its limit, whatever is under way', async (t) => {
  const flags = ['-shutdownTimeout', '1', '-httpTimeout', '600000', '-logLevel', 'WARN']
  const broker = await RunningBroker.start(t, flags)
  await filled(broker)
  const provider = await provided(t, broker)
  const receiver = await FarEnd.listen(t, () => {}) // Nor does this one.
  const subscription = {
    entities: [{ type: 'Silo', isPattern: 'false', id: 'Silo-1' }],
    reference: receiver.url(),
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['level'] }],
  }
  t.equal((await broker.send('POST', '/v1/subscribeContext', subscription)).status, 200)
  t.equal((await broker.update('APPEND', level('Silo-1'))).status, 200)
  const under = new Requests()
  under.send(broker, '/v1/queryContext', { entities: [{ type: 'Silo', id: 'Far-1' }] })
  under.keepScanning(broker)
  await inFlight(broker, scans / 2)
  await until(() => !(provider.received.length < 1 || receiver.received.length < 1))
  await broker.endsInOrder(t)
  under.destroy()
  // On a busy machine turns of partitions may be under way as well.
  const given = /given up at the end of -shutdownTimeout: ([^"]+)"/.exec(broker.output)?.[1]
  t.match(given, /^\d+ requests/)
  const last = broker.output.trim().split('\n').at(-1) ?? ''
  t.match(JSON.parse(last), { op: 'main:stop', msg: `ended, not in order: ${given} given up` })
})

test('not even a turn that does not end keeps the process from its end', async (t) => {
  const broker = await RunningBroker.start(t, ['-shutdownTimeout', '1', '-partitions', '1'])
  t.equal((await broker.update('APPEND', level('Silo-1'))).status, 200)
  await applyAtOnce(broker)
  await holdWriteLock(t, join(broker.folder, 'partition-0'))
  const under = new Requests()
  under.send(broker, '/v1/updateContext', { contextElements: [level('Silo-1', '2')], updateAction: 'APPEND' })
  await inFlight(broker, 2)
  await broker.end('SIGTERM')
  const last = broker.output.trim().split('\n').at(-1) ?? ''
  t.match(JSON.parse(last), {
    op: 'main:stop',
    msg: 'ended, not in order: 1 request given up; a thread does not end, so the process kills itself',
  })
  await under.allOver()
  t.same(under.statuses, [])
})

test('a partition that stands still refuses what comes at once, answers what it has, and goes on', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-reqPoolSize', '4', '-reqMaxWait', '200'])
  t.equal((await broker.update('APPEND', level('Silo-1'))).status, 200)
  await applyAtOnce(broker)
  const lock = await holdWriteLock(t, join(broker.folder, 'partition-0'))
  const under = new Requests()
  // What changes nothing has nothing to write, and would not wait.
  const body = { contextElements: [level('Silo-1', '2')], updateAction: 'UPDATE' }
  for (let at = 0; at < 4; at += 1) under.send(broker, '/v1/updateContext', body)
  await inFlight(broker, 5) // With the request that asks.
  const began_ms = performance.now()
  const late = new Requests()
  for (let at = 0; at < 20; at += 1) late.send(broker, '/v1/updateContext', body)
  await late.allOver()
  t.same(new Set(late.statuses), new Set([503]))
  t.same(new Set(late.retryAfter), new Set(['1']))
  t.equal(under.open, 4)
  const atOnce = await broker.update('UPDATE', level('Silo-1'))
  t.match(atOnce, { status: 503, text: /too many requests are waiting/ })
  t.equal((await broker.send('GET', '/version')).status, 200, 'management needs no permit')
  const { text } = await broker.send('GET', '/metrics')
  t.match(text, /rigel_http_rejected_total\{reason="overload"\} 21/)
  await broker.writes('refused: more requests arrive than the broker can carry out')
  const passed_s = (performance.now() - began_ms) / 1000
  const lines = broker.output.match(/refused: more requests arrive than the broker can carry out/g)?.length ?? 0
  t.ok(lines <= 1 + passed_s / 10, `${lines} lines in ${passed_s} s: one in ten seconds`)
  await lock.release()
  await under.allOver()
  t.same(under.statuses, [200, 200, 200, 200])
  // A front end may still have those in its queue that it has refused.
  await until(async () => (await broker.update('UPDATE', level('Silo-1'))).status === 200, 'it goes on')
  for (let at = 0; at < 20; at += 1) t.equal((await broker.update('UPDATE', level('Silo-1'))).status, 200)
})

test('whoever has no key gets 401 under overload too, and a tenant that sends too much gets 429', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'keys')
  const { key, line } = makeApiKey('gate', 'alpha,busy', true)
  writeFileSync(file, `${line}\n`)
  const flags = ['-partitions', '1', '-reqPoolSize', '4', '-reqMaxWait', '200', '-multiservice', '-apiKeys', file]
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), [...flags, '-rateLimit', 'busy=1:2'])
  let value = 0
  const update = (headers: Record<string, string>) => {
    value += 1
    const silo = { id: 'Silo-1', type: 'Silo', level: { value } }
    return broker.send('POST', '/v2/entities?options=upsert', silo, headers)
  }
  const alpha = { 'X-Auth-Token': key, 'Fiware-Service': 'alpha' }
  const busy = { 'X-Auth-Token': key, 'Fiware-Service': 'busy' }
  t.equal((await update(alpha)).status, 204)
  await applyAtOnce(broker, alpha)
  await holdWriteLock(t, join(broker.folder, 'partition-0'))
  const stuck = Array.from({ length: 4 }, () => update(alpha).catch(() => undefined))
  await inFlight(broker, 5)
  const late = await Promise.all(Array.from({ length: 20 }, () => update(alpha)))
  t.same(new Set(late.map(({ status }) => status)), new Set([503]))

  const refusals = [
    [401, {}],
    [401, { 'X-Auth-Token': `${key}x` }],
    [401, { Authorization: `Bearer ${key}x`, 'Fiware-Service': 'alpha' }],
    [403, { ...alpha, 'Fiware-Service': 'beta' }],
  ] as const
  for (const [status, headers] of refusals) {
    for (const method of ['POST', 'GET']) {
      const path = method === 'GET' ? '/v2/entities' : '/v2/entities?options=upsert'
      const body = method === 'GET' ? undefined : { id: 'Silo-1', type: 'Silo' }
      t.equal((await broker.send(method, path, body, headers)).status, status, `${method} ${JSON.stringify(headers)}`)
    }
  }
  t.match(await update(alpha), { status: 503, text: /too many requests are waiting/ }, 'there still is overload')
  t.match(await update({ Authorization: `Bearer ${key}`, 'Fiware-Service': 'alpha' }), { status: 503 })
  // One a second and two at once: of many at once some are too many, however slow the machine is.
  const statuses: number[] = []
  const isLimited = async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => update(busy)))
    statuses.push(...replies.map(({ status }) => status))
    return statuses.includes(429)
  }
  await until(isLimited, 'a tenant sends too much')
  t.same(new Set(statuses), new Set([503, 429]))
  const limited = statuses.filter((status) => status === 429).length
  t.match((await broker.send('GET', '/metrics')).text, `rigel_http_rejected_total{reason="rate_limit"} ${limited}\n`)
  t.match((await broker.send('GET', '/metrics')).text, /rigel_http_rejected_total\{reason="unauthorized"\} 6\n/)
  await broker.end('SIGKILL')
  await Promise.all(stuck)
})
