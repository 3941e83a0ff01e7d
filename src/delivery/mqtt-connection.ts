import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import type { IClientOptions, MqttClient } from 'mqtt'
import type { Destinations } from '../http-client/destinations.js'
import { denial, GivenUp, timedOut } from '../http-client/faults.js'
import type { MqttMessage } from './outgoing.js'

/** Where messages are published, and as whom. */
export interface MqttEndpoint {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  readonly user: string | undefined
  readonly password: string | undefined
}

interface ConnectionSettings {
  readonly destinations: Destinations
  /** Time limit of opening a connection, and of the acknowledgement of a message. */
  readonly timeout_ms: number
}

/** A broker whose packets are longer, or who has something to say that was not asked for, loses the connection. */
const unparsed_bytes = 2 ** 20
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
 * A connection to an MQTT broker: MQTT 3.1.1 with a clean session. It is used until it breaks: MQTT.js neither connects
 * again nor keeps messages for later, because the outbox is the only queue [NGSIv2 subscriptions 7.1].
 */
export class MqttConnection {
  readonly #client: MqttClient
  readonly #socket: Socket
  readonly #timeout_ms: number
  /** What is under way: each is told why the connection has gone. */
  readonly #waiting = new Set<(fault: unknown) => void>()
  readonly #closed: () => void
  /** Why the connection has gone. */
  #fault: unknown
  /** Bytes that no packet has come of yet. */
  #unparsed = 0

  private constructor(client: MqttClient, socket: Socket, timeout_ms: number, closed: () => void) {
    this.#client = client
    this.#socket = socket
    this.#timeout_ms = timeout_ms
    this.#closed = closed
    client.on('error', (fault) => this.#end(faultOf(fault)))
    client.on('close', () => this.#end(new GivenUp('connection reset')))
    client.on('packetreceive', ({ cmd }) => this.#received(cmd === 'publish'))
    socket.on('data', (piece) => this.#read(piece.length))
  }

  /**
   * Connects to an allowed address; rejects with a fault or `timedOut`. The signal cuts the connection off, open or not;
   * `closed` is called when there is none any more.
   */
  static async open(
    endpoint: MqttEndpoint,
    settings: ConnectionSettings,
    signal: AbortSignal,
    closed: () => void,
  ): Promise<MqttConnection> {
    const { host, port } = endpoint
    const { destinations, timeout_ms } = settings
    if (!destinations.mayConnect(host)) throw denial(host)
    // Loaded when it is needed first: most brokers never send anything over MQTT, and it takes some 20 MB.
    const { MqttClient } = await import('mqtt')
    const socket = connect({ host, port, lookup: destinations.lookup, noDelay: true })
    const client = new MqttClient(() => socket, clientOptions(endpoint, timeout_ms))
    const connection = new MqttConnection(client, socket, timeout_ms, closed)
    const cut = (): void => connection.#end(new GivenUp('connection reset'))
    if (signal.aborted) cut()
    else signal.addEventListener('abort', cut, { once: true })
    await connection.#within((done) => client.once('connect', () => done()))
    return connection
  }

  /** Resolves when the message is written (qos 0) or acknowledged (qos 1 and 2); rejects with a fault or `timedOut`. */
  publish({ topic, body, qos, retain }: MqttMessage): Promise<void> {
    return this.#within((done) => {
      this.#client.publish(topic, body, { qos, retain }, (fault) => done(fault ?? undefined))
    })
  }

  /** Says goodbye, and lets what has been written leave. */
  close(): void {
    this.#client.end()
    setTimeout(() => this.#socket.destroy(), linger_ms).unref()
  }

  /**
   * Waits for something to be done, for as long as there is time and a connection. Who waits is in a set, not behind a promise
   * of the end of the connection: that would remember everybody who ever waited.
   */
  #within(begin: (done: (fault?: unknown) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (fault?: unknown): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        if (fault === undefined) resolve()
        else reject(fault)
      }
      // What is not acknowledged in time may be later: a new connection knows nothing of it.
      const timer = setTimeout(() => this.#end(timedOut), this.#timeout_ms)
      this.#waiting.add(done)
      if (this.#fault === undefined) begin(done)
      else done(this.#fault)
    })
  }

  #received(isMessage: boolean): void {
    this.#unparsed = 0
    if (isMessage) this.#end(unasked)
  }

  #read(bytes: number): void {
    this.#unparsed += bytes
    if (this.#unparsed > unparsed_bytes) this.#end(unasked)
  }

  #end(fault: unknown): void {
    if (this.#fault !== undefined) return
    this.#fault = fault
    // Before the client has its own word for it.
    for (const done of [...this.#waiting]) done(fault)
    this.#client.end(true)
    this.#socket.destroy()
    this.#closed()
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

/** A number is the broker's reason, a text that of the system; whatever has neither was found by the parser. */
function faultOf(fault: unknown): unknown {
  if (fault instanceof GivenUp || !(fault instanceof Error)) return fault
  if (!('code' in fault)) return unasked
  return typeof fault.code === 'number'
    ? new GivenUp(refusals.get(fault.code) ?? `refused with code ${fault.code}`)
    : fault
}
