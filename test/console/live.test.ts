import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { t as root, test } from 'tap'
import type { LiveHistory, LiveSample } from '../../src/api/console/live-frame.js'
import { EventReader } from '../event-reader.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

const folder = root.testdir()
const broker = await RunningBroker.startOn(root, join(folder, 'open'), [
  '-mutexTimeStat',
  '-httpThreads',
  '2',
  '-partitions',
  '2',
])
const token = 'a-token-of-the-management'
const protectedBroker = await RunningBroker.startOn(root, join(folder, 'protected'), ['-adminToken', token])
const live = `${broker.url}/admin/live`

interface Frame {
  readonly sequence: number
  readonly time_ms: number
  readonly requests: readonly { readonly route: number; readonly method: number; readonly codes: readonly number[] }[]
  readonly partitions: { readonly commands: readonly number[] }
  readonly waits: Record<string, { count: number; waited: number; total_ns: string; max_ns: string }>
  readonly threads: readonly (readonly number[])[]
  readonly now: { readonly inFlight: number }
}

async function frameOf(viewer: EventReader): Promise<Frame> {
  return (await viewer.json('frame')) as Frame
}

/** The next frame whose sample was taken after this moment. */
function frameAfter(viewer: EventReader, moment_ms: number): Promise<Frame> {
  return until(async () => {
    const frame = await frameOf(viewer)
    return frame.time_ms > moment_ms && frame
  }, 'a later frame')
}

test('frames count all requests of all front ends, and all commands of the partitions', async (t) => {
  const viewer = await EventReader.open(live)
  t.equal(viewer.headers.get('content-type'), 'text/event-stream')
  const hello = Object(await viewer.json('hello'))
  const before = await frameOf(viewer)
  const updates = Array.from({ length: 300 }, (_, at) =>
    broker.update('APPEND', {
      type: 'Room',
      isPattern: 'false',
      id: `Room${at}`,
      attributes: [{ name: 'a', type: 'T', value: `${at}` }],
    }),
  )
  await Promise.all(updates)
  const after = await frameAfter(viewer, Date.now())
  const route = hello.routes.findIndex(({ name }: { name: string }) => name === '/v1/updateContext')
  t.same(hello.routes[route], { name: '/v1/updateContext', updates: ['POST'], reads: [] })
  const counted = ({ requests }: Frame) =>
    requests.find((each) => each.route === route && hello.methods[each.method] === 'POST')?.codes ?? [0, 0]
  t.equal(hello.statusCodes[counted(after)[0] ?? -1], '200')
  t.equal((counted(after)[1] ?? 0) - (counted(before)[1] ?? 0), 300)
  const commands = ({ partitions }: Frame) => partitions.commands.reduce((sum, each) => sum + each, 0)
  t.equal(commands(after) - commands(before), 300)
  t.equal(hello.threads.length, after.threads.length)
  t.ok(after.sequence > before.sequence)
  viewer.close()
})

test('a viewer who asks for it is sent what happened before, on whichever front end, and nobody else is', async (t) => {
  const updates = ({ updates: [, ...counts] }: LiveSample) => counts.reduce((sum, count) => sum + count, 0)
  for (const history of ['1800', 'all', '1800', 'all']) {
    const viewer = await EventReader.open(`${live}?history=${history}`)
    await viewer.json('hello')
    const { samples } = (await viewer.json('history')) as LiveHistory
    const { time_ms } = await frameOf(viewer)
    t.equal(
      samples.map(updates).reduce((sum, each) => sum + each, 0),
      300,
      'what the test before this one has sent',
    )
    t.ok(Math.abs((samples.at(-1)?.time_ms ?? 0) - time_ms) < 2000, 'it goes on until the first frame')
    viewer.close()
  }
  const names: string[] = []
  const other = await EventReader.open(live)
  for await (const { name } of other.all()) if (names.push(name) > 3) break
  other.close()
  t.notOk(names.includes('history'))
  for (const query of ['history=1801', 'history=-1', 'history=ALL', 'histroy=300']) {
    t.equal((await broker.send('GET', `/admin/live?${query}`)).status, 400, query)
  }
})

