import { test } from 'tap'
import type { ApiResponse, BodyStream, Resource } from '../../src/broker/operations/api.js'
import { ok } from '../../src/result.js'
import { isStill, until } from '../until.js'
import { bodyOf, connected, everything, get, givenFrontEnd, headerOf, untilReceived } from './given.js'

function streaming(stream: BodyStream, more: Partial<ApiResponse> = {}): Resource {
  const prepare = () => ok(() => ({ status: 200, contentType: 'application/x-tar', stream, ...more }))
  return { pattern: '/v1/stream', anyCase: true, operations: { GET: { use: 'read', prepare } } }
}

test('a body is sent as it is made: in pieces, or with the length that its headers say', async (t) => {
  const pieces: BodyStream = async function* () {
    for (const text of ['one', 'two']) yield Buffer.from(text)
  }
  const chunked = await givenFrontEnd(t, {}, [streaming(pieces)])
  const response = await chunked.talk(get('/v1/stream'))
  t.equal(headerOf(response, 'Transfer-Encoding'), 'chunked')
  t.equal(headerOf(response, 'Content-Type'), 'application/x-tar')
  t.equal(bodyOf(response), '3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n')
  const sized = await givenFrontEnd(t, {}, [streaming(pieces, { headers: { 'Content-Length': '6' } })])
  const second = await sized.talk(get('/v1/stream'))
  t.equal(headerOf(second, 'Transfer-Encoding'), undefined)
  t.equal(bodyOf(second), 'onetwo')
  t.equal(sized.meter.inProgress, 0)
})

test('no more is made than the client takes, and nothing when it has gone', async (t) => {
  const piece = Buffer.alloc(2 ** 18)
  let made = 0
  let ended = false
  let wasGone = false
  const endless: BodyStream = async function* (gone) {
    try {
      for (;;) {
        made += 1
        yield piece
      }
    } finally {
      ended = true
      wasGone = gone.aborted
    }
  }
  const { frontEnd, meter } = await givenFrontEnd(t, {}, [streaming(endless)])
  const socket = await connected(frontEnd.port)
  socket.pause()
  socket.write('GET /v1/stream HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => made > 0)
  await until(
    isStill(20, () => made),
    'nothing more is made',
  )
  t.ok(made < 64, `${made} pieces were made for nobody`)
  t.notOk(ended)
  socket.destroy()
  await until(() => ended && meter.inProgress === 0)
  t.ok(wasGone)
})

test('a fault in the middle breaks the connection off, so that nobody takes the body for a whole one', async (t) => {
  let hasCome = false
  const failing: BodyStream = async function* () {
    yield Buffer.from('half')
    await until(() => hasCome)
    throw new Error('the disk has gone')
  }
  const { frontEnd, meter, lines } = await givenFrontEnd(t, {}, [streaming(failing)])
  const socket = await connected(frontEnd.port)
  socket.on('data', (bytes) => {
    hasCome ||= String(bytes).includes('half')
  })
  socket.write('GET /v1/stream HTTP/1.1\r\nHost: h\r\n\r\n')
  const response = await everything(socket)
  t.match(response, /half/)
  t.notMatch(response, /\r\n0\r\n/, 'it is not ended')
  t.same(
    lines.filter(({ level }) => level !== 'INFO').map(({ level }) => level),
    ['ERROR'],
  )
  await until(() => meter.inProgress === 0)
})

test('the next request of a connection waits until a body has gone out', async (t) => {
  let go: () => void = () => {}
  const waiting: BodyStream = async function* () {
    yield Buffer.from('first')
    await new Promise<void>((resolve) => {
      go = resolve
    })
    yield Buffer.from('last')
  }
  const { frontEnd } = await givenFrontEnd(t, {}, [streaming(waiting)])
  const socket = await connected(frontEnd.port)
  socket.write('GET /v1/stream HTTP/1.1\r\nHost: h\r\n\r\n')
  await untilReceived(socket, 'first')
  socket.write('GET /version HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  go()
  const rest = await everything(socket)
  t.match(rest, /last\r\n0\r\n\r\nHTTP\/1.1 200 OK/)
})
