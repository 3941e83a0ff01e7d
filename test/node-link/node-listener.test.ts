import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { commandsBody } from '../../src/cluster/link/command-batch.js'
import { linkFormat } from '../../src/cluster/link/link-protocol.js'
import { descriptorOf } from '../../src/http/listen.js'
import { slowElements } from '../mailbox/given.js'
import { until } from '../until.js'
import { Authority } from './certificates.js'
import { byToken, GivenNode, levelOf, token } from './given.js'

interface Head {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: Buffer
}

/** The bytes of a request as a node sends it, with what is given in place of it. */
function request({
  method = 'POST',
  path = '/cluster/v1/partitions/0/batches',
  headers = {},
  body,
}: Head = {}): Buffer {
  const bytes = body ?? commandsBody([levelOf('Silo1', '1')])
  const all = {
    Host: 'b',
    Authorization: `Bearer ${token}`,
    'Rigel-Cluster': 'c',
    'Rigel-Format': String(linkFormat),
    'Rigel-Node': 'a',
    'Rigel-Sender': '0.0.1',
    'Rigel-Until': String(process.hrtime.bigint() / 1_000_000n + 60_000n),
    'Content-Length': String(bytes.length),
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`), bytes])
}

/** A connection to the node of which everything is kept that comes. */
class Wire {
  readonly socket: Socket
  received = Buffer.alloc(0)
  isClosed = false

  constructor(t: Test, socket: Socket) {
    this.socket = socket
    socket.on('data', (piece: Buffer) => {
      this.received = Buffer.concat([this.received, piece])
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
    })
    t.teardown(() => socket.destroy())
  }

  static async to(t: Test, { port }: GivenNode): Promise<Wire> {
    const socket = connect(port, '127.0.0.1')
    const wire = new Wire(t, socket)
    await once(socket, 'connect')
    return wire
  }

  /** A connection on which batches of a sender may be sent; of what comes it keeps what follows the opening. */
  static async opened(t: Test, node: GivenNode, sender = '0.0.1'): Promise<Wire> {
    const wire = await Wire.to(t, node)
    wire.open(sender)
    await until(() => wire.statuses.length === 1)
    wire.received = Buffer.alloc(0)
    return wire
  }

  open(sender: string): void {
    this.socket.write(request({ path: '/cluster/v1/partitions/0/opening', headers: { 'Rigel-Sender': sender } }))
  }

  get statuses(): readonly string[] {
    return [...this.received.toString('latin1').matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status = '']) => status)
  }
}

test('a batch is carried out, and the outcomes come back', async (t) => {
  const node = await GivenNode.start(t)
  const wire = await Wire.opened(t, node)
  wire.socket.write(request())
  await until(() => wire.statuses.length === 1)
  t.same(wire.statuses, ['200'])
  t.equal(node.partition.store.entityCount, 1)
})

test('who has no token, or is of another cluster or format, is refused and told why; the connection ends', async (t) => {
  const node = await GivenNode.start(t)
  const cases: readonly (readonly [string, Head, string, RegExp])[] = [
    ['no token', { headers: { Authorization: undefined } }, '401', /-clusterTokenFile/],
    ['another token', { headers: { Authorization: `Bearer ${token}x` } }, '401', /-clusterTokenFile/],
    ['an empty token', { headers: { Authorization: 'Bearer ' } }, '401', /-clusterTokenFile/],
    ['no cluster', { headers: { 'Rigel-Cluster': undefined } }, '409', /node b of cluster c, not of undefined/],
    ['another cluster', { headers: { 'Rigel-Cluster': 'd' } }, '409', /node b of cluster c, not of d/],
    ['another format', { headers: { 'Rigel-Format': '3' } }, '409', new RegExp(`has format ${linkFormat} .* not 3`)],
    ['another path', { path: '/cluster/v1/secrets' }, '404', /nothing of that name/],
    [
      'another method',
      { method: 'GET', headers: { 'Content-Length': undefined }, body: Buffer.alloc(0) },
      '404',
      /nothing/,
    ],
    ['a partition that is none', { path: '/cluster/v1/partitions/7/batches' }, '404', /no partition 7/],
    ['no sender', { headers: { 'Rigel-Sender': undefined } }, '400', /sender/],
    ['a sender that cannot be', { headers: { 'Rigel-Sender': '16.0.1' } }, '400', /sender/],
    ['no time', { headers: { 'Rigel-Until': undefined } }, '400', /how long the batch is waited for/],
    ['no batch', { body: Buffer.from('{"x":1}'), headers: { 'Content-Length': '7' } }, '400', /no batch of commands/],
    [
      'no length',
      { headers: { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }, body: Buffer.from('0\r\n\r\n') },
      '411',
      /Content-Length/,
    ],
    ['a body that is too large', { headers: { 'Content-Length': '99999999999' } }, '413', /at most/],
  ]
  for (const [what, head, status, text] of cases) {
    const wire = await Wire.to(t, node)
    wire.socket.write(request(head))
    await until(() => wire.statuses.length === 1 && text.test(wire.received.toString()))
    t.same(wire.statuses, [status], what)
    t.notMatch(wire.received.toString(), token, 'no secret is said')
    wire.socket.destroy()
  }
  t.equal(node.partition.store.entityCount, 0)
  t.equal(node.taken.length, 0)
  t.match(node.lines[0], /1 request was refused \(from 127.0.0.1 \(a\), with 401/)
})

test('without a token nothing else is learnt, and what follows a refusal is not looked at', async (t) => {
  const node = await GivenNode.start(t)
  const wire = await Wire.to(t, node)
  const wrong = request({ headers: { Authorization: 'Bearer guess', 'Rigel-Cluster': 'd' } })
  wire.socket.write(Buffer.concat([wrong, request(), request()]))
  await until(() => wire.isClosed)
  t.same(wire.statuses, ['401'])
  t.notMatch(wire.received.toString(), /cluster c/)
  t.equal(node.taken.length, 0)
})

test('whoever shows no token is refused at the first head, and nothing that follows is parsed', async (t) => {
  const node = await GivenNode.start(t)
  let parsed = 0
  for (const event of ['request', 'checkContinue', 'checkExpectation', 'clientError', 'connect', 'upgrade']) {
    node.listener.server.on(event, () => {
      parsed += 1
    })
  }
  const chunked = 'POST /cluster/v1/positions HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n'
  const expecting = 'GET /cluster/v1/clock HTTP/1.1\r\nHost: b\r\nExpect: all\r\n\r\n'
  const cases: readonly (readonly [string, string, string])[] = [
    ['a body in chunks', chunked, '1\r\na\r\n'],
    ['a body in chunks that are large', chunked, `10000\r\n${'a'.repeat(65_536)}\r\n`],
    ['requests', '', 'GET /cluster/v1/clock HTTP/1.1\r\nHost: b\r\n\r\n'],
    ['requests that expect something', '', expecting],
    ['a request to switch the protocol', '', expecting.replace('Expect: all', 'Connection: upgrade\r\nUpgrade: x')],
    ['a tunnel', 'CONNECT b:80 HTTP/1.1\r\nHost: b:80\r\n\r\n', 'x'],
    ['a head without an end', 'GET / HTTP/1.1\r\n', `x: ${'y'.repeat(1000)}\r\n`],
  ]
  for (const [what, head, piece] of cases) {
    const wire = await Wire.to(t, node)
    wire.socket.write(head + piece.repeat(Math.ceil(5000 / piece.length)))
    await until(() => wire.statuses.length > 0)
    wire.socket.write(piece.repeat(Math.ceil(1_000_000 / piece.length)))
    await until(() => wire.isClosed)
    t.same(wire.statuses, ['401'], what)
  }
  t.equal(parsed, 0)
  t.equal(node.taken.length, 0)
})

test('a request may be cut anywhere into pieces; one that is cut off is not carried out', async (t) => {
  const node = await GivenNode.start(t)
  const bytes = request()
  const wire = await Wire.opened(t, node)
  wire.socket.setNoDelay(true)
  for (let at = 0; at < bytes.length; at += 7) {
    wire.socket.write(bytes.subarray(at, at + 7))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await until(() => wire.statuses.length === 1)
  t.same(wire.statuses, ['200'])
  for (let at = 1; at < bytes.length; at += 23) {
    const cut = await Wire.to(t, node)
    cut.socket.end(bytes.subarray(0, at))
    await until(() => cut.isClosed)
    t.notSame(cut.statuses, ['200'])
  }
  t.equal(node.taken.length, 1)
})

test('bytes that are no HTTP are refused, and leave nothing behind', async (t) => {
  const node = await GivenNode.start(t, 'b', byToken, { head_ms: 500 })
  for (const bytes of [
    Buffer.from('\x16\x03\x01\x00\xa5\x01\x00\x00', 'latin1'),
    Buffer.alloc(4000, 0xff),
    Buffer.from(`GET / HTTP/1.1\r\n${'x: y\r\n'.repeat(2000)}`),
    Buffer.from(`POST /cluster/v1/positions HTTP/1.1\r\nContent-Length: -1\r\n\r\n`),
    Buffer.from(`POST /cluster/v1/positions HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`),
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  ]) {
    const wire = await Wire.to(t, node)
    wire.socket.write(bytes)
    await until(() => wire.isClosed)
    t.notSame(wire.statuses, ['200'])
  }
  t.equal(node.taken.length, 0)
})

test('who says nothing, or is slow with a head or a body, is closed', async (t) => {
  const node = await GivenNode.start(t, 'b', byToken, { head_ms: 300, request_ms: 600 })
  const bytes = request()
  const silent = await Wire.to(t, node)
  const slowHead = await Wire.to(t, node)
  slowHead.socket.write(bytes.subarray(0, 30))
  const slowBody = await Wire.to(t, node)
  slowBody.socket.write(bytes.subarray(0, bytes.length - 1))
  await until(() => silent.isClosed && slowHead.isClosed && slowBody.isClosed)
  t.equal(node.taken.length, 0)
  t.equal(node.partition.store.entityCount, 0)
})

test('a caller that is refused and stays is closed', async (t) => {
  const node = await GivenNode.start(t, 'b', byToken, { head_ms: 300 })
  const socket = connect({ port: node.port, host: '127.0.0.1', allowHalfOpen: true })
  const wire = new Wire(t, socket)
  socket.write(request({ headers: { Authorization: undefined } }))
  await until(() => wire.isClosed || socket.readableEnded)
  t.same(wire.statuses, ['401'])
  await until(() => {
    // It is noticed by what is sent then.
    if (!socket.destroyed) socket.write('x')
    return wire.isClosed
  })
  t.pass()
})

test('what comes together with the head that has the token is served, in its order', async (t) => {
  const node = await GivenNode.start(t)
  const bodies = ['1', '2'].map((level) => commandsBody([levelOf('Silo1', level.repeat(200_000))]))
  const wire = await Wire.to(t, node)
  const opening = request({ path: '/cluster/v1/partitions/0/opening' })
  wire.socket.write(Buffer.concat([opening, ...bodies.map((body) => request({ body }))]))
  await until(() => wire.statuses.length === 3)
  t.same(wire.statuses, ['200', '200', '200'])
  const levels = node.taken.map(([command]) => JSON.stringify(command).match(/([12])\1{199999}/)?.[1])
  t.same(levels, ['1', '2'])
})

test('an expectation of a node is ignored', async (t) => {
  const node = await GivenNode.start(t)
  for (const [at, expectation] of ['100-continue', 'all'].entries()) {
    const wire = await Wire.to(t, node)
    const headers = { 'Rigel-Sender': `0.${at}.1`, Expect: expectation }
    wire.socket.write(request({ path: '/cluster/v1/partitions/0/opening', headers }))
    await until(() => wire.statuses.length > 0)
    t.same(wire.statuses, ['200'], expectation)
  }
})

test('a node that is refused hears so at once when its body has no length, and what it sends behind is not looked at', async (t) => {
  const node = await GivenNode.start(t)
  const wire = await Wire.to(t, node)
  const headers = { 'Rigel-Cluster': 'd', 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }
  wire.socket.write(request({ headers, body: Buffer.from('1\r\na\r\n') }))
  await until(() => wire.isClosed)
  t.same(wire.statuses, ['409'])
  const many = await Wire.to(t, node)
  many.socket.write(Buffer.concat(Array.from({ length: 50 }, () => request({ headers: { 'Rigel-Cluster': 'd' } }))))
  await until(() => many.isClosed)
  t.same(many.statuses, ['409'])
  t.equal(node.taken.length, 0)
})

test('connections that have shown nothing make room for newer ones; those of nodes stay', async (t) => {
  const node = await GivenNode.start(t, 'b', byToken, { unproven: 3 })
  const proven = await Wire.opened(t, node)
  proven.socket.write(request())
  await until(() => proven.statuses.length === 1)
  const first = await Wire.to(t, node)
  const others = [await Wire.to(t, node), await Wire.to(t, node), await Wire.to(t, node)]
  await until(() => first.isClosed)
  t.notOk(others.some(({ isClosed }) => isClosed))
  proven.socket.write(request())
  await until(() => proven.statuses.length === 2)
  t.same(proven.statuses, ['200', '200'])
})

test('when there is no descriptor for a connection, one that has shown nothing makes room', async (t) => {
  const node = await GivenNode.start(t)
  const first = await Wire.to(t, node)
  const second = await Wire.to(t, node)
  // What Node reports when the system refuses to accept.
  const fault = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' })
  node.listener.server.emit('error', fault)
  await until(() => first.isClosed)
  t.notOk(second.isClosed)
  t.match(node.lines, [/a connection could not be accepted: .*too many files open: .*\(EMFILE\)/])
  node.listener.server.emit('error', fault)
  await until(() => second.isClosed)
  t.equal(node.lines.length, 1)
  const proven = await Wire.opened(t, node)
  proven.socket.write(request())
  await until(() => proven.statuses.length === 1)
})

test('beyond the most connections new ones are closed at once', async (t) => {
  const node = await GivenNode.start(t, 'b', byToken, { connections: 2 })
  const wires = [await Wire.to(t, node), await Wire.to(t, node)]
  for (const [at, wire] of wires.entries()) wire.open(`0.0.${at + 1}`)
  await until(() => wires.every(({ statuses }) => statuses.length === 1))
  const beyond = await Wire.to(t, node)
  await until(() => beyond.isClosed)
  t.same(beyond.statuses, [])
})

test('more requests at once than nodes send end the connection', async (t) => {
  const node = await GivenNode.start(t)
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  node.before = (commands) => held.then(() => commands.map(() => ({ ok: false, error: { kind: 'mailboxFull' } })))
  const wire = await Wire.opened(t, node)
  wire.socket.write(Buffer.concat(Array.from({ length: 40 }, () => request())))
  await until(() => wire.isClosed)
  t.ok(node.taken.length <= 16)
  release()
})

test('bodies that are not answered yet take no more memory than they may', async (t) => {
  const body = commandsBody([levelOf('Silo1', 'x'.repeat(20_000))])
  const node = await GivenNode.start(t, 'b', byToken, { held_bytes: 30_000 })
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  node.before = (commands) => held.then(() => commands.map(() => ({ ok: false, error: { kind: 'mailboxFull' } })))
  const wires = [await Wire.opened(t, node), await Wire.opened(t, node, '0.1.1')]
  const [first, second] = wires
  first?.socket.write(request({ body }))
  await until(() => node.taken.length === 1)
  second?.socket.write(request({ body, headers: { 'Rigel-Sender': '0.1.1' } }))
  await until(() => second?.statuses.length === 1)
  t.same(second?.statuses, ['503'])
  release()
  await until(() => first?.statuses.length === 1)
  second?.socket.write(request({ body, headers: { 'Rigel-Sender': '0.1.1' } }))
  await until(() => second?.statuses.length === 2)
  t.same(second?.statuses, ['503', '200'], 'the connection is as good as before')
})

test('the body of a batch counts until the last of its outcomes is handed out, or its connection is closed', async (t) => {
  const body = commandsBody([...slowElements(4), levelOf('Silo1', 'x'.repeat(20_000))])
  const node = await GivenNode.start(t, 'b', byToken, { held_bytes: 30_000 })
  const outcomes = request({ path: '/cluster/v1/partitions/0/outcomes', body: Buffer.from('{}') })
  const isTakenBy = async (wire: Wire, sender: string): Promise<boolean> => {
    const before = wire.statuses.length
    wire.socket.write(request({ body, headers: { 'Rigel-Sender': sender } }))
    await until(() => wire.statuses.length > before)
    return wire.statuses.at(-1) === '200'
  }
  const wire = await Wire.opened(t, node)
  t.ok(await isTakenBy(wire, '0.0.1'))
  await until(() => node.senders.isQuiet({ slot: 0, frontEnd: 0, partition: 0 }))
  const other = await Wire.opened(t, node, '0.1.1')
  t.notOk(await isTakenBy(other, '0.1.1'), 'all are carried out, and not handed out')
  wire.socket.write(outcomes)
  await until(() => wire.statuses.length === 2)
  t.ok(await isTakenBy(other, '0.1.1'))
  other.socket.destroy()
  const closing = await Wire.opened(t, node, '0.2.1')
  await until(() => isTakenBy(closing, '0.2.1'), 'it is taken when the other connection is closed')
})

test('a request for later outcomes is answered with none when another request is behind it', async (t) => {
  const node = await GivenNode.start(t)
  const wire = await Wire.opened(t, node)
  wire.socket.write(request({ path: '/cluster/v1/partitions/0/outcomes', body: Buffer.from('{}') }))
  wire.socket.write(request())
  await until(() => wire.statuses.length === 2)
  t.same(wire.statuses, ['200', '200'])
})

test('after the outcome that it is not the owner a connection hears nothing else', async (t) => {
  const node = await GivenNode.start(t)
  const wire = await Wire.opened(t, node)
  node.owner = 'c'
  wire.socket.write(request())
  await until(() => wire.statuses.length === 1)
  t.match(wire.received.toString(), /421 [\s\S]*"owner":"c"/)
  node.owner = 'b'
  wire.socket.write(request())
  await until(() => wire.statuses.length === 2)
  t.same(wire.statuses, ['421', '421'])
  const another = await Wire.opened(t, node, '0.0.2')
  another.socket.write(request({ headers: { 'Rigel-Sender': '0.0.2' } }))
  await until(() => another.statuses.length === 1)
  t.same(another.statuses, ['200'])
  t.equal(node.taken.length, 2)
})

test('what an earlier connection of a sender brings late is refused, and what it has begun is waited for', async (t) => {
  const node = await GivenNode.start(t)
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const early = await Wire.opened(t, node, '0.0.5')
  node.before = (commands) => held.then(() => commands.map(() => ({ ok: false, error: { kind: 'mailboxFull' } })))
  early.socket.write(request({ headers: { 'Rigel-Sender': '0.0.5' } }))
  await until(() => node.taken.length === 1)
  const late = await Wire.to(t, node)
  node.before = () => undefined
  late.open('0.0.6')
  const sender = { slot: 0, frontEnd: 0, partition: 0 }
  await until(() => node.senders.enter(sender, 0) === 6)
  early.socket.write(request({ headers: { 'Rigel-Sender': '0.0.5' } }))
  const other = await Wire.opened(t, node, '0.1.1')
  other.socket.write(request({ headers: { 'Rigel-Sender': '0.1.1' } }))
  await until(() => other.statuses.length === 1)
  t.same(other.statuses, ['200'], 'other senders do not wait')
  t.same([node.taken.length, late.statuses], [2, []], 'it waits for what is under way')
  release()
  await until(() => late.statuses.length === 1 && early.statuses.length === 2)
  const two = [levelOf('Silo1', '1'), levelOf('Silo1', '2')].map((each) => commandsBody([each]))
  late.socket.write(Buffer.concat(two.map((body) => request({ body, headers: { 'Rigel-Sender': '0.0.6' } }))))
  await until(() => late.statuses.length === 3)
  t.same(late.statuses, ['200', '200', '200'])
  t.same(early.statuses, ['200', '409'])
  t.match(early.received.toString(), /"last":6/)
  const [, , first, second] = node.taken
  t.match([first?.[0], second?.[0]], [{ attributes: [{ value: '1' }] }, { attributes: [{ value: '2' }] }])
})

test('a batch that no opening precedes is refused, and all that follows it', async (t) => {
  const node = await GivenNode.start(t)
  const wire = await Wire.to(t, node)
  wire.socket.write(request())
  wire.open('0.0.1')
  wire.socket.write(request())
  await until(() => wire.statuses.length === 3)
  t.same(wire.statuses, ['400', '400', '400'])
  t.match(wire.received.toString(), /the connection is not opened/)
  t.equal(node.taken.length, 0)
})

test('by certificates: who shows none of the authority gets no connection; who does needs no token', async (t) => {
  const authority = new Authority()
  const its = authority.signed(['127.0.0.1'])
  const security = { tls: { ...its, ca: authority.ca }, tokens: [] }
  const node = await GivenNode.start(t, 'b', security)
  const open = async (certified: { readonly cert?: string; readonly key?: string }): Promise<Wire> => {
    const socket = connectTls({ port: node.port, host: '127.0.0.1', ca: authority.ca, ...certified })
    const wire = new Wire(t, socket)
    socket.on('secureConnect', () => {
      const path = '/cluster/v1/partitions/0/opening'
      socket.write(request({ path, headers: { Authorization: undefined } }))
    })
    await until(() => wire.isClosed || wire.statuses.length > 0)
    return wire
  }
  t.same((await open(authority.signed(['a']))).statuses, ['200'])
  t.same((await open({})).statuses, [], 'without a certificate')
  t.same((await open(new Authority().signed(['a']))).statuses, [], 'of an authority of the same name')
  t.same((await open(authority.signed(['a'], 0))).statuses, [], 'of yesterday')
  await until(() => node.lines.length > 0)
  t.match(node.lines[0], /without a certificate of the cluster/)
  const plain = await Wire.to(t, node)
  plain.socket.write(request())
  await until(() => plain.isClosed)
  t.same(plain.statuses, [], 'without TLS')
})

test('by certificates: a handshake begins with the first bytes of its caller, who has a limited time for them', async (t) => {
  const authority = new Authority()
  const its = authority.signed(['127.0.0.1'])
  const node = await GivenNode.start(t, 'b', { tls: { ...its, ca: authority.ca }, tokens: [] }, { head_ms: 300 })
  let failed = 0
  node.listener.server.on('tlsClientError', () => {
    failed += 1
  })
  const silent = await Wire.to(t, node)
  const slow = await Wire.to(t, node)
  slow.socket.write(Buffer.from('\x16\x03\x01\x00\xa5', 'latin1'))
  await until(() => silent.isClosed && slow.isClosed)
  t.equal(failed, 1, 'that of the caller who has begun')
})

test('a node that closes its listener drops its connections', async (t) => {
  const node = await GivenNode.start(t)
  const wire = await Wire.to(t, node)
  wire.open('0.0.1')
  await until(() => wire.statuses.length === 1)
  node.listener.close()
  await until(() => wire.isClosed)
  t.pass()
})

/** Another thread that listens on a socket of this one, and has stopped when it says so. */
const sharing = `
const { once } = require('node:events')
const { createServer } = require('node:http')
const { parentPort, workerData } = require('node:worker_threads')
import(workerData.module).then(async ({ stopListening }) => {
  const server = createServer().listen({ fd: workerData.fd })
  await once(server, 'listening')
  setImmediate(() => setImmediate(() => {
    stopListening({ server }, true)
    setImmediate(() => setImmediate(() => parentPort.postMessage('stopped')))
  }))
  parentPort.once('message', () => process.exit())
})`

test('whoever shares the socket of another thread leaves it open', async (t) => {
  const node = await GivenNode.start(t)
  const fd = descriptorOf(node.listener)
  const module = new URL('../../src/http/listen.js', import.meta.url).href
  const thread = new Worker(sharing, { eval: true, workerData: { fd, module } })
  await once(thread, 'message')
  t.ok(fstatSync(fd).isSocket())
  thread.postMessage('end')
  await once(thread, 'exit')
})
