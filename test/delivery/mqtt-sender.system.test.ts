import type { Socket } from 'node:net'
import { type Test, test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { Destinations } from '../../src/delivery/http-client/destinations.js'
import type { MqttMessage } from '../../src/delivery/queue/outgoing.js'
import { MqttSender, type MqttSettings } from '../../src/delivery/senders/mqtt-sender.js'
import { rawEnd } from '../far-end.js'
import { until } from '../until.js'
import { Mosquitto, skipped as skip } from './mosquitto.js'

const anywhere = new Destinations({ allow: undefined, deny: undefined })

function sender(t: Test, settings: Partial<MqttSettings> = {}): MqttSender {
  const made = new MqttSender({
    ...{ timeout_ms: 60_000, maxAge_ms: 60_000, maxIdle: 256, destinations: anywhere, opening: () => undefined },
    ...settings,
  })
  t.teardown(() => made.close())
  return made
}

function message(url: string, more: Partial<MqttMessage> = {}): MqttMessage {
  return { kind: 'mqtt', url, topic: 'plant/vats', qos: 1, retain: false, body: Buffer.from('{"a":1}'), ...more }
}

/** Packets that nobody has asked for, each with the bytes of one of them. */
const floods = {
  'a release': [0x62, 2, 0, 1],
  'the answer to a ping': [0xd0, 0],
  'a ping': [0xc0, 0],
  'an acknowledgement of another message': [0x40, 2, 0x7f, 0xff],
  'an acknowledgement of a subscription': [0x90, 3, 0, 1, 0],
}

for (const [what, packet] of Object.entries(floods)) {
  test(`a broker that sends ${what} without end loses the connection before they are read`, async (t) => {
    const packets = Buffer.concat(new Array(16_000).fill(Buffer.from(packet)))
    let closed = false
    const url = await hostile(t, (socket) => {
      socket.on('close', () => (closed = true))
      socket.write(welcome)
      setTimeout(() => socket.write(packets), 50)
    })
    t.same(await sender(t, { timeout_ms: 10_000 }).send(message(url)), {
      kind: 'trouble',
      reason: 'malformed response',
    })
    await until(() => closed)
  })
}

/** The URL of a broker that talks to its connections as it likes, once a packet has come. */
async function hostile(t: Test, talk: (socket: Socket) => void): Promise<string> {
  return `mqtt://127.0.0.1:${(await rawEnd(t, talk)).port}`
}

/** The log of the broker says by whom it was connected to, and may be read behind its responses. */
async function connectedAs(t: Test, broker: Mosquitto, users: readonly string[]): Promise<void> {
  await until(() => broker.users.length >= users.length, `connections of ${users}`)
  t.same(broker.users, users)
}

const welcome = Buffer.from([0x20, 2, 0, 0])

test('it is told how many connections are being opened, those that come to nothing among them', async (t) => {
  const counts: number[] = []
  const silent = await hostile(t, () => undefined)
  const refusing = await hostile(t, (socket) => socket.end(Buffer.from([0x20, 2, 0, 5])))
  const sent = sender(t, { timeout_ms: 300, opening: (connections) => counts.push(connections) })
  await Promise.all([sent.send(message(silent)), sent.send(message(silent)), sent.send(message(refusing))])
  t.same(counts, [1, 2, 1, 0])
})

test('a message of each qos is accepted, and arrives as it is', { skip }, async (t) => {
  const broker = await Mosquitto.start(t)
  const received = await broker.subscribe('plant/#')
  const sent = sender(t)
  for (const qos of [0, 1, 2] as const) {
    t.same(await sent.send(message(broker.url, { qos, topic: `plant/${qos}` })), { kind: 'accepted' })
    await until(() => received.length === qos + 1)
  }
  t.same(await sent.send(message(broker.url, { body: Buffer.alloc(0), topic: 'plant/empty' })), { kind: 'accepted' })
  await until(() => received.length === 4)
  t.same(
    received.map(({ topic, body, qos }) => [topic, body, qos]),
    [
      ['plant/0', '{"a":1}', 0],
      ['plant/1', '{"a":1}', 1],
      ['plant/2', '{"a":1}', 2],
      ['plant/empty', '', 1],
    ],
  )
  await connectedAs(t, broker, [''])
})

test('a retained message is seen by whoever subscribes later, another one is not', { skip }, async (t) => {
  const broker = await Mosquitto.start(t)
  const sent = sender(t)
  await sent.send(message(broker.url, { topic: 'plant/kept', retain: true }))
  await sent.send(message(broker.url, { topic: 'plant/gone' }))
  const received = await broker.subscribe('plant/#')
  await sent.send(message(broker.url, { topic: 'plant/last' }))
  await until(() => received.some(({ topic }) => topic === 'plant/last'))
  t.same(
    received.map(({ topic, retain }) => [topic, retain]),
    [
      ['plant/kept', true],
      ['plant/last', false],
    ],
  )
})

test('each user has a connection of its own, and refused credentials are trouble', { skip }, async (t) => {
  const broker = await Mosquitto.start(t, { plant: 's3cret', hall: 'other' })
  const sent = sender(t)
  const as = (user: string, password: string) => sent.send(message(broker.url, { user, password }))
  t.same(await as('plant', 's3cret'), { kind: 'accepted' })
  t.same(await as('hall', 'other'), { kind: 'accepted' })
  t.same(await as('plant', 's3cret'), { kind: 'accepted' })
  await connectedAs(t, broker, ['plant', 'hall'])
  t.same(await as('plant', 'wrong'), { kind: 'trouble', reason: 'not authorized' })
  t.same(await sent.send(message(broker.url)), { kind: 'trouble', reason: 'not authorized' })
  t.same(await as('plant', 's3cret'), { kind: 'accepted' })
  await connectedAs(t, broker, ['plant', 'hall'])
})

test('messages to one broker at the same time share the connection that the first one opens', { skip }, async (t) => {
  const broker = await Mosquitto.start(t)
  const received = await broker.subscribe('#')
  const sent = sender(t)
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, at) => sent.send(message(broker.url, { body: Buffer.from(`${at}`) }))),
  )
  t.ok(outcomes.every(({ kind }) => kind === 'accepted'))
  await until(() => received.length === 50)
  t.same(
    received.map(({ body }) => Number(body)),
    Array.from({ length: 50 }, (_, at) => at),
  )
  await connectedAs(t, broker, [''])
})

