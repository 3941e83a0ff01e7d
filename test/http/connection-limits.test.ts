import { once } from 'node:events'
import * as net from 'node:net'
import * as tls from 'node:tls'
import { test } from 'tap'
import {
  advance,
  type Closable,
  type ConnectionLook,
  firstActivity,
  handshakeGoesFirst,
  longestIdle,
  lookAt,
  type Overdue,
  overdueFor,
  type Shortage,
  small_bytes,
} from '../../src/http/connection-limits.js'
import type { InProgress } from '../../src/http/connections.js'
import { mostTaking_ms } from '../../src/time-limit.js'
import { itsKey, unknownCertificate } from '../delivery/certificate.js'
import { Random } from '../replica/schedule.js'
import { runs } from '../runs.js'
import { until } from '../until.js'

const limits = { idle_s: 7, body_s: 5, send_s: 9 }
const seconds = 60
/** The least rate of a body. */
const bodyRate_bytes = 4096

const nothingYet: ConnectionLook = {
  ...{ now_s: 0, read_bytes: 0, taken_bytes: 0, unsent_bytes: 0, busy: false, reading: undefined, paused: false },
}

/** What a rule is shown of a connection, and what has really happened on it. */
type Shown = (look: ConnectionLook, before: ConnectionLook) => ConnectionLook

