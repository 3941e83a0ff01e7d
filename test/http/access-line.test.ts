import { test } from 'tap'
import type { ApiResponse, Resource } from '../../src/broker/operations/api.js'
import type { HttpOptions } from '../../src/http/server.js'
import { type Line, LineLog } from '../../src/observe/log/log.js'
import { ok } from '../../src/result.js'
import { type LogLevel, logLevels, Switches } from '../../src/threads/shared-memory/switches.js'
import { until } from '../until.js'
import { connected, echo, everything, get, givenFrontEnd, post } from './given.js'

/** A front end whose lines are kept with their facts. */
async function given(
  t: Parameters<typeof givenFrontEnd>[0],
  {
    level = 'INFO',
    resources = [echo],
    ...changed
  }: Partial<HttpOptions> & { level?: LogLevel; resources?: Resource[] } = {},
) {
  const lines: Line[] = []
  const switches = new Switches()
  switches.set('logLevel', logLevels.indexOf(level))
  switches.set('infoPayloadMaxSize', 100)
  const log = new LineLog(switches, (line) => void lines.push(line))
  return { ...(await givenFrontEnd(t, changed, resources, { log, switches })), switches, access: lines }
}

const fixed = [
  'method',
  'path',
  'route',
  'status',
  'duration_ms',
  'bytes_in',
  'bytes_out',
  'client',
  'tenant',
  'correlator',
]

/** A resource that responds when the test says so. */
function held(responses: ((response: ApiResponse) => void)[]): Resource {
  const value = () => new Promise<ApiResponse>((resolve) => void responses.push(resolve))
  return { pattern: '/v1/held', anyCase: true, operations: { GET: { use: 'read', prepare: () => ok(value) } } }
}

test('the line of a request has its text, and all facts in their order', async (t) => {
  const { talk, access, switches } = await given(t)
  const headers = ['Fiware-Service: ACME', 'Fiware-Correlator: c-1', 'X-Real-IP: 10.2.0.9']
  await talk(post('/v1/Echo/a%20b?token=abc&x=1', '{"n":1}', ...headers))
  const [line] = access
  t.equal(
    line?.message,
    'Request received: POST /v1/Echo/a%20b?token=***&x=1, request payload (7 bytes): {"n":1}, response code: 200',
  )
  t.equal(line?.level, 'INFO')
  t.equal(line?.op, 'http:answer')
  t.same(Object.keys(line?.facts ?? {}), fixed)
  const { duration_ms, ...facts } = line?.facts ?? {}
  t.same(facts, {
    ...{ method: 'POST', path: '/v1/Echo/a%20b', route: '/v1/echo/{id}', status: 200, bytes_in: 7, bytes_out: 7 },
    ...{ client: '10.2.0.9', tenant: 'acme', correlator: 'c-1' },
  })
  t.match(String(duration_ms), /^\d+(\.\d{1,3})?$/)
  await talk(get('/nowhere'))
  t.match(access[1]?.facts, { route: 'unknown', status: 400, client: '127.0.0.1', tenant: '' })
  switches.set('verbosity', 3)
  await talk(get('/v1/echo/a'))
  const names = Object.keys(access[2]?.facts ?? {})
  t.same(names.slice(0, fixed.length), fixed)
  t.match(names.slice(fixed.length), [/_ns$/], `the stages come after them: ${names}`)
})

test('-accessLog says which requests have a line, and at which level', async (t) => {
  const partly: Resource = {
    pattern: '/v1/partly',
    anyCase: true,
    operations: { GET: { use: 'read', prepare: () => ok(() => ({ status: 200, body: '{}', errors: ['404'] })) } },
  }
  const resources = [echo, partly]
  const seen = async (options: Parameters<typeof given>[1]) => {
    const { talk, access } = await given(t, { resources, ...options })
    for (const path of ['/v1/echo/a', '/v1/partly', '/nowhere', '/health/live', '/health/no']) await talk(get(path))
    return access.map(({ level, facts }) => `${level} ${facts?.['path']}`)
  }
  t.same(await seen({ accessLog: 'on' }), ['INFO /v1/echo/a', 'INFO /v1/partly', 'INFO /nowhere'])
  t.same(await seen({ accessLog: 'on', level: 'WARN' }), [])
  t.same(await seen({ accessLog: 'errors', level: 'WARN' }), ['WARN /v1/partly', 'WARN /nowhere'])
  t.same(await seen({ accessLog: 'errors', level: 'ERROR' }), [])
  t.same(await seen({ accessLog: 'off' }), [])
})

