import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'tap'
import type { ApiRequest, Operation, Resource, Use } from '../../src/broker/operations/api.js'
import { InputTurns } from '../../src/http/held-requests.js'
import { ok } from '../../src/result.js'
import { until } from '../until.js'
import { connected, everything, givenFrontEnd, untilReceived } from './given.js'

interface Watched {
  readonly resource: Resource
  /** In which turn of the event loop each of its requests began. */
  readonly begun: readonly { readonly id: string; readonly turn: number }[]
  /** Resolves in the turn in which the next request begins. */
  next(): Promise<void>
}

function watched(works: (request: ApiRequest) => void = () => {}): Watched {
  const begun: { id: string; turn: number }[] = []
  const waiting: (() => void)[] = []
  let turn = 0
  const count = () => {
    turn += 1
    setImmediate(count).unref()
  }
  setImmediate(count).unref()
  const prepare: Operation['prepare'] = (request) => {
    const id = request.segments['id'] ?? ''
    begun.push({ id, turn })
    for (const resolve of waiting.splice(0)) resolve()
    works(request)
    return ok(() => ({ status: 200, body: `"${id}"` }))
  }
  const resource: Resource = {
    pattern: '/v1/watched/{id}',
    anyCase: true,
    operations: { GET: { use: 'read', prepare }, POST: { use: 'write', prepare } },
  }
  return { resource, begun, next: () => new Promise((resolve) => waiting.push(resolve)) }
}

function pipeline(name: string, count: number, from = 0): string {
  let text = ''
  for (let at = from; at < from + count; at += 1) text += `GET /v1/watched/${name}-${at} HTTP/1.1\r\nHost: h\r\n\r\n`
  return text
}

const last = 'GET /v1/watched/last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'

/** What the responses say, in their order. */
function bodiesIn(text: string): readonly string[] {
  return [...text.matchAll(/\r\n\r\n"([^"]*)"/g)].map(([, id = '']) => id)
}

function names(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${name}-${at}`)
}

test('a connection begins at most 16 requests in a turn of the event loop, and answers all in their order', async (t) => {
  const { resource, begun } = watched()
  const { connect, meter } = await givenFrontEnd(t, { connectionRequests: 100 }, [resource])
  const sockets = [await connect(), await connect(), await connect()]
  const texts = await Promise.all(
    sockets.map((socket, at) => {
      socket.write(pipeline(`c${at}`, 1000) + last)
      return everything(socket)
    }),
  )
  for (const [at, text] of texts.entries()) t.same(bodiesIn(text), [...names(`c${at}`, 1000), 'last'])
  const counts = new Map<string, number>()
  for (const { id, turn } of begun) {
    const key = `${id.split('-')[0]} ${turn}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  // The part of an event loop's turn in which sockets are read is seen here with the one before or after it.
  t.ok(Math.max(...counts.values()) <= 32, `${Math.max(...counts.values())}`)
  t.equal(meter.inProgress, 0)
  t.equal(meter.taken, 0)
})

test('another client is served between the requests of a connection that has sent many', async (t) => {
  const { resource, begun, next } = watched()
  const { connect } = await givenFrontEnd(t, {}, [resource])
  const [many, other] = [await connect(), await connect()]
  const all = everything(many)
  const first = next()
  many.write(pipeline('many', 1000) + last)
  await first
  other.write(pipeline('other', 1))
  await untilReceived(other, '"other-0"')
  const before = begun.findIndex(({ id }) => id === 'other-0')
  t.ok(before < 500, `${before}`)
  t.equal(bodiesIn(await all).length, 1001)
})

test('bytes that are no HTTP behind many requests are refused after their responses', async (t) => {
  const { resource } = watched()
  const { connect, meter } = await givenFrontEnd(t, {}, [resource])
  const socket = await connect()
  socket.write(`${pipeline('good', 500)}NO HTTP AT ALL\x00\r\n\r\n`)
  const text = await everything(socket)
  t.same(bodiesIn(text), names('good', 500))
  t.match(text.slice(text.lastIndexOf('HTTP/1.1')), /^HTTP\/1.1 400 Bad Request\r\nConnection: close\r\n/)
  t.equal(meter.inProgress, 0)
  t.equal(meter.events.filter((event) => event === 'malformed').length, 1)
})

