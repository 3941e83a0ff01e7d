import { createServer as createTlsServer } from 'node:https'
import { createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { Destinations } from '../../src/delivery/http-client/destinations.js'
import type { BodyStart, HttpMessage } from '../../src/delivery/queue/outgoing.js'
import { HttpSender, type HttpSettings } from '../../src/delivery/senders/http-sender.js'
import { withoutSecrets } from '../../src/observe/log/secrets.js'
import { FarEnd, flood, listening, rawEnd, responding } from '../far-end.js'
import { until } from '../until.js'
import { itsKey, unknownCertificate } from './certificate.js'

const anywhere = new Destinations({ allow: undefined, deny: undefined })

function sender(t: Test, settings: Partial<HttpSettings> = {}): HttpSender {
  const made = new HttpSender({
    ...{ timeout_ms: 60_000, accept: '2xx', kept: true, total: 256, perReceiver: 64, insecure: false },
    ...{ destinations: anywhere, ...settings },
  })
  t.teardown(() => made.close())
  return made
}

function outgoing(url: string, more: Partial<HttpMessage> = {}): HttpMessage {
  return {
    kind: 'http',
    url,
    headers: ['X-Auth-Token', 'secret', 'Fiware-Correlator', 'c'],
    body: Buffer.from('{"a":1}'),
    ...more,
  }
}

test('a status says whether a notification is accepted, refused or in trouble', async (t) => {
  const end = await FarEnd.listen(t)
  const sent = sender(t)
  const any = sender(t, { accept: 'any' })
  const kinds = {
    accepted: [200, 201, 204, 299],
    refused: [300, 304, 400, 401, 404, 410, 600],
    trouble: [408, 425, 429, 500, 503, 599],
  }
  for (const [kind, statuses] of Object.entries(kinds)) {
    for (const status of statuses) {
      end.respond = responding(status)
      t.match(
        await sent.send(outgoing(end.url())),
        kind === 'accepted' ? { kind, status } : { kind, reason: `${status}` },
      )
      t.same(await any.send(outgoing(end.url())), { kind: 'accepted', status })
    }
  }
})

test('a response that arrives while the thread stands still is read, however late that is', async (t) => {
  const end = await rawEnd(t, (socket) => {
    socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
  })
  t.same(await sender(t, { timeout_ms: 200 }).send(outgoing(end.url)), { kind: 'accepted', status: 204 })
})

test('the request has the method, the body and the headers that it was given, on a connection that is kept', async (t) => {
  const end = await FarEnd.listen(t)
  const sent = sender(t)
  for (let time = 0; time < 3; time += 1) await sent.send(outgoing(end.url('/in/box?a=b&c')))
  t.match(end.received[0], {
    method: 'POST',
    url: '/in/box?a=b&c',
    body: '{"a":1}',
    headers: {
      host: `127.0.0.1:${end.port}`,
      'content-length': '7',
      'x-auth-token': 'secret',
      'fiware-correlator': 'c',
    },
  })
  t.notOk(end.received[0]?.headers['transfer-encoding'])
  t.equal(new Set(end.received.map(({ socket }) => socket)).size, 1)
})

test('the path and the query arrive as they are written, and nothing splits the request line', async (t) => {
  const end = await FarEnd.listen(t)
  const sent = sender(t)
  const written = ['/n/a/../b', '/n/${id}', '/n?a=x#y&b=1', '/n?a={"a":1}', '/n?a=b HTTP/1.1\r\nx: é']
  for (const each of written) t.match(await sent.send(outgoing(end.url(each))), { kind: 'accepted' }, each)
  t.same(
    end.received.map(({ url }) => url),
    [...written.slice(0, -1), '/n?a=b%20HTTP/1.1%0D%0Ax:%20%C3%A9'],
  )
})

test('in transient mode every attempt has a connection of its own, which it says it closes', async (t) => {
  const end = await FarEnd.listen(t)
  const sent = sender(t, { kept: false })
  for (let time = 0; time < 3; time += 1) await sent.send(outgoing(end.url()))
  t.equal(new Set(end.received.map(({ socket }) => socket)).size, 3)
  t.same(
    end.received.map(({ headers }) => headers.connection),
    ['close', 'close', 'close'],
  )
})

test('redirects are followed with the same method and body, at most five of them', async (t) => {
  const end = await FarEnd.listen(t)
  const sent = sender(t)
  for (const status of [301, 302, 303, 307, 308]) {
    end.received.length = 0
    end.respond = (received, response) =>
      received.url === '/new' ? response.end() : response.writeHead(status, { Location: '/new' }).end()
    t.same(await sent.send(outgoing(end.url())), { kind: 'accepted', status: 200 })
    t.match(end.received, [{ url: '/notify' }, { url: '/new', method: 'POST', body: '{"a":1}' }])
  }
  end.received.length = 0
  end.respond = responding(302, { Location: '/again' })
  t.match(await sent.send(outgoing(end.url())), { kind: 'refused', reason: '302' })
  t.equal(end.received.length, 6)
  end.respond = responding(307)
  t.match(await sent.send(outgoing(end.url())), { kind: 'refused', reason: '307' }, 'no Location')
  end.respond = responding(307, { Location: 'ftp://elsewhere/' })
  t.match(await sent.send(outgoing(end.url())), { kind: 'refused', reason: '307' })
})

test('what is secret goes to the origin that the subscription names and to no other one', async (t) => {
  const names = ['X-Auth-Token', 'Authorization', 'Proxy-Authorization', 'Cookie', 'Set-Cookie']
  const headers = [...names.flatMap((name) => [name, 'secret']), 'Fiware-Correlator', 'c']
  const other = await FarEnd.listen(t)
  const end = await FarEnd.listen(t, responding(307, { Location: other.url() }))
  t.match(await sender(t).send(outgoing(end.url(), { headers })), { kind: 'accepted' })
  for (const name of names) {
    t.equal(String(end.received[0]?.headers[name.toLowerCase()]), 'secret', `${name} at the receiver`)
    t.equal(other.received[0]?.headers[name.toLowerCase()], undefined, `${name} elsewhere`)
    t.equal(withoutSecrets({ [name]: 'secret' })[name], '***', `${name} in a line of the log`)
  }
  t.equal(other.received[0]?.headers['fiware-correlator'], 'c')
  end.respond = (received, response) =>
    received.url === '/new' ? response.end() : response.writeHead(307, { Location: '/new' }).end()
  t.match(await sender(t).send(outgoing(end.url(), { headers })), { kind: 'accepted' })
  t.equal(end.received.at(-1)?.headers['proxy-authorization'], 'secret', 'the same origin')
})

test('a receiver may say when it wants to be asked again', async (t) => {
  const end = await FarEnd.listen(t, responding(503, { 'Retry-After': '7' }))
  const sent = sender(t)
  t.match(await sent.send(outgoing(end.url())), { retryAfter_ms: 7000 })
  end.respond = responding(429, { 'Retry-After': new Date(Date.now() + 60_000).toUTCString() })
  const outcome = await sent.send(outgoing(end.url()))
  const { retryAfter_ms = 0 } = outcome.kind === 'accepted' ? {} : outcome
  t.ok(retryAfter_ms > 50_000 && retryAfter_ms <= 60_000)
  end.respond = responding(503, { 'Retry-After': 'soon' })
  t.notOk('retryAfter_ms' in (await sent.send(outgoing(end.url()))))
})

test('what is no response is trouble, with the reason in a few words', async (t) => {
  const [sent, hasty] = [sender(t), sender(t, { timeout_ms: 200 })]
  const reason = async (talk: (socket: Socket) => void, by = sent) => by.send(outgoing((await rawEnd(t, talk)).url))
  t.same(await reason(() => undefined, hasty), { kind: 'trouble', reason: 'timeout' }, 'hangs')
  t.same(await reason((socket) => socket.destroy()), { kind: 'trouble', reason: 'connection reset' })
  t.same(await reason((socket) => socket.resetAndDestroy()), { kind: 'trouble', reason: 'connection reset' })
  t.same(await reason((socket) => socket.end('HTTP/1.1 20')), { kind: 'trouble', reason: 'connection reset' })
  for (const malformed of ['hello', 'HTTP/1.1 000 None\r\nContent-Length: 0']) {
    const result = await reason((socket) => socket.write(`${malformed}\r\n\r\n`))
    t.same(result, { kind: 'trouble', reason: 'malformed response' }, malformed)
  }
  const endless = `X-A: ${'a'.repeat(1000)}\r\n`.repeat(40)
  t.same(await reason((socket) => socket.write(`HTTP/1.1 200 OK\r\n${endless}`)), {
    kind: 'trouble',
    reason: 'response head too long',
  })
  const trickle = await reason((socket) => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'.split('')
    const timer = setInterval(() => socket.write(head.shift() ?? ''), 20)
    socket.on('close', () => clearInterval(timer))
  }, hasty)
  t.same(trickle, { kind: 'trouble', reason: 'timeout' }, 'the limit is that of the whole head')
  const closed = await FarEnd.listen(t)
  await closed.close()
  t.same(await sent.send(outgoing(closed.url())), { kind: 'trouble', reason: 'connection refused' })
  t.same(await sent.send(outgoing('http:///')), { kind: 'refused', reason: 'invalid URL' })
})

