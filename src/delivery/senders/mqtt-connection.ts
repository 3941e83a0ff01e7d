import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type IClientOptions, MqttClient } from 'mqtt'
import { writeToStream } from 'mqtt-packet'
import { whenOver } from '../../time-limit.js'
import { checkedSocket } from '../http-client/checked-connect.js'
import type { Destinations } from '../http-client/destinations.js'
import { GivenUp, timedOut } from '../http-client/response-handler.js'
import { Lifetime } from '../queue/lifetime.js'
import type { MqttEndpoint, MqttMessage } from '../queue/outgoing.js'

/** The 65,536 numbers that a packet can hold are not written out before the first one: other receivers wait for that. */
writeToStream.cacheNumbers = false

interface ConnectionSettings {
  readonly destinations: Destinations
  /** Time limit of opening a connection, and of the acknowledgement of a message. */
  readonly timeout_ms: number
}

/**
 * What a broker may send. All that is asked for are packets of up to four bytes: up to two for a message, and one for the connection and
 * for each ping. A broker that sends more than this, or a message, loses the connection: else the courier would do nothing but read.
 */
const allowed_bytes = { atOnce: 1024, forPacket: 16 } as const
const unasked = new GivenUp('malformed response')

/** What a broker says when it does not take a connection [NGSIv2 subscriptions 7.1]. */
const refusals: ReadonlyMap<number, string> = new Map([
  [1, 'protocol version not accepted'],
  [2, 'client id not accepted'],
  [3, 'server unavailable'],
  [4, 'bad user name or password'],
  [5, 'not authorized'],
])

/** How long what has been written may take to leave when the connection is closed. */
const linger_ms = 1000

/**
 * An open connection to an MQTT broker: MQTT 3.1.1 with a clean session. It is used until it breaks: MQTT.js neither
 * connects again nor keeps messages for later, because the outbox is the only queue [NGSIv2 subscriptions 7.1].
 */
export class MqttConnection {
  readonly #client: MqttClient
  readonly #timeout_ms: number
  /** Rejects with the reason when the connection has gone. */
  readonly #lifetime: Lifetime

  private constructor(client: MqttClient, lifetime: Lifetime, timeout_ms: number) {
    this.#client = client
    this.#lifetime = lifetime
    this.#timeout_ms = timeout_ms
  }

  /**
   * Connects to an allowed address; rejects with a fault or `timedOut`. The signal cuts the connection off, open or not;
   * `closed` is called when it has been open and is not any more.
   */
  static async open(
    endpoint: MqttEndpoint,
    settings: ConnectionSettings,
    signal: AbortSignal,
    closed: () => void,
  ): Promise<MqttConnection> {
    const { host, port } = endpoint
    const { destinations, timeout_ms } = settings
    const opening = checkedSocket(destinations, host, port)
    const socket = await withinTime(opening, timeout_ms).catch((fault: unknown) => {
      opening.then((late) => late.destroy(), ignore)
      throw fault
    })
    const allowance = new Allowance()
    const client = new MqttClient(() => readSparingly(socket, allowance), clientOptions(endpoint, timeout_ms))
    const gone = goneOf(client, socket, allowance)
    const lifetime = new Lifetime()
    gone.catch((fault: unknown) => lifetime.end(fault))
    const cut = (): void => {
      client.end(true)
      socket.destroy()
    }
    if (signal.aborted) cut()
    else signal.addEventListener('abort', cut, { once: true })
    try {
      await withinTime(lifetime.during(connected(client)), timeout_ms)
    } catch (fault) {
      cut()
      throw fault
    }
    gone.catch(closed)
    return new MqttConnection(client, lifetime, timeout_ms)
  }