/** A connection whose client sends and takes as much as chance has it, several times between two looks. */
class PlayedConnection {
  readonly said: Partial<Record<Overdue, number>> = {}
  wrong: string | undefined
  readonly #random: Random
  readonly #rates: {
    readonly takes: number
    readonly sends: number
    readonly answered: number
    readonly sendsBody: number
  }
  #look: ConnectionLook = nothingYet
  /** When it was last so, in seconds; what is owed and comes is summed up from then on. */
  #takenAt_s = 0
  #movedAt_s = 0
  #owed: { readonly since_s: number; taken_bytes: number } | undefined
  #body: { since_s: number; read_bytes: number } | undefined

  constructor(seed: number) {
    const random = new Random(seed)
    this.#random = random
    const rate = (...rates: readonly number[]): number => rates[random.below(rates.length)] ?? 0
    this.#rates = {
      takes: rate(0, 0, 1000, 300_000, 1e6, 1e7),
      sends: rate(0, 100, 3000, 5000, 300_000),
      answered: rate(0, 70_000, 1e6),
      sendsBody: rate(0, 0.3),
    }
  }

  play(shown: Shown): this {
    const activity = firstActivity(0)
    for (let now_s = 1; now_s <= seconds && this.wrong === undefined; now_s += 1) {
      const before = this.#look
      this.#pass(now_s)
      const shortage = { requests: this.#random.chance(0.5), responses: this.#random.chance(0.5) }
      advance(activity, shown(this.#look, before))
      const why = overdueFor(activity, limits, shortage)
      const expected = this.#expected(now_s, shortage)
      if (why !== expected) this.wrong = `after ${now_s} s it is ${why ?? 'kept'}, not ${expected ?? 'kept'}`
      if (why === undefined) continue
      this.said[why] = (this.said[why] ?? 0) + 1
      return this
    }
    return this
  }

  /** A second passes: the client takes and sends, and responses become ready, in ten parts. */
  #pass(now_s: number): void {
    const random = this.#random
    let { read_bytes, taken_bytes, unsent_bytes, reading, busy, paused } = this.#look
    const wasPaused = paused
    const wasUnsent = unsent_bytes > 0
    let isTaken = false
    for (let part = 0; part < 10; part += 1) {
      const taken = Math.min(unsent_bytes, Math.floor(this.#rates.takes / 10))
      taken_bytes += taken
      unsent_bytes -= taken
      if (taken > 0) isTaken = true
      if (this.#owed !== undefined) this.#owed.taken_bytes += taken
      // It is filled up to the same level again and again, as by a long response in pieces.
      if (random.chance(0.9) && this.#rates.answered > 0) unsent_bytes = Math.max(unsent_bytes, this.#rates.answered)
      if (!wasPaused && (random.chance(0.2) || reading !== undefined)) {
        const sent = Math.floor(this.#rates.sends / 10)
        read_bytes += sent
        if (this.#body !== undefined) this.#body.read_bytes += sent
      }
    }
    if (random.chance(this.#rates.sendsBody))
      reading = reading === undefined || random.chance(0.3) ? request() : undefined
    paused = random.chance(0.1)
    busy = reading !== undefined || random.chance(0.3)
    const isMoving = read_bytes !== this.#look.read_bytes || busy || unsent_bytes > 0
    if (isTaken || unsent_bytes === 0 || !wasUnsent) this.#takenAt_s = now_s
    if (isMoving) this.#movedAt_s = now_s
    if (unsent_bytes <= small_bytes) this.#owed = undefined
    else this.#owed ??= { since_s: now_s, taken_bytes: 0 }
    if (reading === undefined) this.#body = undefined
    else if (reading !== this.#look.reading) this.#body = { since_s: now_s, read_bytes: 0 }
    if (this.#body !== undefined && paused) this.#body.since_s += 1
    this.#look = { now_s, read_bytes, taken_bytes, unsent_bytes, busy, reading, paused }
  }

  #expected(now_s: number, shortage: Shortage): Overdue | undefined {
    if (now_s - this.#takenAt_s >= limits.send_s) return 'unread'
    const owed = this.#owed
    const isLate = (since_s: number, bytes: number) => (now_s - since_s) * 1000 > mostTaking_ms(bytes)
    const isAwaited = shortage.responses || (shortage.requests && this.#look.busy)
    if (isAwaited && owed !== undefined && isLate(owed.since_s, owed.taken_bytes)) return 'slow'
    if (now_s - this.#movedAt_s >= limits.idle_s) return 'idle'
    const body = this.#body
    if (body === undefined) return undefined
    if (now_s - body.since_s - body.read_bytes / bodyRate_bytes >= limits.body_s) return 'body'
    return shortage.requests && isLate(body.since_s, body.read_bytes) ? 'slowBody' : undefined
  }
}

function request(): InProgress {
  const nothing = (): void => {}
  const work = { reading: true, isLong: false, isChange: false, turn: 'undecided' as const, malformed: () => false }
  return { ...work, lost: nothing, inputEnded: nothing, proceed: nothing, processing: nothing }
}

const faulty: Readonly<Record<string, () => Shown>> = {
  'what is taken is only seen where less waits': () => {
    let taken_bytes = 0
    return (look, before) => {
      taken_bytes += Math.max(0, before.unsent_bytes - look.unsent_bytes)
      return { ...look, taken_bytes }
    }
  },
  'a client has to send while nothing is read': () => (look) => ({ ...look, paused: false }),
  'a body that ends and one that begins are one': () => (look) => ({ ...look, reading: look.reading && onlyOne }),
  'a connection with work is idle': () => (look) => ({ ...look, busy: false }),
}
const onlyOne = request()

test('a connection is closed for what its client has not done, however responses follow each other between two looks', async (t) => {
  const said: Record<Overdue, number> = { idle: 0, body: 0, unread: 0, slow: 0, slowBody: 0 }
  for (let seed = 1; seed <= runs(20_000); seed += 1) {
    const played = new PlayedConnection(seed).play((look) => look)
    if (played.wrong !== undefined) throw new Error(`seed ${seed}: ${played.wrong}`)
    for (const why of ['idle', 'body', 'unread', 'slow', 'slowBody'] as const) said[why] += played.said[why] ?? 0
  }
  t.comment(JSON.stringify(said))
  for (const [why, times] of Object.entries(said)) t.ok(times > 0, why)
})

for (const [fault, shown] of Object.entries(faulty)) {
  test(`the schedules find it when ${fault}`, async (t) => {
    let found: number | undefined
    for (let seed = 1; seed <= 2000 && found === undefined; seed += 1) {
      if (new PlayedConnection(seed).play(shown()).wrong !== undefined) found = seed
    }
    t.not(found, undefined)
    t.comment(`found by seed ${found}`)
  })
}

test('a handshake goes before idle connections when it has had its time, or when handshakes are many', async (t) => {
  t.notOk(handshakeGoesFirst(0, 1, 100), 'it has just begun')
  t.notOk(handshakeGoesFirst(2, 25, 100))
  t.ok(handshakeGoesFirst(3, 1, 100), 'it has had its time')
  t.ok(handshakeGoesFirst(0, 26, 100), 'they are more than their part')
})

test('a connection that was just opened goes before those that have not sent a whole request only when such are many', async (t) => {
  const one = (more: Partial<Closable>): Closable => {
    return { busy: false, onlyReads: false, opened_s: 0, usedAt: 0, socket: { writableLength: 0 }, ...more }
  }
  const reads = one({ busy: true, onlyReads: true, usedAt: 1 })
  const [first, second] = [one({ opened_s: 8, usedAt: 2 }), one({ opened_s: 9, usedAt: 3 })]
  t.equal(longestIdle([first, reads], 10, 4), reads)
  t.equal(longestIdle([second, first, reads], 10, 4), first, 'they are more than their part')
  t.equal(longestIdle([first, reads], 11, 4), first, 'it has had its time')
  const idle = one({ usedAt: 4 })
  t.equal(longestIdle([first, second, reads, idle], 10, 4), idle)
  t.equal(longestIdle([one({ busy: true })], 10, 4), undefined)
})

test('a body that comes slowly is refused only where others were refused memory of requests', async (t) => {
  const uploading = (rate_bytes: number, shortage: Shortage): Overdue | undefined => {
    const activity = firstActivity(0)
    const reading = request()
    for (let now_s = 1; now_s <= 12; now_s += 1) {
      advance(activity, { ...nothingYet, now_s, read_bytes: now_s * rate_bytes, busy: true, reading })
    }
    return overdueFor(activity, { ...limits, body_s: 60 }, shortage)
  }
  const short = { requests: true, responses: false }
  t.equal(uploading(100, short), 'slowBody')
  t.equal(uploading(100, { requests: false, responses: true }), undefined)
  t.equal(uploading(300_000, short), undefined)
})

for (const [name, server, connect] of [
  ['a plain connection', net.createServer(), (port: number) => net.connect(port, '127.0.0.1')],
  [
    'TLS',
    tls.createServer({ key: itsKey, cert: unknownCertificate }),
    (port: number) => tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }),
  ],
] as const) {
  test(`what a client takes of one large response is seen on ${name}`, async (t) => {
    t.teardown(() => server.close())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('the server has no port')
    const opened = once(server, name === 'TLS' ? 'secureConnection' : 'connection')
    const client = connect(address.port).on('error', () => {})
    const [socket] = await opened
    if (!(socket instanceof net.Socket)) throw new Error('no socket was opened')
    t.teardown(() => client.destroy())
    t.teardown(() => socket.destroy())
    const look = (): ConnectionLook => lookAt({ socket, busy: true, reading: undefined, paused: false }, 0)
    socket.on('error', () => {}).write(Buffer.alloc(64 * 2 ** 20))
    const { unsent_bytes } = look()
    let received = 0
    client.on('data', ({ length }) => {
      received += length
      if (received > 2 ** 24) client.pause()
    })
    await until(() => received > 2 ** 24)
    t.ok(look().taken_bytes >= received)
    t.ok(look().unsent_bytes < unsent_bytes)
    t.equal(socket.writableLength, 64 * 2 ** 20, 'it is one write')
  })
}
