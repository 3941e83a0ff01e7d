import { once } from 'node:events'
import type { Socket } from 'node:net'
import { mock } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { test } from 'tap'
import type { ApiResponse, Resource } from '../../src/broker/operations/api.js'
import { requestLife, type step } from '../../src/http/request-life.js'
import { traceArea } from '../../src/observe/log/trace.js'
import { ok } from '../../src/result.js'
import { itsKey, unknownCertificate } from '../delivery/certificate.js'
import { runs } from '../runs.js'
import { until } from '../until.js'
import {
  bodyOf,
  echo,
  everything,
  get,
  givenFrontEnd,
  headerOf,
  post,
  request,
  statusOf,
  untilReceived,
} from './given.js'

const chunkedHead = ['Content-Type: application/json', 'Transfer-Encoding: chunked']

/** A resource whose responses are given by the test, and one that answers late by itself. */
function held(): { readonly responses: ((response: ApiResponse) => void)[]; readonly resource: Resource } {
  const responses: ((response: ApiResponse) => void)[] = []
  const prepare = () => ok(() => new Promise<ApiResponse>((resolve) => void responses.push(resolve)))
  const operation = { use: 'read' as const, prepare }
  return {
    responses,
    resource: { pattern: '/v1/held', anyCase: true, operations: { GET: operation, POST: operation } },
  }
}

const late: Resource = {
  pattern: '/v1/late/{n}',
  anyCase: true,
  operations: {
    GET: {
      use: 'read',
      prepare: ({ segments }) => ok(() => delay(3, { status: 200, body: `"late ${segments['n']}"` })),
    },
  },
}

function statuses(text: string): readonly number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

test('no way through the life of a request answers or writes twice, and every state ends when the connection goes', async (t) => {
  const onceAtMost: readonly string[] = [
    'respond',
    'write',
    'writeAndDrain',
    'handed',
    'work',
  ] satisfies readonly (keyof typeof step)[]
  const seen: string[] = []
  const walk = (state: keyof typeof requestLife, steps: readonly string[]): void => {
    if (steps.length > 12) throw new Error(`no end: ${steps}`)
    for (const once of onceAtMost) {
      if (steps.filter((step) => step === once).length > 1) seen.push(steps.join(' '))
    }
    if (state !== 'over' && state !== 'gone' && !('lost' in requestLife[state])) seen.push(state)
    for (const [step, next] of Object.entries(requestLife[state])) walk(next, [...steps, step])
  }
  walk('head', [])
  t.same(seen, [])
})

test('a body over its limit with a malformed chunk in the same packet is answered once', async (t) => {
  const { connect, talk, meter } = await givenFrontEnd(t, { inReqPayloadMaxSize: 10 })
  for (const expect of [['Expect: 100-continue'], []]) {
    const socket = await connect()
    socket.write(request('POST', '/v1/echo/a', [...chunkedHead, ...expect]))
    if (expect.length > 0) await untilReceived(socket, '100 Continue\r\n\r\n')
    socket.end('14\r\n12345678901234567890\r\nzz\r\n')
    t.same(statuses(await everything(socket)), [413])
  }
  t.equal(statusOf(await talk(get('/version'))), 200)
  t.equal(meter.inProgress, 0)
})

test('a client that has closed its sending half gets its responses, also those behind others', async (t) => {
  const { responses, resource } = held()
  const { connect } = await givenFrontEnd(t, {}, [resource, late])
  const socket = await connect()
  socket.end(
    'GET /v1/late/1 HTTP/1.1\r\nHost: h\r\n\r\nGET /v1/held HTTP/1.1\r\nHost: h\r\n\r\nGET /version HTTP/1.1\r\nHost: h\r\n\r\n',
  )
  await until(() => responses.length === 1)
  await delay(20)
  responses[0]?.({ status: 200, body: '"held"' })
  t.match(await everything(socket), /late 1[\s\S]*held[\s\S]*\{"ok":true\}$/)
})