test('a broker that is killed is trouble until it is back', { skip }, async (t) => {
  const broker = await Mosquitto.start(t)
  const sent = sender(t)
  t.same(await sent.send(message(broker.url)), { kind: 'accepted' })
  await broker.kill()
  t.match(await sent.send(message(broker.url)), { kind: 'trouble', reason: /connection (reset|refused)/ })
  t.same(await sent.send(message(broker.url, { qos: 0 })), { kind: 'trouble', reason: 'connection refused' })
  await broker.run()
  const received = await broker.subscribe('#')
  t.same(await sent.send(message(broker.url, { qos: 2 })), { kind: 'accepted' })
  await until(() => received.length === 1)
})

test('a message that is not acknowledged in time is trouble, and the next one takes another connection', {
  skip,
}, async (t) => {
  const broker = await Mosquitto.start(t)
  const sent = sender(t, { timeout_ms: 300 })
  await until(async () => (await sent.send(message(broker.url))).kind === 'accepted', 'it is connected')
  broker.stop(true)
  for (const qos of [1, 2] as const) {
    t.same(await sent.send(message(broker.url, { qos })), { kind: 'trouble', reason: 'timeout' })
  }
  broker.stop(false)
  await until(async () => (await sent.send(message(broker.url))).kind === 'accepted')
})

test('a connection is closed when it has not been used for its time, and when there are too many', {
  skip,
}, async (t) => {
  const broker = await Mosquitto.start(t, { a: 'a', b: 'b' })
  const aged = sender(t, { maxAge_ms: 100 })
  await aged.send(message(broker.url, { user: 'a', password: 'a' }))
  await until(() => broker.goodbyes === 1)
  const few = sender(t, { maxIdle: 1 })
  await few.send(message(broker.url, { user: 'a', password: 'a' }))
  await few.send(message(broker.url, { user: 'b', password: 'b' }))
  await until(() => broker.goodbyes === 2)
  await few.send(message(broker.url, { user: 'b', password: 'b' }))
  await connectedAs(t, broker, ['a', 'a', 'b'])
  few.close()
  await until(() => broker.goodbyes === 3)
})

