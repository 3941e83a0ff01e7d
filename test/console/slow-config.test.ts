import { join } from 'node:path'
import { t as root, test } from 'tap'
import type { Configuration } from '../../src/api/console/shapes.js'
import { halfTheProcessors } from '../../src/machine.js'
import { SlowRequests } from '../../src/observe/measure/slow-requests.js'
import type { Milliseconds } from '../../src/time.js'
import { RunningBroker } from '../running.js'

const secret = 'a-secret-of-the-management'
const broker = await RunningBroker.start(
  root,
  ['-httpThreads', '2', '-partitions', '2', '-multiservice', '-adminToken', secret],
  {
    environment: { ORION_LOG_LEVEL: 'ERROR' },
  },
)
const authorized = { Authorization: `Bearer ${secret}` }

async function read(path: string, method = 'GET') {
  const reply = await broker.send(method, path, undefined, authorized)
  root.equal(reply.status, 200, `${path}: ${reply.text}`)
  return Object(reply.json)
}

test('slow requests are kept with their stages, by whichever front end, the latest first', async (t) => {
  t.same(await read('/admin/slow'), { above: 0, requests: [] })
  const contextElements = Array.from({ length: 400 }, (_, at) => {
    return { id: `R${at}`, type: 'T', isPattern: 'false', attributes: [{ name: 'a', type: 'T', value: '1' }] }
  })
  const update = () =>
    broker.send(
      'POST',
      '/v1/updateContext',
      { contextElements, updateAction: 'APPEND' },
      { 'Fiware-Service': 'acme', 'Fiware-Correlator': 'corr-9' },
    )
  await update()
  t.same((await read('/admin/slow')).requests, [], 'nothing is kept unless it is asked for')
  t.same(await read('/admin/slow?above=1', 'PUT'), { above: 1 })
  await Promise.all(Array.from({ length: 8 }, update))
  const { above, requests } = await read('/admin/slow')
  t.equal(above, 1)
  const updates = requests.filter(({ route }: { route: string }) => route === '/v1/updateContext')
  t.ok(updates.length >= 4, `${updates.length} took longer than a millisecond`)
  const [latest] = updates
  t.match(latest, { method: 'POST', status: 200, tenant: 'acme', path: '', correlator: 'corr-9' })
  t.ok(latest.request_bytes > 10_000 && latest.response_bytes > 10_000)
  const { permit, operation } = latest.stages_ms
  t.ok(permit >= 0 && operation > 0)
  const sum = Object.values(latest.stages_ms).reduce((sofar: number, each) => sofar + Number(each), 0)
  t.ok(sum <= latest.duration_ms + 0.01, `${sum} of ${latest.duration_ms} ms`)
  const times = requests.map(({ time_ms }: { time_ms: number }) => time_ms)
  t.same(
    times,
    times.toSorted((one: number, other: number) => other - one),
  )
  await read('/admin/slow?above=0', 'PUT')
  const kept = (await read('/admin/slow')).requests.length
  await update()
  t.equal((await read('/admin/slow')).requests.length, kept, 'no more are kept')
})

test('what cannot be meant is refused, and changes nothing', async (t) => {
  for (const query of ['', '?above=', '?above=-1', '?above=1.5', '?above=3600001', '?below=5']) {
    const { status, json } = await broker.send('PUT', `/admin/slow${query}`, undefined, authorized)
    t.equal(status, 400, query)
    t.match(json, { error: 'BadRequest', description: /above|below/ })
  }
  t.equal((await read('/admin/slow')).above, 0)
  for (const path of ['/admin/slow', '/admin/config']) {
    t.equal((await broker.send('GET', path)).status, 401)
    const foreign = await broker.send('GET', path, undefined, { ...authorized, Origin: 'http://evil.example' })
    t.equal(foreign.status, 403)
  }
})

test('no more than 256 are kept, of texts as long as they like', async (t) => {
  const slow = new SlowRequests()
  const none = {
    method: 'GET',
    route: '/',
    status: 200,
    request_bytes: 0,
    response_bytes: 0,
    duration_ms: 1,
    stages_ms: {},
    partitions: 0,
  }
  for (let at = 1; at <= 300; at += 1) {
    slow.add({ ...none, time_ms: at as Milliseconds, tenant: 'x'.repeat(10_000), path: '', correlator: `${at}` })
  }
  t.equal(slow.all.length, 256)
  t.same(Math.min(...slow.all.map(({ time_ms }) => time_ms)), 45)
  t.ok(slow.all.every(({ tenant }) => tenant.length < 300))
})

