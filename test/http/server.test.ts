import { once } from 'node:events'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import type { ApiRequest, ApiResponse, Resource } from '../../src/broker/operations/api.js'
import { ProxyNotice } from '../../src/http/management-access.js'
import { openHttpServer } from '../../src/http/server.js'
import { AlarmReports } from '../../src/observe/log/alarms.js'
import { DamageLog } from '../../src/observe/log/worker-log.js'
import { ok } from '../../src/result.js'
import { ConnectionLimit } from '../../src/threads/shared-memory/limits.js'
import { RequestMemory } from '../../src/threads/shared-memory/request-memory.js'
import { SharedSemaphore } from '../../src/threads/shared-memory/semaphore.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'
import { givenSteps } from '../given-steps.js'
import { until } from '../until.js'
import {
  bodyOf,
  connected,
  echo,
  everything,
  get,
  givenFrontEnd,
  givenInterfaces,
  headerOf,
  Noted,
  notedLog,
  options,
  post,
  request,
  statusOf,
  untilReceived,
} from './given.js'

/** A resource whose responses are given by the test. */
function held() {
  const responses: ((response: ApiResponse) => void)[] = []
  const value = () => new Promise<ApiResponse>((resolve) => void responses.push(resolve))
  const prepare = () => ({ ok: true as const, value })
  const operations = { GET: { use: 'read' as const, prepare }, POST: { use: 'write' as const, prepare } }
  return { responses, resource: { pattern: '/v1/held', anyCase: true, operations } }
}

test('an orderly end answers what is in progress, says so, and closes the rest', async (t) => {
  const { responses, resource } = held()
  const { frontEnd, connect, meter } = await givenFrontEnd(t, {}, [resource])
  const [idle, busy, arriving] = [await connect(), await connect(), await connect()]
  busy.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n')
  arriving.write('POST /v1/held HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{')
  await until(() => meter.inProgress === 2 && responses.length === 1)
  const ended = frontEnd.stop(5000)
  t.equal(await everything(idle), '')
  arriving.write('}')
  await until(() => responses.length === 2)
  for (const response of responses) response({ status: 200, body: '"done"' })
  for (const socket of [busy, arriving]) {
    const text = await everything(socket)
    t.equal(bodyOf(text), '"done"')
    t.equal(headerOf(text, 'Connection'), 'close')
  }
  t.equal(await ended, 0)
  await t.rejects(connected(frontEnd.port))
})

test('requests that are not done at the limit are given up and counted', async (t) => {
  const { responses, resource } = held()
  const { frontEnd, connect, meter } = await givenFrontEnd(t, {}, [resource])
  const socket = await connect()
  socket.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => responses.length === 1)
  t.equal(await frontEnd.stop(20), 1)
  t.equal(await everything(socket), '')
  await until(() => meter.inProgress === 0)
  t.equal(meter.taken, 1, 'its work is still under way')
  responses[0]?.({ status: 200 })
  await until(() => meter.taken === 0)
})

test('a permit comes back when the work is done, whether or not its response can leave', async (t) => {
  const { responses, resource } = held()
  const { connect, meter } = await givenFrontEnd(t, {}, [resource])
  const socket = await connect()
  socket.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(2))
  await until(() => responses.length === 2)
  t.equal(meter.taken, 2)
  responses[1]?.({ status: 200, body: '2' })
  await until(() => meter.taken === 1)
  t.equal(meter.inProgress, 2, 'the response waits behind the one before it')
  responses[0]?.({ status: 200, body: '1' })
  await until(() => meter.taken === 0 && meter.inProgress === 0)
})