test('the outcome is known at the head, and an endless body costs its receiver the connection', async (t) => {
  const length_bytes = 1_000_000_000
  let written_bytes = 0
  const end = await rawEnd(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length_bytes}\r\n\r\n`)
    const more = (): boolean => {
      written_bytes += 4096
      return socket.write('x'.repeat(4096)) || socket.once('drain', more).destroyed
    }
    more()
    const timer = setInterval(more, 1)
    socket.on('close', () => clearInterval(timer))
  })
  t.same(await sender(t).send(outgoing(end.url)), { kind: 'accepted', status: 200 })
  t.ok(written_bytes < length_bytes, 'it is known before the body has ended')
  await until(() => end.sockets.every((socket) => socket.destroyed))
  t.equal(end.sockets.length, 1)
})

test('a receiver that floods its connections keeps few of them, and none with interim responses', async (t) => {
  const hints = await rawEnd(t, flood('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)))
  const tooMany = { kind: 'trouble', reason: 'too many interim responses' }
  t.same(await sender(t).send(outgoing(hints.url)), tooMany)
  await until(() => hints.sockets.every((socket) => socket.destroyed))
  const few = await rawEnd(t, (socket) => {
    socket.end(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`)
  })
  t.same(await sender(t).send(outgoing(few.url)), { kind: 'accepted', status: 200 })
  const slow = await rawEnd(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'))
  const sent = sender(t, { perReceiver: 3 })
  const isOvertaken = ({ destroyed }: Socket, at: number): boolean =>
    destroyed && slow.sockets.slice(0, at).some((before) => !before.destroyed)
  await until(async () => {
    t.same(await sent.send(outgoing(slow.url)), { kind: 'accepted', status: 200 })
    return slow.sockets.some(isOvertaken)
  }, 'a body too many is cut off before the time of others is over')
})

