import { createServer, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { traceArea } from '../trace-area.js'
import { requestListener } from './app.js'
import { Call } from './call.js'
import type { ConnectionLimit } from './connection-limit.js'
import { Connection } from './connections.js'
import type { Desk } from './desk.js'

/** What is set on a server of Node's. */
export interface ListenerLimits {
  readonly maxHead_bytes: number
  /** Of a connection on which nothing moves; 0 for none [management 11.8]. */
  readonly timeout_ms: number
  /** Nothing for a port without limit. */
  readonly connections: ConnectionLimit | undefined
}

/** Key and certificate, as PEM. */
export interface Tls {
  readonly key: string
  readonly cert: string
}

/** How long the head of a request may take from its first byte [management 11.8]. */
const headTimeout_ms = 60_000
const headCheckInterval_ms = 5_000

/** A server and the connections that it has accepted. */
export class Listener {
  readonly server: Server
  readonly #desk: Desk
  readonly #limit: ConnectionLimit | undefined
  readonly #connections = new Map<Duplex, Connection>()
  /** Called when the last connection has gone. */
  #whenEmpty: (() => void) | undefined

  constructor(desk: Desk, limits: ListenerLimits, tls: Tls | undefined) {
    this.#desk = desk
    this.#limit = limits.connections
    const serve = requestListener((incoming, outgoing) => {
      const connection = this.#connections.get(incoming.socket)
      if (connection === undefined) outgoing.destroy()
      else new Call(desk, connection, incoming, outgoing).begin()
    })
    const options: ServerOptions = {
      maxHeaderSize: limits.maxHead_bytes,
      headersTimeout: headTimeout_ms,
      requestTimeout: 0,
      keepAliveTimeout: 0,
      connectionsCheckingInterval: headCheckInterval_ms,
      // Checked with the other things that make a request malformed, so that the answer is the same.
      requireHostHeader: false,
      noDelay: true,
    }
    this.server = tls === undefined ? createServer(options, serve) : createTlsServer({ ...options, ...tls }, serve)
    this.server.timeout = limits.timeout_ms
    // One more than is allowed: it shows that there were too many.
    this.server.maxHeadersCount = 201
    this.server.on('checkContinue', serve)
    this.server.on('connection', (socket: Socket) => {
      if (this.#takesPlace(socket) && tls === undefined) this.#accept(socket)
    })
    this.server.on('secureConnection', (socket: Socket) => this.#accept(socket))
    this.#watch()
  }

  get address(): AddressInfo | undefined {
    const address = this.server.address()
    return address === null || typeof address === 'string' ? undefined : address
  }

  /** The requests in progress. */
  get inProgress(): number {
    let count = 0
    for (const connection of this.#connections.values()) count += connection.inProgress
    return count
  }

  /** Ends the connections without a request in progress; resolves when the others are done too [management 12.2]. */
  async drain(): Promise<void> {
    for (const [socket, connection] of this.#connections) if (!connection.busy) socket.destroy()
    if (this.#connections.size === 0) return
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve
    })
  }

  /** Drops every connection. */
  drop(): void {
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  #watch(): void {
    const { log } = this.#desk
    this.server.on('clientError', (fault: NodeJS.ErrnoException, socket) => this.#refuse(fault, socket))
    this.server.on('connect', (_, socket) => this.#connections.get(socket)?.refuse(400))
    this.server.on('tlsClientError', (fault: Error) => {
      if (log.traces[traceArea['http.tls']] === 1) log.trace('http.tls', `handshake failed: ${fault.message}`)
    })
  }

  /** A connection has its place from its first byte, a handshake included; without one it is closed at once. */
  #takesPlace(socket: Socket): boolean {
    const limit = this.#limit
    if (limit === undefined) return true
    if (limit.take()) {
      socket.once('close', () => limit.release())
      return true
    }
    const { meter, log } = this.#desk
    meter.rejected('max_connections')
    if (log.traces[traceArea['http.connection']] === 1) {
      log.trace('http.connection', `${socket.remoteAddress} refused: too many connections`)
    }
    socket.destroy()
    return false
  }

  #accept(socket: Socket): void {
    const { meter, log, stopping } = this.#desk
    // Others may still accept on the socket that they share until the front end that opened it has closed it.
    if (stopping) socket.destroy()
    const connection = new Connection(socket)
    this.#connections.set(socket, connection)
    meter.connectionOpened()
    if (log.traces[traceArea['http.connection']] === 1) {
      log.trace('http.connection', `opened by ${socket.remoteAddress} port ${socket.remotePort}`)
    }
    socket.once('close', () => {
      this.#connections.delete(socket)
      meter.connectionClosed()
      connection.closed()
      if (log.traces[traceArea['http.connection']] === 1) log.trace('http.connection', 'closed')
      if (this.#connections.size === 0) this.#whenEmpty?.()
    })
  }

  /** What the parser refused; a head that took too long. A connection that never said anything is just closed. */
  #refuse(fault: NodeJS.ErrnoException, socket: Duplex): void {
    const { log, meter } = this.#desk
    if (log.traces[traceArea['http.malformed']] === 1) log.trace('http.malformed', `${fault.code}: ${fault.message}`)
    const connection = this.#connections.get(socket)
    const silent = connection === undefined || connection.socket.bytesRead === 0
    if (fault.code === 'ECONNRESET' || silent) return void socket.destroy()
    const status = statusOf(fault.code)
    if (connection.refuse(status)) meter.rejected(status === 431 ? 'too_large' : 'malformed')
  }
}

function statusOf(code: string | undefined): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
}