test('a verb that the parser does not know behind many requests is refused after their responses', async (t) => {
  const { resource } = watched()
  const { talk } = await givenFrontEnd(t, {}, [resource])
  const text = await talk(`${pipeline('good', 100)}FOO /v1/watched/x HTTP/1.1\r\nHost: h\r\n\r\n`)
  t.same(bodiesIn(text), names('good', 100))
  t.match(text.slice(text.lastIndexOf('HTTP/1.1')), /^HTTP\/1.1 405 /)
})

test('a client that has closed its sending half behind many requests gets all responses', async (t) => {
  const { resource } = watched()
  const { connect } = await givenFrontEnd(t, {}, [resource])
  for (const count of [16, 17, 500]) {
    const socket = await connect()
    socket.end(pipeline('half', count))
    t.same(bodiesIn(await everything(socket)), names('half', count))
  }
})

test('a connection that closes while its requests are held gives everything back and leaves the others alone', async (t) => {
  const { resource, next } = watched()
  const { connect, meter } = await givenFrontEnd(t, { requestMemory_MiB: 8 }, [resource])
  for (let round = 0; round < 8; round += 1) {
    const first = next()
    const [gone, stays] = [await connect(), await connect()]
    gone.on('error', () => {})
    gone.write(pipeline('gone', 1000))
    await first
    gone.destroy()
    stays.write(pipeline('stays', 200) + last)
    t.same(bodiesIn(await everything(stays)), [...names('stays', 200), 'last'])
  }
  await until(() => meter.open === 0)
  t.equal(meter.inProgress, 0)
  t.equal(meter.taken, 0)
  t.notOk(meter.events.includes('memory'))
})

test('requests that are held count for the memory of requests, and a connection without memory for them is cut off', async (t) => {
  const { resource } = watched()
  const { connect, talk, meter } = await givenFrontEnd(t, { requestMemory_MiB: 1 }, [resource])
  const socket = await connect()
  socket.write(pipeline('many', 1300) + last)
  t.ok(bodiesIn(await everything(socket)).length < 1300)
  t.ok(meter.events.includes('memory'))
  t.same(bodiesIn(await talk(last)), ['last'])
})

test('an orderly end answers the requests that are held, and the last response says that it is the last one', async (t) => {
  const { resource, next } = watched()
  const { connect, frontEnd } = await givenFrontEnd(t, {}, [resource])
  const socket = await connect()
  const all = everything(socket)
  const first = next()
  socket.write(pipeline('held', 300))
  await first
  t.equal(await frontEnd.stop(20_000), 0)
  const text = await all
  t.same(bodiesIn(text), names('held', 300))
  t.equal(text.split('Connection: close').length, 2)
  t.ok(text.lastIndexOf('Connection: close') > text.lastIndexOf('HTTP/1.1'))
})