test('over TLS too: half-closed, malformed, unknown verbs', async (t) => {
  const dir = t.testdir({ 'key.pem': itsKey, 'cert.pem': unknownCertificate })
  const https = { key: `${dir}/key.pem`, cert: `${dir}/cert.pem` }
  const { frontEnd, meter } = await givenFrontEnd(t, { https, inReqPayloadMaxSize: 10 }, [echo, late])
  const statusesOver = async (text: string) => {
    const socket = connectTls({
      port: frontEnd.port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
    })
    await once(socket, 'secureConnect')
    socket.on('end', () => socket.end())
    socket.end(text)
    return statuses(await everything(socket))
  }
  t.same(
    await statusesOver('GET /v1/late/1 HTTP/1.1\r\nHost: h\r\n\r\nGET /version HTTP/1.1\r\nHost: h\r\n\r\n'),
    [200, 200],
  )
  t.same(await statusesOver(request('POST', '/v1/echo/a', chunkedHead, '14\r\n12345678901234567890\r\nzz\r\n')), [413])
  t.same(await statusesOver('NOP /v1/echo/a HTTP/1.1\r\nHost: h\r\n\r\n'), [405])
  t.same(await statusesOver('GET /version HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n'), [400])
  await until(() => meter.inProgress === 0)
})

test('a TLS handshake is finished while silent connections come and idle ones stay', async (t) => {
  const dir = t.testdir({ 'key.pem': itsKey, 'cert.pem': unknownCertificate })
  const https = { key: `${dir}/key.pem`, cert: `${dir}/cert.pem` }
  const maxConnections = 12
  const { connect, meter } = await givenFrontEnd(t, { https, maxConnections })
  const overTls = async (socket: Socket) => {
    const secure = connectTls({ socket, rejectUnauthorized: false })
    t.teardown(() => secure.destroy())
    secure.on('error', () => {})
    await once(secure, 'secureConnect')
    return secure
  }
  for (let number = 0; number < maxConnections; number += 1) await overTls(await connect())
  const evicted = () => meter.events.filter((event) => event === 'evicted').length
  const slow = await connect()
  for (let silent = 1; silent <= 2; silent += 1) {
    const socket = await connect()
    t.teardown(() => socket.destroy())
  }
  await until(() => evicted() === 3)
  const secure = await overTls(slow)
  secure.end(get('/version'))
  t.same(statuses(await everything(secure)), [200])
})

test('a TLS handshake that takes too long is closed, whether its client has sent something or not', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const dir = t.testdir({ 'key.pem': itsKey, 'cert.pem': unknownCertificate })
  const https = { key: `${dir}/key.pem`, cert: `${dir}/cert.pem` }
  const { connect, meter } = await givenFrontEnd(t, { https, idleTimeout_s: 300 })
  const established = connectTls({ socket: await connect(), rejectUnauthorized: false })
  await once(established, 'secureConnect')
  const silent = await connect()
  const begun = await connect()
  begun.write(Buffer.from('1603010200', 'hex'))
  const gone = Promise.all([everything(silent), everything(begun)])
  mock.timers.tick(59_000)
  t.equal(meter.events.filter((event) => event === 'timeout').length, 0)
  mock.timers.tick(5_000)
  await gone
  t.equal(meter.events.filter((event) => event === 'timeout').length, 2)
  established.end(get('/version'))
  t.same(statuses(await everything(established)), [200])
})