test('a body that breaks off changes nothing', async (t) => {
  const end = await rawEnd(t, (socket) => socket.end('HTTP/1.1 204 OK\r\nContent-Length: 10\r\n\r\nab'))
  t.same(await sender(t).send(outgoing(end.url)), { kind: 'accepted', status: 204 })
})

test('a kept connection that its receiver closes as the request comes is replaced within the attempt', async (t) => {
  let requests = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let own = 0
    socket.on('data', () => {
      requests += 1
      own += 1
      if (own > 1) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    })
  })
  const sent = sender(t)
  const url = `http://127.0.0.1:${await listening(t, server)}/`
  t.match(await sent.send(outgoing(url)), { kind: 'accepted' })
  t.match(await sent.send(outgoing(url)), { kind: 'accepted' })
  t.same([requests, sockets.size], [3, 2])
})

test('of the body of each response its start is kept, a character for each byte, and the last response is told from redirects', async (t) => {
  const end = await FarEnd.listen(t, (received, response) => {
    if (received.url !== '/new') return void response.writeHead(307, { Location: '/new' }).end('over there')
    response.write('th\u00e4n')
    setTimeout(() => response.end('ks'.repeat(1000)), 20)
  })
  const taken: unknown[] = []
  const response = { kept_bytes: 7, take: (body: BodyStart, isLast: boolean) => taken.push([body, isLast]) }
  t.match(await sender(t).send(outgoing(end.url(), { response })), { kind: 'accepted', status: 200 })
  await until(() => taken.length === 2)
  t.same(taken, [
    [{ start: 'over th', bytes: 10 }, false],
    [{ start: 'th\u00c3\u00a4nks', bytes: 2005 }, true],
  ])
})

