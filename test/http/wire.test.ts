import { test } from 'tap'
import { until } from '../until.js'
import { bodyOf, everything, get, givenFrontEnd, headerOf, post, request, statusOf, untilReceived } from './given.js'

test('a response has its length, its type, a date and the correlator of the request', async (t) => {
  const { talk } = await givenFrontEnd(t)
  const response = await talk(post('/v1/echo/a', '{"é":1}', 'Fiware-Correlator: shift 7'))
  t.equal(statusOf(response), 200)
  t.equal(headerOf(response, 'Content-Length'), '8')
  t.equal(headerOf(response, 'Content-Type'), 'application/json')
  t.equal(headerOf(response, 'Fiware-Correlator'), 'shift 7')
  t.match(headerOf(response, 'Date'), / GMT$/)
  t.notMatch(response, /transfer-encoding/i)
  t.match(headerOf(await talk(get('/version', 'Fiware-Correlator:')), 'Fiware-Correlator'), /^[0-9a-f-]{36}$/)
})

test('a correlator beyond ASCII is echoed byte by byte', async (t) => {
  const { talk } = await givenFrontEnd(t)
  t.match(
    await talk(post('/v1/echo/a', '{}', 'Fiware-Correlator: Schicht \xfc')),
    'Fiware-Correlator: Schicht \xfc\r\n',
  )
})

