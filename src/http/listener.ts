import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Resource } from '../api.js'
import { errorFacts } from '../log/log.js'
import type { ConnectionLimit } from '../shared-memory/connection-limit.js'
import { traceArea } from '../trace-area.js'
import { Application } from './application.js'
import { Call } from './call.js'
import { type ConnectionLimits, longestIdle, type Overdue, overdue } from './connection-limits.js'
import { ClientConnection } from './connections.js'
import { LastReply, type Reply, ServerReply } from './reply.js'
import type { ServerContext } from './server-context.js'
import type { Target } from './target.js'
import { turnAway } from './turn-away.js'
import { type RefusedBytes, UnknownVerbHead, unknownVerbAt } from './unknown-verb.js'

/** What is set on a server of Node's. */
export interface ListenerLimits extends ConnectionLimits {
  readonly maxHead_bytes: number
  /** Of a connection on which nothing moves; 0 for none [management 11.8]. */
  readonly timeout_ms: number
  /** Requests of one connection that work at a time. */
  readonly atWork: number
  /** Nothing for a port without limit. */
  readonly connections: ConnectionLimit | undefined
  /** How many more may be open for a moment, until another front end has closed its longest idle one. */
  readonly beyond: number
}

/** Key and certificate, as PEM. */
export interface Tls {
  readonly key: string
  readonly cert: string
}

/** How long the head of a request may take from its first byte [management 11.8]; a handshake likewise. */
const headTimeout_ms = 60_000
const headCheckInterval_ms = 5_000

const lookInterval_ms = 1_000
/** Connections that are closed when the system has no descriptor for a new one. */
const closedForDescriptors = 4
const acceptWarning_ms = 10_000

/** A server and the connections that it has accepted. */
export class Listener {
  readonly server: Server
  readonly #context: ServerContext
  readonly #limits: ListenerLimits
  readonly #connections = new Map<Duplex, ClientConnection>()
  /** Connections that have a place and have not finished their TLS handshake, oldest first. */
  readonly #handshakes = new Map<string, Socket>()
  readonly #unknownVerbs = new WeakMap<Duplex, UnknownVerbHead>()
  readonly #looks: NodeJS.Timeout
  readonly #application: Application
  #uses = 0
  #now_s = 0
  #warned_ms = Number.NEGATIVE_INFINITY
  /** Called when the last connection has gone. */
  #whenEmpty: (() => void) | undefined