test('a body that is cut off is kept as well, and an empty one is none', async (t) => {
  const end = await FarEnd.listen(t, (received, response) => {
    if (received.url === '/none') response.writeHead(204).end()
    else response.writeHead(200).write('x'.repeat(80_000))
  })
  const taken: BodyStart[] = []
  const response = { kept_bytes: 3, take: (body: BodyStart) => taken.push(body) }
  await sender(t).send(outgoing(end.url('/none'), { response }))
  await sender(t).send(outgoing(end.url(), { response }))
  await until(() => taken.length === 1)
  t.match(taken, [{ start: 'xxx' }])
})

test('certificates of unknown authorities are accepted only if so wished', async (t) => {
  const server = createTlsServer({ key: itsKey, cert: unknownCertificate }, (_, response) => response.end())
  const url = `https://127.0.0.1:${await listening(t, server)}/`
  t.match(await sender(t).send(outgoing(url)), { kind: 'trouble', reason: /^TLS failed \(.+\)$/ })
  t.match(await sender(t, { insecure: true, kept: false }).send(outgoing(url)), { kind: 'accepted' })
})

test('destinations are checked for the URL, for every redirect and for the addresses of names', async (t) => {
  const end = await FarEnd.listen(t)
  const deny = {
    networks: [
      { family: 'ipv4', address: '127.0.0.0', prefix: 8 } as const,
      { family: 'ipv6', address: '::1', prefix: 128 } as const,
    ],
    names: ['hidden.example'],
  }
  const denied = { kind: 'refused', reason: 'destination not allowed' }
  const sent = sender(t, { destinations: new Destinations({ allow: undefined, deny }) })
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::ffff:127.0.0.1]',
    '2130706433',
    'hidden.example',
    'HIDDEN.example.',
  ])
    t.same(await sent.send(outgoing(`http://${host}:${end.port}/`)), denied, host)
  const { port } = end
  const local = sender(t, {
    destinations: new Destinations({ allow: { networks: [], names: ['localhost'] }, deny: undefined }),
  })
  t.match(await local.send(outgoing(`http://localhost:${port}/`)), { kind: 'accepted' })
  end.respond = responding(302, { Location: `http://127.0.0.1:${port}/` })
  t.same(await local.send(outgoing(`http://localhost:${port}/`)), denied, 'the redirect')
  t.equal(end.received.length, 2)
})

test('receivers that never end their responses hold no more connections than there may be attempts', async (t) => {
  const { url, sockets } = await rawEnd(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{')
  })
  const sent = sender(t, { total: 4 })
  let most = 0
  for (let at = 0; at < 40; at += 1) {
    t.match(await sent.send(outgoing(url)), { kind: 'accepted' })
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, sockets.filter(({ closed, readableEnded }) => !closed && !readableEnded).length)
  }
  t.equal(sockets.length, 40)
  t.ok(most <= 10, `${most} at a time`)
})