test('the waits are those of /admin/waits, digit by digit', async (t) => {
  const viewer = await EventReader.open(live)
  const { waits } = await frameAfter(viewer, Date.now())
  const shown = Object((await broker.send('GET', '/admin/waits')).json).waits
  const seconds = (ns = '') => `${ns.padStart(10, '0').slice(0, -9)}.${ns.padStart(9, '0').slice(-9)}`
  for (const kind of ['request', 'dbConnectionPool', 'transaction', 'mailbox']) {
    const { count, waited, total_ns, max_ns } = waits[kind] ?? {}
    t.match(shown[kind], { count, waited, total: seconds(total_ns), max: seconds(max_ns) }, kind)
  }
  t.ok((waits['mailbox']?.count ?? 0) >= 300, 'there were some')
  viewer.close()
})

/**
 * Opens a stream; those that were closed before may have to be noticed first. A stream counts as a viewer when it says hello: one that
 * comes too late for the last place gets `full` instead.
 */
function seated(): Promise<EventReader> {
  return until(async () => {
    const viewer = await EventReader.open(live)
    if (viewer.status === 200 && (await isSeated(viewer))) return viewer
    await viewer.rest()
    return undefined
  }, 'there is a place for a viewer')
}

async function isSeated(viewer: EventReader): Promise<boolean> {
  for await (const { name } of viewer.all()) if (name === 'hello') return true
  return false
}

test('sixteen look at the same time, through whichever front end; the next one is told so, until one of them leaves', async (t) => {
  const viewers: EventReader[] = []
  for (let number = 0; number < 16; number += 1) viewers.push(await seated())
  for (const viewer of viewers) t.ok((await frameOf(viewer)).sequence > 0)
  const response = await EventReader.open(live)
  t.equal(response.status, 503)
  t.equal(response.headers.get('retry-after'), '10')
  t.match(await response.rest(), /16 viewers look at this already/)
  viewers[3]?.close()
  const again = await seated()
  t.ok((await frameOf(again)).sequence > 0)
  for (const viewer of viewers) viewer.close()
  await until(async () => (await frameOf(again)).now.inFlight <= 1, 'those that have gone are noticed')
  again.close()
})

test('a viewer that never reads costs the others nothing, and updates go on', async (t) => {
  const lazy = connect(broker.port, '127.0.0.1')
  await once(lazy, 'connect')
  lazy.pause()
  lazy.write('GET /admin/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const viewer = await seated()
  const first = await frameOf(viewer)
  t.equal(
    (await broker.update('APPEND', { type: 'Room', isPattern: 'false', id: 'Room1', attributes: [] })).status,
    200,
  )
  t.equal((await frameOf(viewer)).sequence, first.sequence + 1)
  lazy.destroy()
  viewer.close()
})

/** The status of a request with headers that a browser would send for the page of another site. */
function statusWith(to: RunningBroker, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(`${to.url}/admin/live`, { headers }, (response) => {
      resolve(response.statusCode)
      response.destroy()
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('pages of other sites, foreign hosts, and those without the token see nothing', async (t) => {
  t.equal(await statusWith(broker, { Origin: 'http://evil.example' }), 403)
  t.equal(await statusWith(broker, { 'Sec-Fetch-Site': 'cross-site' }), 403)
  t.equal(await statusWith(broker, { Host: 'evil.example' }), 403)
  t.equal(await statusWith(broker, {}), 200)
  t.equal(await statusWith(protectedBroker, {}), 401)
  t.equal(await statusWith(protectedBroker, { Authorization: 'Bearer x' }), 401)
  t.equal(await statusWith(protectedBroker, { Authorization: `Bearer ${token}` }), 200)
  t.equal((await broker.send('PUT', '/admin/live')).status, 405)
})

test('a broker that ends does not wait for those who look: their streams end first', async (t) => {
  const viewers = await Promise.all(Array.from({ length: 5 }, () => EventReader.open(live)))
  for (const viewer of viewers) await frameOf(viewer)
  const ended = broker.end('SIGTERM')
  for (const viewer of viewers) await viewer.rest()
  t.equal(await ended, 0)
  t.notMatch(broker.output, /given up/)
})