test('bodies of many requests that come together reach their requests', async (t) => {
  const { connect, meter } = await givenFrontEnd(t)
  const socket = await connect()
  let text = ''
  for (let at = 0; at < 300; at += 1) {
    const body = `"${at}"`
    const length = at % 2 === 0 ? `Content-Length: ${body.length}\r\n\r\n${body}` : 'Transfer-Encoding: chunked\r\n\r\n'
    const chunks = at % 2 === 0 ? '' : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    text += `POST /v1/echo/x HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n${length}${chunks}`
  }
  socket.write(`${text}GET /version HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
  t.same(
    bodiesIn(await everything(socket)),
    Array.from({ length: 300 }, (_, at) => `${at}`),
  )
  t.equal(meter.inProgress, 0)
})

test('what one connection sends after its requests were held is served as before', async (t) => {
  const { resource } = watched()
  const { frontEnd } = await givenFrontEnd(t, {}, [resource])
  const socket = await connected(frontEnd.port)
  const all = everything(socket)
  for (let round = 0; round < 5; round += 1) {
    socket.write(pipeline('round', 100, round * 100))
    await once(socket, 'data')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  socket.write(last)
  t.same(bodiesIn(await all), [...names('round', 500), 'last'])
})

/** A resource that notes when the work of each of its requests begins and ends; each takes some turns of the event loop. */
function noted(): { readonly resource: Resource; readonly lines: readonly string[] } {
  const lines: string[] = []
  const operation = (use: Use): Operation => ({
    use,
    prepare: ({ segments }) => {
      const id = segments['id'] ?? ''
      return ok(async () => {
        lines.push(`${id} begins`)
        await new Promise((resolve) => setTimeout(resolve, 5))
        lines.push(`${id} ends`)
        return { status: 200, body: `"${id}"` }
      })
    },
  })
  const operations = { GET: operation('read'), DELETE: operation('write') }
  return { resource: { pattern: '/v1/noted/{id}', anyCase: true, operations }, lines }
}

test('what changes something works alone on its connection: a later request sees its effect, an earlier one does not', async (t) => {
  const { resource, lines } = noted()
  const { connect, meter } = await givenFrontEnd(t, {}, [resource])
  const socket = await connect()
  const sent = ['GET /v1/noted/a', 'GET /v1/noted/b', 'DELETE /v1/noted/c', 'DELETE /v1/noted/d', 'GET /v1/noted/e']
  socket.write(sent.map((line) => `${line} HTTP/1.1\r\nHost: h\r\n\r\n`).join('') + last.replace('watched', 'noted'))
  t.same(bodiesIn(await everything(socket)), ['a', 'b', 'c', 'd', 'e', 'last'])
  t.same(lines.slice(4, 8), ['c begins', 'c ends', 'd begins', 'd ends'])
  t.same(lines.slice(0, 2), ['a begins', 'b begins'], 'requests that only read work together')
  t.same([...lines.slice(0, 4)].sort(), ['a begins', 'a ends', 'b begins', 'b ends'])
  t.same(lines.slice(8, 10), ['e begins', 'last begins'])
  t.equal(meter.inProgress, 0)
})

test('whoever was interrupted reads on together in the next turn, and those that bring much one in a turn behind them', async (t) => {
  const turns = new InputTurns(() => {})
  const inTurn: string[] = []
  const input = (name: string) => ({
    takeTurn: () => {},
    readNext: () => void inTurn.push(name),
    readAgain: () => void inTurn.push(`${name} again`),
  })
  const [first, second] = [input('first'), input('second')]
  turns.addReader(first)
  turns.addReader(second)
  turns.addReader(first)
  for (const name of ['a', 'b']) turns.interrupt(input(name))
  const readInNext = async (): Promise<readonly string[]> => {
    await nextTurn()
    return inTurn.splice(0)
  }
  t.same(await readInNext(), ['a again', 'b again'])
  t.same(await readInNext(), ['first'])
  t.same(await readInNext(), ['second'])
  t.same(await readInNext(), [])
})

/** The work of a request: one with a long body or parameter uses up the time that large requests have in a turn of the event loop. */
function sized({ body, parameters }: ApiRequest): void {
  const until_ms = performance.now() + 3
  while (body.length + (parameters.get('q')?.length ?? 0) > 100 && performance.now() < until_ms);
}

/** An update with a body of this many bytes, without its last byte. */
function allButOne(id: string, bytes: number): string {
  const head = `POST /v1/watched/${id} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n`
  return `${head}Content-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes - 1)}`
}

/** The most requests that began in one turn; the turns that are counted here and those in which requests begin may be out of step. */
function mostInTurn(begun: Watched['begun']): number {
  const counts = new Map<number, number>()
  for (const { turn } of begun) counts.set(turn, (counts.get(turn) ?? 0) + 1)
  return Math.max(...counts.values())
}

for (const [what, query, bytes] of [
  ['bodies', '', 2048],
  ['targets', `?q=${'x'.repeat(2048)}`, 10],
] as const) {
  test(`requests of many connections that have long ${what} and are complete at the same time begin in several turns`, async (t) => {
    const { resource, begun } = watched(sized)
    const { connect, meter } = await givenFrontEnd(t, {}, [resource])
    const sockets = await Promise.all(Array.from({ length: 40 }, connect))
    for (const [at, socket] of sockets.entries()) socket.write(allButOne(`s${at}${query}`, bytes))
    await until(() => meter.inProgress === sockets.length)
    const responses = sockets.map((socket, at) => untilReceived(socket, `"s${at}"`))
    for (const socket of sockets) socket.write('x')
    await Promise.all(responses)
    t.equal(begun.length, sockets.length)
    t.ok(mostInTurn(begun) <= 4, `${mostInTurn(begun)}`)
    t.equal(meter.taken, 0)
  })
}

test('small requests do not wait for large ones of other connections', async (t) => {
  const { resource, begun } = watched(sized)
  const { connect, meter } = await givenFrontEnd(t, { requestPermits: 4 }, [resource])
  const sockets = await Promise.all(Array.from({ length: 20 }, connect))
  const small = await connect()
  for (const [at, socket] of sockets.entries()) socket.write(allButOne(`s${at}`, 2048))
  small.write(allButOne('small', 100))
  await until(() => meter.inProgress === sockets.length + 1)
  const responses = [...sockets.map((socket, at) => untilReceived(socket, `"s${at}"`)), untilReceived(small, '"small"')]
  for (const socket of [...sockets, small]) socket.write('x')
  await Promise.all(responses)
  const before = begun.findIndex(({ id }) => id === 'small')
  t.ok(before < 5, `${before}`)
})

test('a large request that waits for its turn of the event loop stays before what follows it on its connection', async (t) => {
  const { resource, begun } = watched(sized)
  const { connect, meter } = await givenFrontEnd(t, {}, [resource])
  const sockets = await Promise.all(Array.from({ length: 10 }, connect))
  for (const [at, socket] of sockets.entries()) socket.write(allButOne(`s${at}`, 2048))
  await until(() => meter.inProgress === sockets.length)
  const responses = sockets.map((socket, at) => untilReceived(socket, `"next${at}"`))
  for (const [at, socket] of sockets.entries()) socket.write(`x${allButOne(`next${at}`, 10)}x`)
  for (const [at, text] of (await Promise.all(responses)).entries()) t.same(bodiesIn(text), [`s${at}`, `next${at}`])
  const ids = begun.map(({ id }) => id)
  for (const at of sockets.keys()) t.ok(ids.indexOf(`s${at}`) < ids.indexOf(`next${at}`))
})

test('a large request whose client goes while it waits for its turn of the event loop does not begin, and gives everything back', async (t) => {
  const { resource, begun, next } = watched(sized)
  const { connect, meter } = await givenFrontEnd(t, { requestPermits: 4 }, [resource])
  const sockets = await Promise.all(Array.from({ length: 20 }, connect))
  for (const [at, socket] of sockets.entries()) {
    socket.on('error', () => {})
    socket.write(allButOne(`s${at}`, 2048))
  }
  await until(() => meter.inProgress === sockets.length)
  const first = next()
  for (const socket of sockets) socket.write('x')
  await first
  for (const socket of sockets) socket.resetAndDestroy()
  await until(() => meter.open === 0)
  await nextTurn()
  t.ok(begun.length < 5, `${begun.length}`)
  t.equal(meter.inProgress, 0)
  t.equal(meter.taken, 0)
})

test('a connection whose rest is thrown away is read on behind one whose body comes in small pieces', async (t) => {
  const { connect } = await givenFrontEnd(t)
  const refused = await connect()
  const length = 8 * 2 ** 20
  refused.write(`${begun('a')}Content-Length: ${length}\r\n\r\n`)
  await untilReceived(refused, 'HTTP/1.1 413')
  const flood = await connect()
  flood.write(`${begun('b')}Transfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(20_000)}2\r\n{}\r\n0\r\n\r\n`)
  await untilReceived(flood, 'HTTP/1.1 200')
  const ended = new Promise((resolve) => refused.once('error', resolve).once('close', resolve))
  refused.end('x'.repeat(length))
  t.equal(await ended, false, 'all of it was taken')
})

/** The head of an update, but for how its body is framed. */
function begun(id: string): string {
  return `POST /v1/echo/${id} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n`
}