test('every setting is shown with where it came from, and no secret', async (t) => {
  const reply = await broker.send('GET', '/admin/config', undefined, authorized)
  t.notMatch(reply.text, secret)
  const { settings, dataFolder, libraries } = Object(reply.json)
  const of = (flag: string) => settings.find((each: { flag: string }) => each.flag === flag)
  t.match(of('-adminToken'), { value: '***', source: 'command line' })
  t.match(of('-logLevel'), {
    value: 'ERROR',
    source: 'ORION_LOG_LEVEL',
    byDefault: 'WARN',
    variable: 'ORION_LOG_LEVEL',
  })
  t.match(of('-port'), { value: String(broker.port), source: 'command line', takes: '1 to 65535', group: 'Network' })
  t.match(of('-maxConnections'), { source: 'default' })
  t.match(of('-multiservice'), { value: 'true', takes: 'true or false' })
  t.ok(settings.every(({ meaning }: { meaning: string }) => meaning !== ''))
  t.equal(dataFolder.path, join(broker.folder))
  t.equal(dataFolder.partitions, 2)
  t.ok(libraries.node)
})

test('a setting has the value in force, where the data folder or a request has decided it', async (t) => {
  const folder = t.testdir()
  const partitions = String(halfTheProcessors + 1)
  const made = await RunningBroker.startOn(t, folder, ['-partitions', partitions])
  await made.endsInOrder(t)
  const other = await RunningBroker.startOn(t, folder)
  const of = async (flag: string) => {
    const { settings } = (await other.send('GET', '/admin/config')).json as Configuration
    return settings.find((each) => each.flag === flag)
  }
  t.match(await of('-partitions'), { value: partitions, source: 'data folder' })
  t.match(await of('-httpThreads'), { value: /^\d+$/, source: 'default', byDefault: /^half the processors/ })
  t.match(await of('-logLevel'), { source: 'default' })
  t.equal((await other.send('PUT', '/admin/log?level=DEBUG')).status, 200)
  t.match(await of('-logLevel'), { value: 'DEBUG', source: 'changed while running', byDefault: 'WARN' })
})

test('a setting that requests have changed has its value at the start beside the one in force', async (t) => {
  const flags = ['-mutexTimeStat', '-silent', '-t', '180-181,21', '-logLineMaxSize', '20000']
  const started = await RunningBroker.start(t, flags)
  const of = async (flag: string) => {
    const { settings } = (await started.send('GET', '/admin/config')).json as Configuration
    const { value, source, atStart } = settings.find((each) => each.flag === flag) ?? {}
    return { value, source, atStart }
  }
  t.same(await of('-logLevel'), { value: 'ERROR', source: '-silent', atStart: undefined })
  t.same(await of('-silent'), { value: 'true', source: 'command line', atStart: undefined })
  t.same(await of('-statSemWait'), { value: 'true', source: '-mutexTimeStat', atStart: undefined })
  t.same(await of('-t'), { value: '180-181,21', source: 'command line', atStart: undefined })
  for (const path of [
    '/admin/log?level=DEBUG&lineMaxSize=30000&infoPayloadMaxSize=10&deprecate=true',
    '/admin/stats?semWait=false&counters=true&timing=true&notifQueue=true',
    '/log/verbose/3',
    '/log/trace/42',
  ]) {
    t.equal((await started.send('PUT', path)).status, 200, path)
  }
  const changed = { source: 'changed while running' } as const
  t.same(await of('-logLevel'), { value: 'DEBUG', ...changed, atStart: 'ERROR' })
  t.same(await of('-silent'), { value: 'false', ...changed, atStart: 'true' })
  t.same(await of('-logLineMaxSize'), { value: '30000', ...changed, atStart: '20000' })
  t.same(await of('-logInfoPayloadMaxSize'), { value: '10', ...changed, atStart: '5120' })
  t.same(await of('-logDeprecate'), { value: 'true', ...changed, atStart: 'false' })
  t.same(await of('-verbose'), { value: '3', ...changed, atStart: '0' })
  t.same(await of('-t'), { value: '42', ...changed, atStart: '21, 180-181' })
  for (const flag of ['-statSemWait', '-mutexTimeStat'])
    t.same(await of(flag), { value: 'false', ...changed, atStart: 'true' })
  for (const flag of ['-statCounters', '-statTiming', '-statNotifQueue'])
    t.same(await of(flag), { value: 'true', ...changed, atStart: 'false' })
  t.equal((await started.send('DELETE', '/log/trace')).status, 200)
  t.same(await of('-t'), { value: 'none', ...changed, atStart: '21, 180-181' })
  t.equal((await started.send('PUT', '/log/trace/21,180-181')).status, 200)
  t.same(await of('-t'), { value: '180-181,21', source: 'command line', atStart: undefined })
})
