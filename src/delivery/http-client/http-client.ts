import type { Socket } from 'node:net'
import { type buildConnector, Client, type Dispatcher } from 'undici'
import { checkedConnector } from './checked-connect.js'
import type { Destinations } from './destinations.js'
import { type HttpResponse, type RequestLimits, ResponseHandler, type TakePiece } from './response-handler.js'

interface HttpClientSettings {
  /** Whether connections are used again. */
  readonly kept: boolean
  /** Idle connections that are kept; when there is one more, one of the origin used longest ago is closed. */
  readonly maxIdle: number
  /**
   * Whether a request is sent once more, on a new connection, when a connection that has served before breaks before
   * anything of the response has come: most probably it was closed while it was idle.
   */
  readonly retried: boolean
  /** Time limit of opening a connection. */
  readonly connectLimit_ms: number
  /** Certificates of unknown authorities are accepted. */
  readonly insecure: boolean
  readonly destinations: Destinations
}

export interface OutgoingRequest extends RequestLimits {
  /** Of a URL of http or https. */
  readonly origin: string
  /** The request target: path and query as they stand in the request line. */
  readonly path: string
  /** Names and values in turn, without those that every request has to its host. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** POST unless it is given. */
  readonly method?: Dispatcher.HttpMethod | undefined
  readonly take: TakePiece
}

/** A connection with at most one request; the client opens it when it has one. */
interface Connection {
  readonly origin: string
  readonly client: Client
  socket: Socket | undefined
  /** Of the request under way. */
  handler: ResponseHandler | undefined
  /** Of what was protected when it was made. */
  readonly version: number
  busy: boolean
  /** It has carried a request and its whole response. */
  served: boolean
}

const headLimit_bytes = 16 * 1024
const idle_ms = 10_000

/**
 * Sends requests that clients cause: to allowed destinations only, never by a proxy, without following redirects. The callers
 * limit how many run at a time. Connections are undici's; which of them a request takes is decided here, because its `Pool`
 *
 * - opens another connection for a request that follows a response at once: as many again as are needed;
 * - without a limit never closes what is idle in excess, with one lets requests wait behind bodies that are still read;
 * - does not say whether a connection has served before, nor gives a new one to the request that is sent once more;
 * - keeps what it has for an origin for ever.
 */
export class HttpClient {
  readonly #settings: HttpClientSettings
  readonly #options: Client.Options
  readonly #connect: buildConnector.connector
  readonly #connections = new Set<Connection>()
  /** By origin, the one used longest ago first. */
  readonly #idle = new Map<string, Connection[]>()
  #idleCount = 0
  #closed = false

  constructor(settings: HttpClientSettings) {
    this.#settings = settings
    this.#connect = checkedConnector(settings)
    this.#options = {
      maxHeaderSize: headLimit_bytes,
      keepAliveTimeout: idle_ms,
      keepAliveMaxTimeout: idle_ms, // Whatever the other side offers.
      headersTimeout: 0, // `ResponseHandler` has the time limits: undici's timers may be a second late.
      bodyTimeout: 0,
    }
  }

  /** Resolves with the head of the response; rejects with the fault, `timedOut` or the signal's reason. */
  send(request: OutgoingRequest): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const { origin, path, body, method = 'POST', take, signal } = request
      if (signal?.aborted) return reject(signal.reason)
      const headers = [...request.headers]
      const send = (connection: Connection): void => {
        const handler = new ResponseHandler({
          limits: request,
          before_bytes: connection.socket?.bytesRead ?? 0,
          take,
          responded: resolve,
          failed: (fault, unanswered) => {
            const stale = unanswered && connection.served && !this.#closed
            if (stale && this.#settings.retried) send(this.#open(connection.origin))
            else reject(fault)
          },
          over: (complete) => {
            connection.handler = undefined
            if (complete) this.#release(connection)
            else this.#drop(connection)
          },
        })
        connection.handler = handler
        connection.client.dispatch({ method, path, headers, body, reset: !this.#settings.kept }, handler)
      }
      send(this.#takeIdle(origin) ?? this.#open(origin))
    })
  }

  /** Closes all connections at once; requests that are under way fail. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(Array.from(this.#connections, (connection) => this.#drop(connection)))
  }

  #open(origin: string): Connection {
    const { version } = this.#settings.destinations
    const connect: buildConnector.connector = (options, callback) =>
      this.#connect(options, (...[fault, socket]) => {
        if (fault !== null) return callback(fault, null)
        connection.socket = socket
        // What a paused parser has not read is not judged.
        socket.on('readable', () => connection.handler?.received(socket.bytesRead - socket.readableLength))
        callback(null, socket)
      })
    const client = new Client(origin, { ...this.#options, connect })
    const connection: Connection = {
      origin,
      client,
      version,
      socket: undefined,
      handler: undefined,
      busy: true,
      served: false,
    }
    connection.client.on('disconnect', () => {
      connection.socket = undefined
      connection.served = false // The client connects again if it has got a request meanwhile.
      if (!connection.busy) this.#drop(connection)
    })
    this.#connections.add(connection)
    return connection
  }

  #takeIdle(origin: string): Connection | undefined {
    const connection = this.#idle.get(origin)?.at(-1)
    if (connection === undefined) return undefined
    this.#removeIdle(connection)
    if (connection.version !== this.#settings.destinations.version) {
      // It may lead to what is protected by now: the next one is checked again.
      this.#drop(connection)
      return this.#takeIdle(origin)
    }
    connection.busy = true
    return connection
  }

  #release(connection: Connection): void {
    const { kept, maxIdle } = this.#settings
    const { origin } = connection
    if (!kept) {
      this.#drop(connection)
      return
    }
    connection.busy = false
    connection.served = true
    const idle = this.#idle.get(origin) ?? []
    idle.push(connection)
    this.#idle.delete(origin) // The origin used last is the last one of the map.
    this.#idle.set(origin, idle)
    this.#idleCount += 1
    if (this.#idleCount <= maxIdle) return
    for (const [excess] of this.#idle.values()) {
      if (excess !== undefined) this.#drop(excess)
      return
    }
  }

  #removeIdle(connection: Connection): void {
    const idle = this.#idle.get(connection.origin) ?? []
    const at = idle.lastIndexOf(connection)
    if (at === -1) return
    idle.splice(at, 1)
    this.#idleCount -= 1
    if (idle.length === 0) this.#idle.delete(connection.origin)
  }

  async #drop(connection: Connection): Promise<void> {
    this.#removeIdle(connection)
    if (this.#connections.delete(connection)) await connection.client.destroy()
  }
}