test('a destination that is not allowed is refused before it is connected to', { skip }, async (t) => {
  const broker = await Mosquitto.start(t)
  const networks = [{ address: '127.0.0.0', prefix: 8, family: 'ipv4' as const }]
  const denied = sender(t, { destinations: new Destinations({ allow: undefined, deny: { networks, names: [] } }) })
  const refusal = { kind: 'refused', reason: 'destination not allowed' }
  t.same(await denied.send(message(broker.url)), refusal)
  t.same(await denied.send(message(`mqtt://localhost:${broker.port}`)), refusal)
  const allowed = sender(t, { destinations: new Destinations({ allow: { networks, names: [] }, deny: undefined }) })
  t.same(await allowed.send(message(`mqtt://localhost:${broker.port}`)), { kind: 'accepted' })
  await connectedAs(t, broker, [''])
})

test('what cannot be published is refused', async (t) => {
  const sent = sender(t)
  const url = `mqtt://127.0.0.1:${await freePort()}`
  for (const topic of ['', 'a/+', '#', 'a\0', 'x'.repeat(65_536)]) {
    t.same(await sent.send(message(url, { topic })), { kind: 'refused', reason: 'invalid topic' })
  }
  for (const wrong of ['mqtt:', 'http://127.0.0.1', 'mqtt://', 'nothing']) {
    t.same(await sent.send(message(wrong)), { kind: 'refused', reason: 'invalid URL' }, wrong)
  }
  t.same(await sent.send(message(url, { body: Buffer.alloc(2 ** 28) })), {
    kind: 'refused',
    reason: 'message too long',
  })
  t.same(await sent.send(message(url)), { kind: 'trouble', reason: 'connection refused' })
  t.match(await sent.send(message('mqtt://nowhere.invalid')), { kind: 'trouble', reason: 'name not resolved' })
})

test('whoever is no MQTT broker is trouble, and loses the connection', async (t) => {
  const [sent, hasty] = [sender(t), sender(t, { timeout_ms: 300 })]
  const outcome = async (talk: (socket: Socket) => void, by = sent) => by.send(message(await hostile(t, talk)))
  const timeout = { kind: 'trouble', reason: 'timeout' }
  const malformed = { kind: 'trouble', reason: 'malformed response' }
  t.same(await outcome(() => undefined, hasty), timeout)
  t.same(await outcome((socket) => socket.write(welcome), hasty), timeout)
  t.same(await outcome((socket) => socket.end()), { kind: 'trouble', reason: 'connection reset' })
  t.same(await outcome((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')), malformed)
  const refusing = (code: number) => (socket: Socket) => socket.write(Buffer.from([0x20, 2, 0, code]))
  t.same(await outcome(refusing(3)), { kind: 'trouble', reason: 'server unavailable' })
  t.same(await outcome(refusing(4)), { kind: 'trouble', reason: 'bad user name or password' })
  t.same(await outcome(refusing(99)), { kind: 'trouble', reason: 'refused with code 99' })
  const unasked = Buffer.from([0x30, 5, 0, 1, 0x61, 0x62, 0x63])
  t.same(await outcome((socket) => socket.write(Buffer.concat([welcome, unasked]))), malformed)
  // A packet of 256 MB that never ends.
  const endless = (socket: Socket) => {
    socket.write(Buffer.concat([welcome, Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f])]))
    const fill = () =>
      socket.destroyed || (socket.write(Buffer.alloc(65_536)) ? setImmediate(fill) : socket.once('drain', fill))
    fill()
  }
  t.same(await sender(t).send(message(await hostile(t, endless))), malformed)
})

test('at the end what is under way is given up', async (t) => {
  const sent = sender(t, { timeout_ms: 60_000 })
  const silent = sent.send(message(await hostile(t, (socket) => socket.write(welcome))))
  const opening = sent.send(message(await hostile(t, () => undefined)))
  await new Promise((resolve) => setImmediate(resolve))
  sent.close()
  t.match(await silent, { kind: 'trouble' })
  t.match(await opening, { kind: 'trouble' })
})