test('over TLS, where one read brings several pieces: requests are read on behind responses that pile up', async (t) => {
  const dir = t.testdir({ 'key.pem': itsKey, 'cert.pem': unknownCertificate })
  const https = { key: `${dir}/key.pem`, cert: `${dir}/cert.pem` }
  const { frontEnd } = await givenFrontEnd(t, { https }, [echo])
  const count = 200
  const socket = connectTls({ port: frontEnd.port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const one = post('/v1/echo/a', JSON.stringify('x'.repeat(20_000)))
  socket.end(`${one.replace('Connection: close', 'Accept: */*').repeat(count - 1)}${one}`)
  t.same(statuses(await everything(socket)), Array(count).fill(200))
})

test('a body that ends before it is complete is not answered, and the responses before it are', async (t) => {
  const { connect, meter } = await givenFrontEnd(t, {}, [echo, late])
  for (const half of [
    post('/v1/echo/a', '{"a":1}').slice(0, -2),
    request('POST', '/v1/echo/a', chunkedHead, '5\r\n12'),
  ]) {
    const socket = await connect()
    socket.end(`GET /v1/late/1 HTTP/1.1\r\nHost: h\r\n\r\n${half}`)
    t.same(statuses(await everything(socket)), [200])
  }
  t.equal(meter.inProgress, 0)
})

test('a verb that the parser does not know is a wrong verb, wherever it is cut, and the last request', async (t) => {
  const { connect, talk } = await givenFrontEnd(t, {}, [echo, late])
  const text =
    'NOP /v1/echo/a HTTP/1.1\r\nHost: h\r\nFiware-Correlator: c 1\r\n\r\nGET /version HTTP/1.1\r\nHost: h\r\n\r\n'
  for (let cut = 1; cut < 61; cut += 4) {
    const socket = await connect()
    socket.setNoDelay().write(text.slice(0, cut))
    await delay(2)
    socket.write(text.slice(cut))
    const response = await everything(socket)
    t.same(statuses(response), [405], `cut at ${cut}`)
    t.equal(headerOf(response, 'Allow'), 'POST, GET')
    t.equal(headerOf(response, 'Connection'), 'close')
    t.equal(headerOf(response, 'Fiware-Correlator'), 'c 1')
    t.equal(bodyOf(response), '')
  }
  t.match(
    await talk(`GET /v1/late/7 HTTP/1.1\r\nHost: h\r\n\r\n${text}`),
    /^HTTP\/1\.1 200[\s\S]*"late 7"HTTP\/1\.1 405/,
  )
  for (const verb of ['FOO', 'get', 'GETX', 'PLAY', 'PROPFIND', 'BAD_VERB', 'DELETE2', 'X-Y.Z']) {
    t.equal(statusOf(await talk(`${verb} /v1/echo/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)), 405, verb)
    t.match(
      bodyOf(await talk(`${verb} /nothing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)),
      'service not found',
    )
  }
  t.equal(statusOf(await talk('CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n')), 400)
  t.equal(statusOf(await talk('NOP /v1/echo/a HTTP/1.1\r\n\r\n')), 400, 'without a host')
  t.equal(statusOf(await talk('GET /version HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n')), 400, 'two hosts')
  t.equal(statusOf(await talk('GET /version HTTP/1.0\r\n\r\n')), 200, 'HTTP/1.0 needs none')
  t.equal(statusOf(await talk('NOP /v1/echo/a HTTP/1.1\r\nHost: h\r\nContent-Length: 1x\r\n\r\n')), 400)
})

test('the last request of a connection is begun once, however it ends', async (t) => {
  const { talk, connect, meter } = await givenFrontEnd(t, {}, [echo, late])
  for (const last of ['NOP /v1/echo/a HTTP/1.1\r\n\r\n', 'NOP /v1/echo/a HTTP/1.1\r\nHost: h\r\n\r\n']) {
    const text = `GET /v1/late/7 HTTP/1.1\r\nHost: h\r\n\r\n${last}`
    t.equal(statuses(await talk(text)).length, 2)
    const halfClosed = await connect()
    halfClosed.end(text)
    t.equal(statuses(await everything(halfClosed)).length, 2)
  }
  t.equal(meter.events.filter((event) => event.startsWith('NOP')).length, 2)
  t.equal(meter.inProgress, 0)
})

test('a wrong verb wins over the rule that GET and DELETE take no payload', async (t) => {
  const { talk } = await givenFrontEnd(t)
  const wrong = await talk(post('/v1/echo/a', '{}').replace('POST', 'DELETE'))
  t.equal(statusOf(wrong), 405)
  t.equal(headerOf(wrong, 'Allow'), 'POST, GET')
  t.equal(statusOf(await talk(post('/v1/echo/a', '{}').replace('POST', 'GET'))), 400)
})

test('a fault while a response leaves costs its connection, and is logged once', async (t) => {
  const response = { status: 200, body: '1', headers: { 'X-Bad': 'a\nb' } }
  const broken = {
    pattern: '/v1/broken',
    anyCase: true,
    operations: { GET: { use: 'read' as const, prepare: () => ok(() => response) } },
  }
  const { talk, lines, meter } = await givenFrontEnd(t, {}, [broken])
  t.equal(await talk(get('/v1/broken')), '')
  t.equal(statusOf(await talk(get('/version'))), 200)
  t.equal(lines.filter(({ level }) => level === 'ERROR').length, 1)
  t.equal(meter.inProgress, 0)
  t.equal(meter.taken, 0)
})

test('a connection has few requests in progress; the others wait and are answered in their order', async (t) => {
  const { responses, resource } = held()
  const { connect, meter } = await givenFrontEnd(t, { connectionRequests: 3 }, [resource])
  const socket = await connect()
  socket.write('GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(20))
  await until(() => responses.length === 3)
  t.equal(meter.inProgress, 3)
  t.equal(meter.taken, 3)
  const text = everything(socket)
  for (let number = 0; number < 20; number += 1) {
    await until(() => responses.length > number)
    t.ok(responses.length <= number + 3)
    responses[number]?.({ status: 200, body: `"${number}"` })
  }
  await until(() => meter.inProgress === 0)
  socket.end(get('/version'))
  const bodies = [...(await text).matchAll(/"(\d+)"/g)].map(([, number]) => Number(number))
  t.same(
    bodies,
    Array.from({ length: 20 }, (_, number) => number),
  )
})

test('requests that come in one packet begin in their order, whichever have a body, and all are answered', async (t) => {
  const begun: string[] = []
  const noted = (verb: string, respond: () => ApiResponse | Promise<ApiResponse>) => ({
    use: 'write' as const,
    prepare: () => {
      begun.push(verb)
      return ok(respond)
    },
  })
  const operations = {
    POST: noted('POST', () => ({ status: 200, body: '"posted"' })),
    GET: noted('GET', () => delay(3, { status: 200, body: '"late"' })),
    DELETE: noted('DELETE', () => ({ status: 200, body: '"deleted"' })),
  }
  const { connect, meter } = await givenFrontEnd(t, { connectionRequests: 2 }, [
    { pattern: '/v1/thing', anyCase: true, operations },
  ])
  const texts = {
    POST: post('/v1/thing', '"1"').replace('Connection: close\r\n', ''),
    GET: 'GET /v1/thing HTTP/1.1\r\nHost: h\r\n\r\n',
    DELETE: 'DELETE /v1/thing HTTP/1.1\r\nHost: h\r\n\r\n',
    NONE: 'GET /v1/none HTTP/1.1\r\nHost: h\r\n\r\n',
  }
  type Verb = keyof typeof texts
  const anyVerbs = fc.array(fc.constantFrom<Verb[]>('POST', 'GET', 'DELETE', 'NONE'), { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(anyVerbs, async (verbs) => {
      begun.length = 0
      const socket = await connect()
      socket.end(verbs.map((verb) => texts[verb]).join(''))
      const final = statuses(await everything(socket)).filter((status) => status >= 200)
      t.equal(final.length, verbs.length)
      t.same(
        begun,
        verbs.filter((verb) => verb !== 'NONE'),
      )
    }),
    { numRuns: runs(100), examples: [[['POST', 'DELETE', 'DELETE']], [['POST', 'GET', 'GET', 'GET']]] },
  )
  t.equal(meter.inProgress, 0)
  t.equal(meter.taken, 0)
})

test('what comes after a request that closes its connection is not carried out', async (t) => {
  const { connect, meter } = await givenFrontEnd(t, { inReqPayloadMaxSize: 10 })
  const socket = await connect()
  socket.end(post('/v1/echo/a', 'x'.repeat(11)).replace('Connection: close\r\n', '') + post('/v1/echo/a', '"second"'))
  t.same(statuses(await everything(socket)), [413])
  const other = await connect()
  other.end(get('/version') + post('/v1/echo/a', '"second"'))
  t.same(statuses(await everything(other)), [200])
  t.notMatch(meter.events, ['POST /v1/echo/{id} json'])
})

test('a body that does not come in time is 408, also one that trickles', async (t) => {
  const { connect, meter } = await givenFrontEnd(t, { bodyTimeout_s: 1 })
  const [silent, trickles] = [await connect(), await connect()]
  silent.write(post('/v1/echo/a', '{"a":1}').slice(0, -3))
  trickles.write(request('POST', '/v1/echo/a', chunkedHead))
  const timer = setInterval(() => trickles.write('1\r\n1\r\n'), 50)
  t.teardown(() => clearInterval(timer))
  for (const response of await Promise.all([everything(silent), everything(trickles)]))
    t.same(statuses(response), [408])
  t.same(meter.events, ['timeout', 'timeout'])
})

test('a body that comes too late takes no memory from others, also when the rest of it comes behind its 408', async (t) => {
  const { connect, talk, meter } = await givenFrontEnd(t, { bodyTimeout_s: 1, requestMemory_MiB: 2 })
  const body = JSON.stringify('x'.repeat(900_000))
  for (let late = 1; late <= 3; late += 1) {
    const socket = await connect()
    const [first, rest] = [post('/v1/echo/a', body).slice(0, -800_000), body.slice(-800_000, -1)]
    socket.write(first)
    await untilReceived(socket, '408')
    await new Promise((resolve) => socket.write(rest, resolve))
    socket.destroy()
  }
  await until(() => meter.inProgress === 0)
  t.equal(statusOf(await talk(post('/v1/echo/a', body))), 200)
})

test('an idle connection is closed after its time, and one whose request is worked on is not', async (t) => {
  const { responses, resource } = held()
  const { connect } = await givenFrontEnd(t, { idleTimeout_s: 1 }, [resource])
  // Where this process stands still, a connection may have been idle for that long before its request is read: then once more.
  let worked = ''
  const isBegun = async () => {
    const [socket, before] = [await connect(), responses.length]
    let isClosed = false
    void everything(socket).then((text) => {
      ;[worked, isClosed] = [text, true]
    })
    socket.write(get('/v1/held'))
    await until(() => responses.length > before || isClosed)
    return responses.length > before
  }
  await until(isBegun, 'a request is worked on')
  await until(async () => {
    const idle = await connect()
    idle.write('GET /version HTTP/1.1\r\nHost: h\r\n\r\n')
    return statuses(await everything(idle)).join() === '200'
  }, 'a connection is closed behind its response')
  await delay(1500)
  responses.at(-1)?.({ status: 200, body: '"worked"' })
  await until(() => worked !== '')
  t.match(worked, /^HTTP\/1\.1 200[\s\S]*worked/)
})

test('a client that does not read its responses is cut off, and one that reads slowly is not', async (t) => {
  const large = 'x'.repeat(64 * 2 ** 20)
  const response = { status: 200, body: large }
  const operations = { GET: { use: 'read' as const, prepare: () => ok(() => response) } }
  const { connect, meter } = await givenFrontEnd(t, { sendTimeout_s: 4 }, [
    { pattern: '/v1/large', anyCase: true, operations },
  ])
  const [deaf, slow] = [await connect(), await connect()]
  for (const socket of [deaf, slow]) socket.pause().write(get('/v1/large'))
  let received = 0
  slow.on('data', (chunk: Buffer) => {
    received += chunk.length
    slow.pause()
    setTimeout(() => slow.resume(), received < 2 ** 19 ? 50 : 0)
  })
  slow.on('error', () => {}).resume()
  deaf.on('error', () => {})
  await Promise.all([once(slow, 'close'), until(() => meter.events.includes('timeout'))])
  t.ok(received > large.length)
  t.equal(meter.events.filter((event) => event === 'timeout').length, 1)
})

test('a large response holds its memory until its client has taken it; one that takes too little makes room for others', async (t) => {
  const response = { status: 200, body: 'x'.repeat(40 * 2 ** 20) }
  const operations = { GET: { use: 'read' as const, prepare: () => ok(() => response) } }
  const { connect, talk, meter } = await givenFrontEnd(t, { responseMemory_MiB: 100 }, [
    { pattern: '/v1/large', anyCase: true, operations },
  ])
  const deaf = await connect()
  deaf.on('error', () => {}).pause()
  deaf.write(get('/v1/large'))
  await until(() => meter.statuses.length === 1)
  const refused = await talk(get('/v1/large'))
  t.equal(statusOf(refused), 503)
  t.match(bodyOf(refused), 'too many large responses are being sent')
  t.notOk(meter.events.includes('timeout'))
  await until(async () => statusOf(await talk(get('/v1/large'))) === 200)
  t.ok(meter.events.includes('timeout'), 'the slow client is cut off')
  await until(async () => statusOf(await talk(get('/v1/large'))) === 200)
})

test('a large response of the management is given to operators in any case, unless it counts among the others', async (t) => {
  const body = 'x'.repeat(2 ** 20)
  const responding = (pattern: string, isCounted?: true) => {
    const response = { status: 200, body, ...(isCounted && { isCounted }) }
    return { pattern, anyCase: false, operations: { GET: { use: 'read' as const, prepare: () => ok(() => response) } } }
  }
  const management = [responding('/admin/log'), responding('/admin/metrics', true)]
  const { talk, meter } = await givenFrontEnd(t, { responseMemory_MiB: 1 }, [], { management })
  t.equal(bodyOf(await talk(get('/admin/log'))), body)
  const refused = await talk(get('/admin/metrics'))
  t.equal(statusOf(refused), 503)
  t.equal(headerOf(refused, 'Retry-After'), '1')
  t.match(bodyOf(refused), 'too many large responses are being sent')
  t.same(
    meter.events.filter((event) => event === 'memory'),
    ['memory'],
  )
})

test('the bytes of requests that are not answered are bounded over all connections', async (t) => {
  const { responses, resource } = held()
  const { connect, talk, meter } = await givenFrontEnd(t, { requestMemory_MiB: 2 }, [resource])
  const body = JSON.stringify('x'.repeat(700_000))
  const sockets: Socket[] = []
  for (const _ of [1, 2]) {
    const socket = await connect()
    socket.write(post('/v1/held', body))
    sockets.push(socket)
    await until(() => responses.length === sockets.length)
  }
  const response = await talk(post('/v1/held', body))
  t.equal(statusOf(response), 503)
  t.equal(headerOf(response, 'Retry-After'), '1')
  t.match(bodyOf(response), 'too many bytes of requests are waiting')
  t.ok(meter.events.includes('memory'))
  t.equal(statusOf(await talk(get('/version'))), 200)
  for (const socket of sockets) socket.resetAndDestroy()
  await until(() => meter.inProgress === 0)
  const again = talk(post('/v1/held', body))
  const number = responses.length
  await until(() => responses.length > number)
  responses.at(-1)?.({ status: 200, body: '"fits"' })
  t.equal(bodyOf(await again), '"fits"')
})

test('bodies that do not come on make room when others are refused memory', async (t) => {
  const { connect, talk, meter, lines, switches } = await givenFrontEnd(t, { requestMemory_MiB: 2 })
  const body = JSON.stringify('x'.repeat(1_000_000))
  switches.traces[traceArea['http.body']] = 1
  const unfinished = [await connect(), await connect()]
  for (const socket of unfinished) socket.write(post('/v1/echo/a', body).slice(0, -1))
  const isHere = ({ message }: { readonly message: string }) => message.endsWith(`${body.length - 1} so far`)
  await until(() => lines.filter(isHere).length === unfinished.length, 'all but the last byte of each has come')
  t.equal(statusOf(await talk(post('/v1/echo/a', body))), 503)
  t.notOk(meter.events.includes('timeout'))
  await until(async () => statusOf(await talk(post('/v1/echo/a', body))) === 200, 'there is room again')
  for (const socket of unfinished) t.same(statuses(await everything(socket)), [408])
})

/** The system refuses to reset what has been ended. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** What a client does on a connection, piece by piece. */
const pieces = [
  'GET /version HTTP/1.1\r\nHost: h\r\n\r\n',
  'GET /v1/late/1 HTTP/1.1\r\nHost: h\r\n\r\n',
  'HEAD /version HTTP/1.1\r\nHost: h\r\n\r\n',
  post('/v1/echo/a', '"1"').replace('Connection: close\r\n', ''),
  post('/v1/echo/a', '"1"'),
  post('/v1/echo/a', '"12345678901234567890"'),
  request('POST', '/v1/echo/a', [...chunkedHead, 'Expect: 100-continue']).replace('Connection: close\r\n', ''),
  request('POST', '/v1/echo/a', chunkedHead).replace('Connection: close\r\n', ''),
  '1\r\n1\r\n',
  '14\r\n12345678901234567890\r\n',
  '0\r\n\r\n',
  '0\r\nTrailer: 1\r\n\r\n',
  'zz\r\n',
  'NOP /v1/echo/a HTTP/1.1\r\nHost: h\r\n\r\n',
  'CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n',
  'GET /version HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
  'GET /version HTTP/1.1\r\n',
  'GET /version HTTP/1.0\r\n\r\n',
]
const action = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...pieces) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...pieces), fc.nat(40)).map(([text, cut]) => text.slice(0, cut)) },
  { weight: 2, arbitrary: fc.constant('pause' as const) },
  { weight: 1, arbitrary: fc.constantFrom('end' as const, 'reset' as const, 'destroy' as const) },
)