test('the time goes from the first byte of a request to the last one of its response, with what a stream has sent', async (t) => {
  const pieces = async function* () {
    yield Buffer.from('one')
    await new Promise((resolve) => setTimeout(resolve, 60))
    yield Buffer.from('two')
  }
  const prepare = () => ok(() => ({ status: 200, contentType: 'text/plain', stream: pieces }))
  const streaming: Resource = { pattern: '/v1/stream', anyCase: true, operations: { GET: { use: 'read', prepare } } }
  const { talk, access, frontEnd, meter } = await given(t, { resources: [echo, streaming] })
  await talk(get('/v1/stream'))
  t.match(access[0]?.facts, { status: 200, bytes_out: 6 })
  t.ok(Number(access[0]?.facts?.['duration_ms']) >= 55, 'all of the stream')
  const text = post('/v1/echo/a', '{"n":1}')
  const socket = await connected(frontEnd.port)
  socket.write(text.slice(0, -7))
  await until(() => meter.inProgress === 1)
  await new Promise((resolve) => setTimeout(resolve, 60))
  socket.write(text.slice(-7))
  await everything(socket)
  t.match(access[1]?.facts, { status: 200, bytes_in: 7, bytes_out: 7 })
  t.ok(Number(access[1]?.facts?.['duration_ms']) >= 55, 'the body too')
})

test('499 is the status of a request whose client had gone before the response', async (t) => {
  const responses: ((response: ApiResponse) => void)[] = []
  const { frontEnd, access, meter } = await given(t, {
    accessLog: 'errors',
    level: 'WARN',
    resources: [echo, held(responses)],
  })
  const waiting = await connected(frontEnd.port)
  waiting.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => responses.length === 1)
  waiting.destroy()
  await until(() => meter.inProgress === 0)
  const arriving = await connected(frontEnd.port)
  arriving.write(
    'POST /v1/echo/a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"',
  )
  await until(() => meter.inProgress === 1)
  arriving.destroy()
  await until(() => meter.inProgress === 0)
  t.match(
    access.map(({ level, message, facts }) => ({ level, message, facts })),
    [
      {
        level: 'WARN',
        message: 'Request received: GET /v1/held, response code: 499',
        facts: { status: 499, route: '/v1/held', client: '127.0.0.1', bytes_out: 0 },
      },
      { level: 'WARN', facts: { status: 499, bytes_in: 4, bytes_out: 0 } },
    ],
  )
})

test('a request that is refused with a bare status has a line too, and each of several in a row', async (t) => {
  const { talk, access, frontEnd } = await given(t)
  const chunked =
    'POST /v1/echo/a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  await talk(chunked, 'no chunk\r\n')
  await talk('GET /v1/echo/b HTTP/1.1\r\n\r\n')
  const socket = await connected(frontEnd.port)
  const next = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`
  socket.write(next('/v1/echo/c') + next('/v1/echo/d') + next('/v1/echo/e', 'Connection: close\r\n'))
  await everything(socket)
  t.same(
    access.map(({ facts }) => `${facts?.['path']} ${facts?.['status']}`),
    ['/v1/echo/a 400', '/v1/echo/b 400', '/v1/echo/c 200', '/v1/echo/d 200', '/v1/echo/e 200'],
  )
})

test('what the HTTP parser refuses has a line with the reason, and one alone', async (t) => {
  const { talk, access } = await given(t, { accessLog: 'errors', level: 'WARN' })
  const broken = 'GET /v1/echo/a HTTP/1.1\r\nHost: h\r\nbroken header\r\n\r\n'
  for (const text of [
    broken,
    `GET /v1/echo/a HTTP/1.1\r\nHost: h\r\n\r\n${broken}`,
    'no request at all\r\n\r\n',
    `GET /v1/echo/a HTTP/1.1\r\nHost: h\r\nLong: ${'x'.repeat(70_000)}\r\n\r\n`,
  ]) {
    const response = await talk(text)
    const status = Number(/HTTP\/1\.1 (4\d\d) /.exec(response)?.[1])
    t.equal(access.length, 1, text.slice(0, 40))
    const [line] = access.splice(0)
    t.match(line, { level: 'WARN', op: 'http:answer', message: `Request received: - -, response code: ${status}` })
    t.match(line?.facts, { method: '-', path: '-', route: 'unknown', status, client: '127.0.0.1', fault: /\S/ })
    t.same(Object.keys(line?.facts ?? {}), [...fixed, 'fault'])
  }
  const quiet = await given(t, { accessLog: 'off' })
  await quiet.talk(broken)
  t.same(quiet.access, [])
})

test('requests that are refused in overload have a line where one is wanted', async (t) => {
  const responses: ((response: ApiResponse) => void)[] = []
  const options = { accessLog: 'errors', level: 'WARN', requestPermits: 1, reqMaxWait_ms: 1 } as const
  const { frontEnd, access, talk } = await given(t, { ...options, resources: [held(responses)] })
  const sockets = await Promise.all([connected(frontEnd.port), connected(frontEnd.port)])
  for (const socket of sockets) socket.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => responses.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const refused = await Promise.race([
    talk(get('/v1/held')),
    new Promise<string>((resolve) => setTimeout(resolve, 3000, 'none')),
  ])
  t.match(refused, /^HTTP\/1\.1 503 /)
  t.ok(access.some(({ op, facts }) => op === 'http:answer' && facts?.['status'] === 503))
  for (const socket of sockets) socket.destroy()
})
