import { isTopic } from '../../model/subscription/targets.js'
import type { Destinations } from '../http-client/destinations.js'
import {
  type AttemptOutcome,
  endpointName,
  type MqttEndpoint,
  type MqttMessage,
  mqttEndpoint,
  outcomeOfFault,
  refusal,
} from '../queue/outgoing.js'
import type { MqttConnection } from './mqtt-connection.js'

export interface MqttSettings {
  /** Time limit of opening a connection, and of the acknowledgement of a message. */
  readonly timeout_ms: number
  /** For how long a connection is kept that is not used. */
  readonly maxAge_ms: number
  /** Idle connections that are kept; when there is one more, the one used longest ago is closed. */
  readonly maxIdle: number
  readonly destinations: Destinations
  /** Told how many connections are being opened, whenever that changes. */
  readonly opening: (connections: number) => void
}

/** A connection that is open or being opened. */
interface Held {
  readonly opening: Promise<MqttConnection>
  readonly cut: AbortController
  underWay: number
  /** Closes it when it has not been used for long. */
  aging: NodeJS.Timeout | undefined
}

/** What MQTT can tell the length of, without the bytes of the packet around it. */
const maxBody_bytes = 268_435_455 - 65_535 - 4

/** The longest time that a timer can hold. */
const maxTimer_ms = 2 ** 31 - 1

/** Publishes messages over one connection for each broker and user [NGSIv2 subscriptions 7.1]. */
export class MqttSender {
  readonly #settings: MqttSettings
  /** By endpoint, the one used longest ago first. */
  readonly #connections = new Map<string, Held>()
  #opening = 0

  constructor(settings: MqttSettings) {
    this.#settings = settings
  }

  /**
   * One attempt: accepted when the message is written to an open connection (qos 0) or acknowledged (qos 1 and 2), refused
   * when it cannot be written or the destination is not allowed, trouble in all other cases.
   */
  async send(message: MqttMessage): Promise<AttemptOutcome> {
    const endpoint = mqttEndpoint(message)
    if (endpoint === undefined) return refusal('invalid URL')
    if (!isTopic(message.topic)) return refusal('invalid topic')
    if (message.body.length > maxBody_bytes) return refusal('message too long')
    const key = endpointName(endpoint)
    const held = this.#take(key, endpoint)
    try {
      const connection = await held.opening
      await connection.publish(message)
      return { kind: 'accepted' }
    } catch (fault) {
      // What has not been acknowledged in time may be later: a new connection knows nothing of it.
      this.#drop(key, held)
      return outcomeOfFault(fault)
    } finally {
      held.underWay -= 1
      if (held.underWay === 0) this.#age(key, held)
    }
  }

  /** Gives up what is under way and closes all connections. */
  close(): void {
    for (const [key, held] of this.#connections) {
      if (held.underWay > 0) this.#drop(key, held)
      else this.#leave(key, held)
    }
  }

  #take(key: string, endpoint: MqttEndpoint): Held {
    const held = this.#connections.get(key) ?? this.#open(key, endpoint)
    clearTimeout(held.aging)
    held.underWay += 1
    this.#connections.delete(key)
    this.#connections.set(key, held)
    return held
  }

  #open(key: string, endpoint: MqttEndpoint): Held {
    const cut = new AbortController()
    const opening = openConnection(endpoint, this.#settings, cut.signal, () => this.#forget(key, held))
    const held: Held = { opening, cut, underWay: 0, aging: undefined }
    this.#noteOpening(1)
    const settled = (): void => this.#noteOpening(-1)
    opening.then(settled, settled)
    return held
  }

  #noteOpening(more: 1 | -1): void {
    this.#opening += more
    this.#settings.opening(this.#opening)
  }

  #age(key: string, held: Held): void {
    if (this.#connections.get(key) !== held) return
    held.aging = setTimeout(() => this.#leave(key, held), Math.min(this.#settings.maxAge_ms, maxTimer_ms)).unref()
    const idle = [...this.#connections].filter(([, { underWay }]) => underWay === 0)
    const [excess] = idle
    if (excess !== undefined && idle.length > this.#settings.maxIdle) this.#leave(...excess)
  }

  /** Closes a connection on which nothing is under way. */
  #leave(key: string, held: Held): void {
    this.#forget(key, held)
    held.opening.then((connection) => connection.close(), ignore)
  }

  /** Closes a connection with whatever is under way on it. */
  #drop(key: string, held: Held): void {
    this.#forget(key, held)
    held.cut.abort()
  }

  #forget(key: string, held: Held): void {
    clearTimeout(held.aging)
    if (this.#connections.get(key) === held) this.#connections.delete(key)
  }
}

/** The client is loaded when it is needed first: most brokers never send anything over MQTT, and it takes some 20 MB. */
async function openConnection(...parameters: Parameters<typeof MqttConnection.open>): Promise<MqttConnection> {
  return (await import('./mqtt-connection.js')).MqttConnection.open(...parameters)
}

/** That a connection could not be opened is told to those who wanted to use it. */
function ignore(): void {}