test('whatever comes in whatever order, a request is answered at most once, and the next connection is served', async (t) => {
  const { connect, talk, meter, lines } = await givenFrontEnd(t, { inReqPayloadMaxSize: 10, connectionRequests: 2 }, [
    echo,
    late,
  ])
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), fc.boolean(), async (actions, together) => {
      const socket = await connect()
      const text = everything(socket)
      const sent = actions.filter((act) => act.includes(' HTTP/')).length
      if (together) socket.cork()
      for (const act of actions) {
        if (act === 'pause') await delay(2)
        else if (act === 'reset') reset(socket)
        else if (act === 'destroy') socket.destroy()
        else if (act === 'end') socket.end()
        else if (socket.writable) socket.write(act, 'latin1')
      }
      socket.end()
      const final = statuses(await text).filter((status) => status >= 200)
      // The last words to what is no HTTP are a response too.
      if (final.length > sent + 1) throw new Error(`${final} for ${sent} requests`)
      const refusals = final.filter((status) => status === 400 || status === 413 || status === 431)
      if (refusals.length > 0 && final.lastIndexOf(refusals.at(-1) ?? 0) !== final.length - 1)
        throw new Error(`${final}`)
      if (statusOf(await talk(get('/version'))) !== 200) throw new Error('not served any more')
    }),
    { numRuns: runs(150) },
  )
  await until(() => meter.inProgress === 0)
  t.equal(meter.taken, 0)
  t.same(
    lines.filter(({ level }) => level === 'ERROR'),
    [],
  )
})