  constructor(context: ServerContext, resources: readonly Resource[], limits: ListenerLimits, tls: Tls | undefined) {
    this.#context = context
    this.#limits = limits
    this.#application = new Application(resources, (...request) => this.#serve(...request))
    const serve: RequestListener = (incoming, outgoing) => this.#application.route(incoming, outgoing)
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
    this.server =
      tls === undefined
        ? createServer(options, serve)
        : createTlsServer({ ...options, ...tls, handshakeTimeout: headTimeout_ms, allowHalfOpen: true }, serve)
    // A client that has closed its sending half still gets its answers. Node has the switch and no option for it.
    Object.assign(this.server, { httpAllowHalfOpen: true })
    this.server.timeout = limits.timeout_ms
    // One more than is allowed: it shows that there were too many.
    this.server.maxHeadersCount = 201
    // Other expectations may be ignored [RFC 9110 10.1.1].
    this.server.on('checkContinue', serve)
    this.server.on('checkExpectation', serve)
    this.server.on('connection', (socket: Socket) => {
      if (!this.#takesPlace(socket)) return
      if (tls === undefined) this.#accept(socket)
      else this.#awaitHandshake(socket)
    })
    this.server.on('secureConnection', (socket: Socket) => {
      this.#handshakes.delete(peerOf(socket))
      this.#accept(socket)
    })
    this.#watch()
    this.#looks = setInterval(() => this.#look(), lookInterval_ms).unref()
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
    clearInterval(this.#looks)
    for (const socket of this.#handshakes.values()) socket.destroy()
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  /** Accepting fails from now on only for want of descriptors or memory, which ends. */
  survivesErrors(): void {
    this.server.on('error', (fault: NodeJS.ErrnoException) => this.#acceptFailed(fault))
  }

  #serve(incoming: IncomingMessage, outgoing: ServerResponse | undefined, target: Target): void {
    try {
      const { interleaving, admission } = this.#context
      const isCrowded = outgoing !== undefined && admission.isCrowded
      if (isCrowded) interleaving.requestCame()
      const connection = this.#connections.get(incoming.socket)
      if (connection === undefined) incoming.socket.destroy()
      else if (outgoing === undefined) this.#begin(connection, incoming, target, new LastReply(connection))
      else if (connection.closing) connection.ignore()
      else if (!isCrowded || !this.#turnsAway(connection, incoming, outgoing, target)) {
        this.#begin(connection, incoming, target, new ServerReply(incoming, outgoing))
      }
    } catch (fault) {
      this.#failed('a request could not begin', fault)
      incoming.socket.destroy()
    }
  }

  /** A request that is alone on its connection may be refused before it costs more. */
  #turnsAway(
    connection: ClientConnection,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    target: Target,
  ): boolean {
    if (connection.busy || incoming.socket.readableEnded) return false
    return turnAway(this.#context, incoming, outgoing, target)
  }

  #begin(connection: ClientConnection, incoming: IncomingMessage, target: Target, reply: Reply): void {
    new Call(this.#context, connection, incoming, target, reply).begin()
  }

  #watch(): void {
    this.server.on('clientError', (fault: Error & RefusedBytes, socket) => {
      try {
        this.#refuse(fault, socket)
      } catch (second) {
        this.#failed('a refusal failed', second)
        socket.destroy()
      }
    })
    this.server.on('connect', (incoming, socket) => {
      const connection = this.#connections.get(socket)
      // Node has taken its own listeners from the socket.
      socket.on('error', () => socket.destroy())
      connection?.refuse(() => this.#application.route(incoming, undefined))
    })
    this.server.on('tlsClientError', (fault: Error, socket) => {
      this.#handshakes.delete(peerOf(socket))
      this.#trace('http.tls', () => `handshake failed: ${fault.message}`)
    })
  }

  /**
   * A connection has its place from its first byte, a handshake included. When all are taken the longest idle one
   * goes; when all are worked for, the new one is closed at once.
   */
  #takesPlace(socket: Socket): boolean {
    const { connections: limit, beyond } = this.#limits
    if (limit === undefined) return true
    if (limit.take() || (this.#closeLongestIdle() ? limit.take(beyond + 1) : limit.take(beyond))) {
      socket.once('close', () => limit.release())
      return true
    }
    this.#context.meter.rejected('max_connections')
    this.#trace('http.connection', () => `${socket.remoteAddress} refused: too many connections`)
    socket.destroy()
    return false
  }

  /** Says whether there was one. */
  #closeLongestIdle(): boolean {
    const [handshake] = this.#handshakes.values()
    const socket = handshake ?? longestIdle(this.#connections.values())?.socket
    if (socket === undefined) return false
    this.#context.meter.rejected('evicted')
    this.#trace('http.connection', () => `${socket.remoteAddress} closed: idle for longest, and others come`)
    this.#forget(socket)
    socket.destroy()
    return true
  }

  #awaitHandshake(socket: Socket): void {
    const peer = peerOf(socket)
    this.#handshakes.set(peer, socket)
    socket.once('close', () => {
      if (this.#handshakes.get(peer) === socket) this.#handshakes.delete(peer)
    })
  }

  #accept(socket: Socket): void {
    const { meter, stopping } = this.#context
    // Others may still accept on the socket that they share until the front end that opened it has closed it.
    if (stopping) socket.destroy()
    const connection = new ClientConnection(socket, this.#limits.atWork, () => ++this.#uses)
    connection.facts.movedAt = this.#now_s
    connection.facts.sentAt = this.#now_s
    this.#connections.set(socket, connection)
    meter.connectionOpened()
    this.#trace('http.connection', () => `opened by ${socket.remoteAddress} port ${socket.remotePort}`)
    socket.once('close', () => this.#forget(socket))
  }

  /** A connection that is closed, or about to be. */
  #forget(socket: Socket): void {
    this.#handshakes.delete(peerOf(socket))
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    this.#connections.delete(socket)
    this.#context.meter.connectionClosed()
    try {
      connection.closed()
    } catch (fault) {
      this.#failed('a connection did not close in order', fault)
    }
    this.#trace('http.connection', () => 'closed')
    if (this.#connections.size === 0) this.#whenEmpty?.()
  }

  /** What the parser refused; a head that took too long. A connection that never said anything is just closed. */
  #refuse(fault: Error & RefusedBytes, socket: Duplex): void {
    this.#trace('http.malformed', () => `${fault.code}: ${fault.message}`)
    const connection = this.#connections.get(socket)
    if (connection === undefined || connection.socket.bytesRead === 0) return void socket.destroy()
    const { code = '' } = fault
    const unknown = this.#unknownVerbs.get(socket)
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#refuseWith(connection, 408)
    else if (!code.startsWith('HPE_')) socket.destroy()
    else if (unknown !== undefined) this.#gather(connection, unknown, fault.rawPacket)
    // What comes after the last request of a connection is not looked at.
    else if (code === 'HPE_CLOSED_CONNECTION' || connection.closing) return
    // Nobody waits for an answer to half a request.
    else if (code === 'HPE_INVALID_EOF_STATE') connection.refuseWith(undefined)
    else if (code === 'HPE_HEADER_OVERFLOW') this.#refuseWith(connection, 431)
    else {
      const at = unknownVerbAt(fault)
      if (at === undefined || connection.reading !== undefined) this.#refuseWith(connection, 400)
      else {
        const head = new UnknownVerbHead(this.#limits.maxHead_bytes)
        this.#unknownVerbs.set(socket, head)
        this.#gather(connection, head, fault.rawPacket?.subarray(at))
      }
    }
  }

  /** A verb that the parser does not know: the request is answered when its head is complete, and is the last one. */
  #gather(connection: ClientConnection, head: UnknownVerbHead, bytes: Buffer | undefined): void {
    if (connection.closing) return
    const { socket } = connection
    const found = bytes === undefined ? ({ kind: 'malformed' } as const) : head.add(bytes, socket)
    if (found === undefined) return
    if (found.kind === 'malformed') this.#refuseWith(connection, 400)
    else connection.refuse(() => this.#application.route(found.incoming, undefined))
  }

  #refuseWith(connection: ClientConnection, status: 400 | 408 | 431): void {
    if (!connection.refuseWith(status)) return
    this.#context.meter.rejected(status === 431 ? 'too_large' : status === 408 ? 'timeout' : 'malformed')
  }

  /** Closes what has done nothing, or too little, for too long. */
  #look(): void {
    try {
      this.#now_s += lookInterval_ms / 1000
      for (const connection of this.#connections.values()) {
        const why = overdue(connection, this.#now_s, this.#limits)
        if (why !== undefined) this.#closeOverdue(connection, why)
        // A client that has closed its sending half may have gone: it refuses to hear that an answer will come.
        else connection.processing()
      }
      for (let excess = this.#limits.connections?.excess ?? 0; excess > 0; excess -= 1) {
        if (!this.#closeLongestIdle()) break
      }
    } catch (fault) {
      this.#failed('the connections could not be looked at', fault)
    }
  }

  #closeOverdue(connection: ClientConnection, why: Overdue): void {
    const { socket } = connection
    this.#trace('http.connection', () => `${socket.remoteAddress} closed: ${overdueTexts[why]}`)
    if (why === 'body') this.#refuseWith(connection, 408)
    else {
      this.#context.meter.rejected('timeout')
      socket.destroy()
    }
  }

  #acceptFailed(fault: NodeJS.ErrnoException): void {
    let closed = 0
    while (closed < closedForDescriptors && this.#closeLongestIdle()) closed += 1
    this.#context.meter.rejected('max_connections')
    const now = performance.now()
    if (now - this.#warned_ms < acceptWarning_ms) return
    this.#warned_ms = now
    this.#context.log.warn(
      'http:accept',
      `a connection could not be accepted (${fault.message}); ${closed} idle ones closed`,
    )
  }

  #failed(what: string, fault: unknown): void {
    this.#context.log.error('http:fault', what, errorFacts(fault))
  }

  #trace(area: keyof typeof traceArea, message: () => string): void {
    const { log } = this.#context
    if (log.traces[traceArea[area]] === 1) log.trace(area, message())
  }
}

const overdueTexts: Readonly<Record<Overdue, string>> = {
  idle: 'idle for too long',
  body: 'the body of a request takes too long',
  unread: 'it does not read its answers',
}

/** The same for a connection and the TLS on it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