test('work hears that its client has gone, and keeps its permit until it is over', async (t) => {
  const events: string[] = []
  const responses: ((response: ApiResponse) => void)[] = []
  const prepare = ({ client }: ApiRequest) => {
    client.whenGone(() => events.push(`gone: ${client.gone}`))
    return ok(() => new Promise<ApiResponse>((resolve) => void responses.push(resolve)))
  }
  const resource = { pattern: '/v1/held', anyCase: true, operations: { GET: { use: 'read' as const, prepare } } }
  const { connect, meter } = await givenFrontEnd(t, {}, [resource])
  const [leaves, stays] = [await connect(), await connect()]
  for (const socket of [leaves, stays]) {
    socket.write('GET /v1/held HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
    await until(() => responses.length === (socket === leaves ? 1 : 2))
  }
  leaves.destroy()
  await until(() => events.length > 0)
  t.equal(meter.taken, 2)
  for (const response of responses) response({ status: 200, body: '"done"' })
  t.equal(bodyOf(await everything(stays)), '"done"')
  t.equal(meter.taken, 0)
  t.same(events, ['gone: true'], 'who got a response has not gone')
})

test('requests wait for a permit, in the order of their coming, and one whose connection goes leaves the queue', async (t) => {
  const { responses, resource } = held()
  const { connect, meter } = await givenFrontEnd(t, { requestPermits: 1 }, [resource])
  const sockets = [await connect(), await connect(), await connect()]
  for (const [index, socket] of sockets.entries()) {
    socket.write('GET /v1/held HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
    await until(() => meter.inProgress === index + 1)
  }
  t.equal(responses.length, 1)
  t.equal(meter.queued, 2)
  sockets[1]?.destroy()
  await until(() => meter.queued === 1)
  responses[0]?.({ status: 200, body: '1' })
  await until(() => responses.length === 2)
  responses[1]?.({ status: 200, body: '3' })
  const third = sockets[2]
  t.equal(third && bodyOf(await everything(third)), '3')
  t.equal(meter.taken, 0)
})

test('the stages that are timed are those of the request, whatever is worked on beside it', async (t) => {
  let finish: () => void = () => {}
  const slow: Resource = {
    pattern: '/v1/slow',
    anyCase: true,
    operations: {
      GET: {
        use: 'read',
        prepare: ({ client }) =>
          ok(async () => {
            meter.stage('mongoReadWait', 1n, client.timed)
            await new Promise<void>((resolve) => {
              finish = resolve
            })
            return { status: 200, body: '{}' }
          }),
      },
    },
  }
  const given = await givenFrontEnd(t, {}, [echo, slow])
  const { meter, talk, connect } = given
  meter.timingOn = true
  const waiting = await connect()
  waiting.write('GET /v1/slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  await until(() => meter.events.includes('mongoReadWait'))
  await talk('GET /v1/echo/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  finish()
  await everything(waiting)
  await until(() => meter.timed.length === 2)
  t.same(meter.timed, [
    ['render', 'total'],
    ['mongoReadWait', 'total'],
  ])
})

test('management needs no permit, and other operations need one as the policy says', async (t) => {
  const { responses, resource } = held()
  const { talk, connect, meter } = await givenFrontEnd(t, { requestPermits: 1, reqMutexPolicy: 'write' }, [resource])
  for (const socket of [await connect(), await connect()]) socket.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => responses.length === 2)
  t.equal(meter.taken, 0)
  t.equal(statusOf(await talk(get('/version'))), 200)
})

test('two front ends in two threads accept on one socket, and only the one that opened it closes it', async (t) => {
  const { frontEnd } = await givenFrontEnd(t, { httpThreads: 2 })
  const worker = new Worker(new URL('./fixtures/front-end.js', import.meta.url), {
    workerData: { fd: frontEnd.fd, name: 'other' },
  })
  await once(worker, 'message')
  const seen = new Set<string>()
  await until(async () => {
    const sockets = await Promise.all(Array.from({ length: 8 }, () => connected(frontEnd.port)))
    for (const socket of sockets) {
      socket.write(get('/v1/who'))
      seen.add(bodyOf(await everything(socket)))
    }
    return seen.size === 2
  }, 'both front ends accept')
  t.ok(seen.has('"other"'))
  await frontEnd.stop(1000)
  await t.rejects(connected(frontEnd.port))
  // Whoever gets the number of the closed descriptor keeps it while the other front end stops.
  const taken: number[] = []
  do taken.push(openSync('/dev/null', 'r'))
  while ((taken.at(-1) ?? 0) < frontEnd.fd)
  worker.postMessage('stop')
  t.same((await once(worker, 'message'))[0], { givenUp: 0 })
  for (const fd of taken) t.ok(fstatSync(fd).isCharacterDevice())
  // The thread's end closes the number once more, which is why threads end last.
  await worker.terminate()
  for (const fd of taken) if (fd !== frontEnd.fd) closeSync(fd)
})

test('a port in use is a refusal', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const address = other.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const switches = new Switches()
  const opened = await openHttpServer({
    interfaces: givenInterfaces([]),
    management: [],
    options: { ...options, port },
    meter: new Noted(),
    steps: givenSteps(),
    requestWait: { on: false, free: () => {}, waited: () => {} },
    apiKeys: undefined,
    log: notedLog([], switches),
    damages: new DamageLog(notedLog([], switches), () => {}),
    switches,
    transaction: () => '',
    alarms: new AlarmReports(AlarmReports.memory(), () => undefined),
    takeReplies: () => {},
    memory: {
      permits: SharedSemaphore.memory(1),
      connections: ConnectionLimit.memory(1),
      requestMemory: RequestMemory.memory(),
      responseMemory: RequestMemory.memory(),
      proxies: ProxyNotice.memory(),
      rates: undefined,
    },
    index: 0,
  })
  t.same(opened, { ok: false, error: { kind: 'portInUse', port } })
})

test('a key that can not be read or used is a refusal', async (t) => {
  const dir = t.testdir({ 'key.pem': 'no key', 'cert.pem': 'no certificate' })
  for (const key of ['missing.pem', 'key.pem']) {
    const https = { key: `${dir}/${key}`, cert: `${dir}/cert.pem` }
    await t.rejects(givenFrontEnd(t, { https }), { message: 'certificateUnusable' })
  }
})

test('with a port of its own the management is unknown on the main port, but for version and health', async (t) => {
  const adminPort = await freePort()
  const { talk } = await givenFrontEnd(t, { adminPort })
  const admin = async (text: string) => {
    const socket = connect(adminPort, '127.0.0.1')
    socket.write(text)
    return everything(socket)
  }
  t.equal(bodyOf(await talk(get('/statistics'))), '{"error":"BadRequest","description":"service not found"}')
  t.equal(statusOf(await talk(get('/health/live'))), 200)
  t.equal(statusOf(await admin(get('/statistics'))), 200)
  t.equal(statusOf(await admin(get('/version'))), 200)
  t.match(bodyOf(await admin(get('/v1/echo/a'))), /orionError.*service not found/)
})

test('with a token it comes before every other check, and some paths need none', async (t) => {
  const { talk, meter } = await givenFrontEnd(t, { adminToken: 'kite-harbour-lantern-7' })
  for (const text of [
    get('/statistics'),
    get('/LOG/%3C', 'Authorization: Bearer kite-harbour-lantern-8'),
    get('/admin/nothing', 'Authorization: Basic kite-harbour-lantern-7'),
    post('/statistics', 'x'),
  ]) {
    const response = await talk(text)
    t.equal(statusOf(response), 401)
    t.equal(headerOf(response, 'WWW-Authenticate'), 'Bearer realm="management"')
  }
  t.same(meter.events, Array(4).fill('unauthorized'))
  t.equal(statusOf(await talk(get('/statistics', 'Authorization: bearer kite-harbour-lantern-7'))), 200)
  t.equal(statusOf(await talk(get('/version'))), 200)
  t.match(bodyOf(await talk(get('/nothing'))), /service not found/)
})

test('when all connections are taken the longest idle one goes; when all are worked for, the new one', async (t) => {
  const { responses, resource } = held()
  const { connect, meter } = await givenFrontEnd(t, { maxConnections: 2 }, [resource])
  const [busy, idle] = [await connect(), await connect()]
  busy.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => responses.length === 1)
  const third = await connect()
  t.equal(await everything(idle), '')
  t.same(meter.events.splice(1), ['evicted'])
  third.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => responses.length === 2)
  t.equal(await everything(await connect()), '')
  t.same(meter.events.splice(2), ['max_connections'])
  for (const response of responses) response({ status: 200, body: '"done"' })
  for (const socket of [busy, third]) t.match(await untilReceived(socket, 'done'), /^HTTP\/1\.1 200/)
})