  /** Resolves when the message is written (qos 0) or acknowledged (qos 1 and 2); rejects with a fault or `timedOut`. */
  async publish({ topic, body, qos, retain }: MqttMessage): Promise<void> {
    const acknowledged = new Promise<void>((resolve, reject) => {
      this.#client.publish(topic, body, { qos, retain }, (fault) => (fault == null ? resolve() : reject(fault)))
    })
    await withinTime(this.#lifetime.during(acknowledged), this.#timeout_ms)
  }

  /** Says goodbye, and lets what has been written leave. */
  close(): void {
    this.#client.end()
    setTimeout(() => this.#client.stream.destroy(), linger_ms).unref()
  }
}

function clientOptions({ user, password }: MqttEndpoint, timeout_ms: number): IClientOptions {
  return {
    protocolVersion: 4,
    protocolId: 'MQTT',
    clean: true,
    // At most 23 characters are accepted everywhere.
    clientId: `rigel${randomBytes(9).toString('hex')}`,
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    // Never comes to pass: the time limit of the whole opening does before.
    connectTimeout: 2 * timeout_ms,
    timerVariant: 'native',
  }
}

function connected(client: MqttClient): Promise<void> {
  return new Promise((resolve) => client.once('connect', () => resolve()))
}

/** Rejects with why the connection has gone. It is cut when something comes that was not asked for. */
function goneOf(client: MqttClient, socket: Socket, allowance: Allowance): Promise<never> {
  const gone = new Promise<never>((_, reject) => {
    const end = (fault: unknown): void => {
      reject(faultOf(fault))
      socket.destroy()
    }
    client.stream.on('error', end)
    client.on('error', end)
    client.on('close', () => end(new GivenUp('connection reset')))
    client.on('packetsend', ({ cmd }) => {
      if (cmd === 'publish' || cmd === 'pingreq') allowance.sent()
    })
    client.on('packetreceive', ({ cmd }) => {
      if (cmd === 'publish') end(unasked)
    })
  })
  // Whoever waits for it hears of it; nobody does while nothing is sent.
  gone.catch(() => undefined)
  return gone
}

/** What a broker may still send. */
class Allowance {
  #left_bytes: number = allowed_bytes.atOnce

  /** A packet was sent that asks for others. */
  sent(): void {
    this.#left_bytes = Math.min(allowed_bytes.atOnce, this.#left_bytes + allowed_bytes.forPacket)
  }

  /** Bytes have come; false when they are too many. */
  take(bytes: number): boolean {
    this.#left_bytes -= bytes
    return this.#left_bytes >= 0
  }
}

/** The stream of a socket that ends before the client reads more than is allowed: one piece may have 32,768 packets, which take it a second. */
function readSparingly(socket: Socket, allowance: Allowance): Duplex {
  const stream = new Duplex({
    read: () => socket.resume(),
    write: (piece, encoding, done) => socket.write(piece, encoding, done),
    writev: (pieces, done) => socket.write(Buffer.concat(pieces.map(({ chunk }) => chunk)), done),
    final: (done) => socket.end(done),
    destroy: (fault, done) => {
      socket.destroy()
      done(fault)
    },
  })
  socket.on('data', (piece) => {
    if (!allowance.take(piece.length)) stream.destroy(unasked)
    else if (!stream.push(piece)) socket.pause()
  })
  socket.on('end', () => stream.push(null))
  socket.on('error', (fault) => stream.destroy(fault))
  socket.on('close', () => stream.destroy())
  return stream
}

/** A number is the broker's reason, a text that of the system; whatever has neither was found by the parser. */
function faultOf(fault: unknown): unknown {
  if (fault instanceof GivenUp || !(fault instanceof Error)) return fault
  if (!('code' in fault)) return unasked
  return typeof fault.code === 'number'
    ? new GivenUp(refusals.get(fault.code) ?? `refused with code ${fault.code}`)
    : fault
}

/** Whoever waited for it has heard of its end. */
function ignore(): void {}

function withinTime<Value>(promise: Promise<Value>, limit_ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = whenOver(limit_ms, () => reject(timedOut))
    promise.then(resolve, reject).finally(stop)
  })
}
