import { type Test, test } from 'tap'
import { Destinations } from '../../src/delivery/http-client/destinations.js'
import { HttpClient } from '../../src/delivery/http-client/http-client.js'
import { FarEnd, flood, rawEnd } from '../far-end.js'

function httpClient(t: Test): HttpClient {
  const destinations = new Destinations({ allow: undefined, deny: undefined })
  const connecting = { connectLimit_ms: 60_000, insecure: false, destinations }
  const client = new HttpClient({ kept: true, maxIdle: 1, retried: false, ...connecting })
  t.teardown(() => client.close())
  return client
}

/** How a request ended whose response is not limited in length or time: its status, why the body broke off, and the bytes of that. */
async function asked(client: HttpClient, url: string) {
  let bytes = 0
  const take = (piece: Buffer): undefined => {
    bytes += piece.length
  }
  const { origin, pathname: path } = new URL(url)
  const { status, ended } = await client.send({ origin, path, headers: [], body: Buffer.from('{}'), take })
  return { status, fault: await ended, bytes }
}

const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

test('a response that is nearly all framing is cut off', async (t) => {
  const tooMuchFraming = { status: 200, fault: { message: 'too much HTTP framing' } }
  const endless = await rawEnd(t, flood(`${chunked}1;`, 'x'.repeat(1000)))
  t.match(await asked(httpClient(t), endless.url), { ...tooMuchFraming, bytes: 0 }, 'an extension without end')
  const piece = `1;${'x'.repeat(1000)}\r\n1\r\n`
  const repeated = await rawEnd(t, flood(chunked, piece.repeat(100)))
  t.match(await asked(httpClient(t), repeated.url), tooMuchFraming, 'an extension to each byte')
})

test('a body in chunks of one byte is received whole', async (t) => {
  const bytes = 200_000
  const end = await rawEnd(t, (socket) => socket.end(`${chunked}${'1\r\nx\r\n'.repeat(bytes)}0\r\n\r\n`))
  t.match(await asked(httpClient(t), end.url), { status: 200, fault: undefined, bytes })
})

test('many bodies in chunks of one byte share the turns of the event loop', async (t) => {
  const [responses, bytes, most] = [8, 20_000, 600]
  const end = await rawEnd(t, (socket) => socket.end(`${chunked}${'1\r\nx\r\n'.repeat(bytes)}0\r\n\r\n`))
  const client = httpClient(t)
  const turns: number[] = []
  let pieces = 0
  const turnIsOver = (): void => {
    turns.push(pieces)
    pieces = 0
  }
  const take = (): undefined => {
    if (pieces === 0) setImmediate(turnIsOver)
    pieces += 1
  }
  const all = Array.from({ length: responses }, () =>
    client.send({ origin: new URL(end.url).origin, path: '/', headers: [], body: Buffer.from('{}'), take }),
  )
  for (const { ended } of await Promise.all(all)) t.equal(await ended, undefined)
  t.ok(Math.max(...turns) < most, `${Math.max(...turns)} in one turn`)
})

test('what a connection has received for earlier requests does not count', async (t) => {
  const end = await FarEnd.listen(t)
  const bytes = 2 ** 20
  end.respond = (_, response) => response.end('x'.repeat(bytes))
  const client = httpClient(t)
  for (let request = 0; request < 3; request += 1) {
    t.match(await asked(client, end.url()), { status: 200, fault: undefined, bytes })
  }
  t.equal(new Set(end.received.map(({ socket }) => socket)).size, 1)
})