test('where all connections bring a body, a new one has time for its first request while silent ones come', async (t) => {
  const { connect, meter } = await givenFrontEnd(t, { maxConnections: 8 })
  for (let number = 1; number <= 8; number += 1) {
    const unfinished = await connect()
    unfinished.on('error', () => {}).write(post('/v1/echo/a', '"1"').slice(0, -1))
    await until(() => meter.inProgress === number)
  }
  const slow = await connect()
  const silent = await connect()
  t.teardown(() => silent.destroy())
  await until(() => meter.events.filter((event) => event === 'evicted').length === 2)
  slow.write(get('/version'))
  t.equal(statusOf(await everything(slow)), 200)
})

test('the checks of a request come in their order', async (t) => {
  const { talk, meter } = await givenFrontEnd(t, { inReqPayloadMaxSize: 5 })
  const details = async (text: string) => {
    const { orionError, errorCode, description } = JSON.parse(bodyOf(await talk(text)))
    return description ?? (orionError ?? errorCode).details
  }
  const bad = ['Content-Type: text/plain', 'Accept: image/png', 'Content-Length: 9', 'Fiware-ServicePath: a']
  const body = '123456789'
  t.equal(await details(request('POST', '/v1/echo/%3C?limit=<', bad, body)), 'invalid character in URI')
  t.match(await details(request('POST', '/v1/echo/a?limit=<', bad, body)), /^Only .absolute. Service Paths/)
  bad.pop()
  t.equal(await details(request('POST', '/v1/x?limit=<', bad, body)), 'not supported content type: text/plain')
  bad[0] = 'Content-Type: Application/JSON;charset=utf-8'
  t.equal(await details(request('POST', '/v1/x?limit=<', bad, body)), 'no acceptable mime-type in accept header')
  bad[1] = 'Accept: text/plain'
  t.equal(await details(request('POST', '/v1/x?limit=<', bad, body)), 'invalid character in URI parameter')
  t.equal(await details(request('POST', '/v1/x', bad, body)), 'acceptable MIME types: application/json')
  bad[1] = 'Accept: */*'
  t.equal(await details(request('POST', '/v1/x', bad, body)), 'payload size: 9, max size supported: 5')
  t.equal(
    await details(request('GET', '/v1/x', ['Content-Type: application/json', 'Content-Length: 1'], '1')),
    'Rigel accepts no payload for GET/DELETE requests',
  )
  t.equal(await details(request('PUT', '/v1/x', [])), 'Zero/No Content-Length in PUT/POST/PATCH request')
  t.same(
    meter.events.filter((event) => event.includes('unknown')),
    [],
  )
  t.equal(await details(post('/v1/x', '1')), 'service not found')
  const wrong = await talk(request('PUT', '/V1/echo/a/', ['Content-Type: application/json', 'Content-Length: 1'], '1'))
  t.equal(statusOf(wrong), 405)
  t.equal(headerOf(wrong, 'Content-Type'), undefined)
  t.same(meter.events.slice(-2), ['POST unknown json', 'PUT /v1/echo/{id} json wrong verb'])
})