test('requests that come together are answered in their order', async (t) => {
  let release = () => {}
  const slow = {
    pattern: '/v1/slow',
    anyCase: true,
    operations: {
      GET: {
        use: 'read' as const,
        prepare: () => ({
          ok: true as const,
          value: () =>
            new Promise<{ status: number; body: string }>((resolve) => {
              release = () => resolve({ status: 200, body: '"slow"' })
            }),
        }),
      },
    },
  }
  const { connect, meter } = await givenFrontEnd(t, {}, [slow])
  const socket = await connect()
  socket.write('GET /v1/slow HTTP/1.1\r\nHost: h\r\n\r\nGET /version HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  await until(() => meter.statuses.length > 0)
  t.equal(meter.taken, 1)
  release()
  const responses = await everything(socket)
  t.ok(responses.indexOf('"slow"') < responses.indexOf('{"ok":true}'))
  t.equal(meter.inProgress, 0)
  t.equal(meter.taken, 0)
})

test('malformed HTTP is answered with 400, no body, no correlator, and the connection is closed', async (t) => {
  const { talk, meter } = await givenFrontEnd(t)
  const malformed = [
    'C(LOUR / HTTP/1.1\r\nHost: h\r\n\r\n',
    'COLOUR\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n',
    'POST /v1/echo/a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    'POST /v1/echo/a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
    'GET /version HTTP/1.1\r\n\r\n',
    'POST /v1/echo/a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  ]
  for (const bytes of malformed) {
    const response = await talk(bytes)
    t.equal(statusOf(response), 400, bytes)
    t.equal(bodyOf(response), '')
    t.equal(headerOf(response, 'Connection'), 'close')
    t.equal(headerOf(response, 'Fiware-Correlator'), undefined)
  }
  t.same(
    meter.events,
    malformed.map(() => 'malformed'),
  )
  t.equal(meter.inProgress, 0)
})

test('what comes after a good request and is no HTTP is refused after the response to the good one', async (t) => {
  const { talk } = await givenFrontEnd(t)
  const responses = await talk('GET /version HTTP/1.1\r\nHost: h\r\n\r\nnonsense\r\n\r\n')
  t.equal(statusOf(responses), 200)
  t.match(responses, /\{"ok":true\}HTTP\/1\.1 400 /)
})

test('a body in chunks is a body, and none when it is empty', async (t) => {
  const { talk } = await givenFrontEnd(t)
  const head = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
  t.equal(
    bodyOf(await talk(request('POST', '/v1/echo/a', head, '2\r\n{"\r\n'), '3\r\na":\r\n2\r\n1}\r\n0\r\n\r\n')),
    '{"a":1}',
  )
  t.equal(statusOf(await talk(request('POST', '/v1/echo/a', head, '0\r\n\r\n'))), 411)
  t.equal(
    statusOf(await talk(request('POST', '/v1/echo/a', ['Transfer-Encoding: chunked'], '1\r\nx\r\n0\r\n\r\n'))),
    415,
  )
})

test('a body up to the limit is taken, a longer one is 413 and closes the connection', async (t) => {
  const { talk, meter } = await givenFrontEnd(t, { inReqPayloadMaxSize: 10 })
  t.equal(bodyOf(await talk(post('/v1/echo/a', '"12345678"'))), '"12345678"')
  const response = await talk(post('/v1/echo/a', '"123456789"').replace('Connection: close\r\n', ''))
  t.equal(statusOf(response), 413)
  t.equal(headerOf(response, 'Connection'), 'close')
  t.same(JSON.parse(bodyOf(response)), {
    errorCode: {
      code: '413',
      reasonPhrase: 'Request Entity Too Large',
      details: 'payload size: 11, max size supported: 10',
    },
  })
  const head = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
  const chunked = await talk(request('POST', '/version', head, '14\r\n12345678901234567890\r\n0\r\n\r\n'))
  t.same(JSON.parse(bodyOf(chunked)), {
    error: 'RequestEntityTooLarge',
    description: 'payload size: 20, max size supported: 10',
  })
  t.equal(meter.events.filter((event) => event === 'too_large').length, 2)
  t.equal(meter.inProgress, 0)
})

test('100 is sent only when the head is good', async (t) => {
  const { talk, connect } = await givenFrontEnd(t)
  const head = ['Content-Length: 2', 'Expect: 100-continue']
  const socket = await connect()
  socket.write(request('POST', '/v1/echo/a', ['Content-Type: application/json', ...head]))
  t.match(await untilReceived(socket, '\r\n\r\n'), /^HTTP\/1\.1 100 Continue/)
  socket.write('{}')
  t.equal(bodyOf(await everything(socket)), '{}')
  const response = await talk(
    request('POST', '/v1/echo/a', ['Content-Type: text/csv', ...head]).replace('Connection: close\r\n', ''),
  )
  t.equal(statusOf(response), 415)
  t.equal(headerOf(response, 'Connection'), 'close')
})

test('the target may be absolute, and hosts and paths that have no URL are served', async (t) => {
  const { talk } = await givenFrontEnd(t)
  t.same(JSON.parse(bodyOf(await talk(get('http://elsewhere:1/v1/echo/a?x=1')))).parameters, { x: '1' })
  t.equal(JSON.parse(bodyOf(await talk(get('/v1/echo/a\\b')))).id, 'a\\b')
  t.equal(JSON.parse(bodyOf(await talk(get('/v1/echo/..')))).id, '..')
  t.equal(statusOf(await talk(get('/version').replace('Host: h', 'Host: a b'))), 200)
  t.equal(statusOf(await talk(request('OPTIONS', '*', []))), 400)
})

test('HTTP/1.0 needs no host and is closed after the response', async (t) => {
  const { talk } = await givenFrontEnd(t)
  const response = await talk('GET /version HTTP/1.0\r\n\r\n')
  t.equal(statusOf(response), 200)
  t.equal(bodyOf(response), '{"ok":true}')
})

test('headers that are stored with each notification have a limit of their own', async (t) => {
  const { talk } = await givenFrontEnd(t)
  for (const [name, most] of [
    ['Fiware-Correlator', 1024],
    ['X-Auth-Token', 8192],
  ] as const) {
    t.equal(statusOf(await talk(get('/v1/echo/a', `${name}: ${'x'.repeat(most)}`))), 200)
    const refused = await talk(get('/v1/echo/a', `${name}: ${'x'.repeat(most + 1)}`))
    const details = `${name} length: ${most + 1}, max length supported: ${most}`
    t.same(JSON.parse(bodyOf(refused)), { orionError: { code: '400', reasonPhrase: 'Bad Request', details } })
  }
})

test('a head that is too long is 431, a long target 414, and so are more than 200 headers', async (t) => {
  const { talk } = await givenFrontEnd(t, { connectionMemory_KiB: 4 })
  const long = await talk(get('/version', `X-Filler: ${'a'.repeat(5000)}`))
  t.equal(statusOf(long), 431)
  t.equal(bodyOf(long), '')
  t.equal(statusOf(await talk(get(`/v1/echo/${'a'.repeat(2048 - 9)}`))), 200)
  t.equal(statusOf(await talk(get(`/v1/echo/${'a'.repeat(2049 - 9)}`))), 414)
  const headers = (count: number) => Array.from({ length: count - 2 }, (_, index) => `x${index}: 1`)
  t.equal(statusOf(await talk(get('/version', ...headers(200)))), 200)
  t.equal(statusOf(await talk(get('/version', ...headers(201)))), 431)
})

test('HEAD has the length of the body and no body where machines poll, elsewhere it is a wrong verb', async (t) => {
  const { talk } = await givenFrontEnd(t)
  const response = await talk(request('HEAD', '/version', []))
  t.equal(statusOf(response), 200)
  t.equal(headerOf(response, 'Content-Length'), '11')
  t.equal(bodyOf(response), '')
  const wrong = await talk(request('HEAD', '/v1/echo/a', []))
  t.equal(statusOf(wrong), 405)
  t.equal(headerOf(wrong, 'Allow'), 'POST, GET')
})

test('a fault in an operation is 500 for the client and one line with the stack for the operator', async (t) => {
  const prepare = () => {
    throw new Error('broken on purpose')
  }
  const late = () => ({ ok: true as const, value: () => Promise.reject(new Error('broken later')) })
  const broken = { pattern: '/v1/broken', anyCase: true, operations: { GET: { use: 'read' as const, prepare } } }
  const brokenLate = {
    pattern: '/v1/late',
    anyCase: true,
    operations: { GET: { use: 'read' as const, prepare: late } },
  }
  const { talk, lines, meter } = await givenFrontEnd(t, {}, [broken, brokenLate])
  for (const path of ['/v1/broken', '/v1/late']) {
    const response = await talk(get(path))
    t.equal(statusOf(response), 500)
    t.equal(
      bodyOf(response),
      '{"orionError":{"code":"500","reasonPhrase":"Internal Server Error","details":"internal error"}}',
    )
  }
  const errors = lines.filter(({ level }) => level === 'ERROR')
  t.equal(errors.length, 2)
  t.match(errors[0]?.message, /broken on purpose[\s\S]* at /)
  t.equal(meter.taken, 0)
})

test('the line of a request shows verb, target without secrets, payload and status', async (t) => {
  const { talk, lines } = await givenFrontEnd(t)
  await talk(post('/v1/echo/a?token=secret', '{\n "a": 1 }'))
  await talk(get('/nothing'))
  await talk(get('/health/live'))
  const refusal = '{"orionError":{"code":"400","reasonPhrase":"Bad Request","details":"service not found"}}'
  t.same(
    lines.map(({ message }) => message),
    [
      'Request received: POST /v1/echo/a?token=***, request payload (11 bytes): { "a": 1 }, response code: 200',
      `Request received: GET /nothing, response code: 400, response payload (${refusal.length} bytes): ${refusal}`,
    ],
  )
})