test('management ignores bodies and their types, and some of it needs none', async (t) => {
  const { talk } = await givenFrontEnd(t)
  t.equal(
    bodyOf(await talk(request('PUT', '/log/trace/5', ['Content-Type: text/x', 'Content-Length: 3'], 'abc'))),
    '"5"',
  )
  t.equal(bodyOf(await talk(request('PUT', '/log/trace/6', []))), '"6"')
  t.equal(statusOf(await talk(request('POST', '/statistics', []))), 411)
  t.equal(statusOf(await talk(get('/health/live', 'Accept: text/html'))), 200)
})

test('CORS is for GET of NGSIv1 and for the version, with the origins that are allowed', async (t) => {
  const origin = 'Origin: https://panel.example'
  const { talk } = await givenFrontEnd(t, { corsOrigin: 'https://panel.example', corsMaxAge_s: 600 })
  const allowed = async (text: string) => headerOf(await talk(text), 'Access-Control-Allow-Origin')
  t.equal(await allowed(get('/v1/echo/a', origin)), 'https://panel.example')
  t.equal(headerOf(await talk(get('/v1/echo/a')), 'Vary'), 'Origin')
  t.equal(await allowed(get('/v1/echo/a', 'Origin: https://other.example')), undefined)
  t.equal(await allowed(post('/v1/echo/a', '1', origin)), undefined)
  t.equal(await allowed(get('/statistics', origin)), undefined)
  t.equal(await allowed(request('OPTIONS', '/v1/echo/a', [origin])), undefined)
  const preflight = await talk(request('OPTIONS', '/version', [origin]))
  t.equal(statusOf(preflight), 200)
  t.equal(headerOf(preflight, 'Access-Control-Allow-Methods'), 'GET, OPTIONS')
  t.equal(headerOf(preflight, 'Access-Control-Max-Age'), '600')
  t.equal(headerOf(preflight, 'Content-Length'), '0')
})

test('trace lines come only from areas that are on', async (t) => {
  const { talk, lines, switches } = await givenFrontEnd(t)
  switches.traces[24] = 1
  await talk(get('/version', 'Authorization: Bearer secret'))
  const traced = lines.filter(({ level }) => level !== 'INFO')
  t.same(
    traced.map(({ level }) => level),
    ['http.headers'],
  )
  t.notMatch(traced[0]?.message, 'secret')
})
