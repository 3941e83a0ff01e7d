import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { FrequentEvent } from '../observe/log/frequent-event.js'
import { errorFacts } from '../observe/log/log.js'
import type { TraceArea } from '../observe/log/trace.js'
import type { ConnectionLimit } from '../threads/shared-memory/limits.js'
import type { RequestMemory } from '../threads/shared-memory/request-memory.js'
import {
  type Activity,
  advance,
  type ConnectionLimits,
  firstActivity,
  handshakeGoesFirst,
  handshakeMost_s,
  longestIdle,
  lookAt,
  type Overdue,
  overdueFor,
} from './connection-limits.js'
import { ClientConnection, type ConnectionShares } from './connections.js'
import { InputTurns } from './held-requests.js'
import { beginWhenHeard, peerOf } from './listen.js'
import type { ServerContext } from './request-context.js'

/** The limits on the connections of a listening socket. */
export interface TableLimits extends ConnectionLimits {
  /** Requests of one connection that work at a time. */
  readonly atWork: number
  /** Undefined for a port without limit. */
  readonly connections: ConnectionLimit | undefined
  /** How many more may be open for a moment, until another front end has closed its longest idle one. */
  readonly beyond: number
}

const checkInterval_ms = 1_000
/** Connections that are closed when the system has no descriptor for a new one. */
const closedForDescriptors = 4

/** The open connections of a listening socket: counted, and closed when they are idle, too slow or too many. */
export class ConnectionTable {
  readonly #context: ServerContext
  readonly #limits: TableLimits
  readonly #bodyOverdue: (connection: ClientConnection) => void
  readonly #connections = new Map<Duplex, ClientConnection>()
  readonly #activities = new WeakMap<ClientConnection, Activity>()
  /** Sockets that are counted and have not finished their TLS handshake, oldest first. */
  readonly #handshakes = new Map<string, Handshake>()
  readonly #checks: NodeJS.Timeout
  readonly #shares: ConnectionShares
  readonly #acceptFailures = new FrequentEvent()
  readonly #requestRefusals: Refusals
  readonly #responseRefusals: Refusals
  #uses = 0
  #now_s = 0
  /** Called when the last connection has gone. */
  #whenEmpty: (() => void) | undefined

  /** `bodyOverdue` refuses the request whose body takes too long. */
  constructor(context: ServerContext, limits: TableLimits, bodyOverdue: (connection: ClientConnection) => void) {
    this.#context = context
    this.#limits = limits
    this.#bodyOverdue = bodyOverdue
    this.#requestRefusals = new Refusals(context.memory)
    this.#responseRefusals = new Refusals(context.responseMemory)
    this.#shares = {
      atWork: limits.atWork,
      turns: new InputTurns(() => context.responses.flush()),
      memory: context.memory,
      use: () => ++this.#uses,
      interruptAll: () => {
        for (const connection of this.#connections.values()) connection.interrupt()
      },
      failed: ({ socket }, fault) => {
        this.#failed('the requests of a connection could not begin', fault)
        socket.destroy()
      },
    }
    this.#checks = setInterval(() => this.#check(), checkInterval_ms).unref()
  }

  /** The connection on a socket; undefined when it has closed. */
  get(socket: Duplex): ClientConnection | undefined {
    return this.#connections.get(socket)
  }

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

  drop(): void {
    clearInterval(this.#checks)
    for (const { socket } of this.#handshakes.values()) socket.destroy()
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  /**
   * Counts a new socket, handshake included, and says whether it may stay. When there are as many as are allowed the
   * longest idle one is closed; when all are worked for, the new one is closed at once.
   */
  admit(socket: Socket): boolean {
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

  /** The socket is waited for until it can carry requests; `begin` begins its handshake. */
  awaitHandshake(socket: Socket, begin: () => void): void {
    const peer = peerOf(socket)
    this.#handshakes.set(peer, { socket, begun_s: this.#now_s })
    beginWhenHeard(socket, this.#shares.turns, begin)
    socket.once('close', () => {
      if (this.#handshakes.get(peer)?.socket === socket) this.#handshakes.delete(peer)
    })
  }

  /** The handshake is over, well or not. */
  handshakeOver(socket: Socket): void {
    this.#handshakes.delete(peerOf(socket))
  }

  /** The socket can carry requests. */
  open(socket: Socket): void {
    const { meter, stopping } = this.#context
    // Others may still accept on the socket that they share until the front end that opened it has closed it.
    if (stopping) socket.destroy()
    const connection = new ClientConnection(socket, this.#now_s, this.#shares)
    this.#connections.set(socket, connection)
    this.#activities.set(connection, firstActivity(this.#now_s))
    meter.connectionOpened()
    this.#trace('http.connection', () => `opened by ${socket.remoteAddress} port ${socket.remotePort}`)
    socket.once('close', () => this.#forget(socket))
  }

  /** The system had no descriptor or no memory for a connection. */
  acceptFailed(fault: NodeJS.ErrnoException): void {
    let closed = 0
    while (closed < closedForDescriptors && this.#closeLongestIdle()) closed += 1
    this.#context.meter.rejected('max_connections')
    if (this.#acceptFailures.happened() === undefined) return
    this.#context.log.warn(
      'http:accept',
      `a connection could not be accepted (${fault.message}); ${closed} idle connections were closed`,
    )
  }

  #closeLongestIdle(): boolean {
    const socket = this.#leastNeeded()
    if (socket === undefined) return false
    this.#context.meter.rejected('evicted')
    this.#trace('http.connection', () => `${socket.remoteAddress} closed: idle for longest, and others come`)
    this.#forget(socket)
    socket.destroy()
    return true
  }

  /** What is closed for others; nothing while all connections are worked for. */
  #leastNeeded(): Socket | undefined {
    const [oldest] = this.#handshakes.values()
    const most = this.#limits.connections?.limit ?? Number.POSITIVE_INFINITY
    if (oldest !== undefined && handshakeGoesFirst(this.#now_s - oldest.begun_s, this.#handshakes.size, most)) {
      return oldest.socket
    }
    return longestIdle(this.#connections.values(), this.#now_s, most)?.socket ?? oldest?.socket
  }

  /** A connection that is closed, or about to be. */
  #forget(socket: Socket): void {
    this.handshakeOver(socket)
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

  /** Closes what has done nothing, or too little, for too long. */
  #check(): void {
    try {
      this.#now_s += checkInterval_ms / 1000
      const shortage = { requests: this.#requestRefusals.anyNew(), responses: this.#responseRefusals.anyNew() }
      for (const connection of this.#connections.values()) {
        const activity = this.#activities.get(connection)
        if (activity === undefined) continue
        advance(activity, lookAt(connection, this.#now_s))
        const why = overdueFor(activity, this.#limits, shortage)
        if (why !== undefined) this.#closeOverdue(connection, why)
        // A client that has closed its sending half may have gone: the system then refuses to send that a response will come.
        else connection.processing()
      }
      for (const { socket, begun_s } of this.#handshakes.values()) {
        if (this.#now_s - begun_s <= handshakeMost_s) break
        this.#context.meter.rejected('timeout')
        this.#trace('http.tls', () => `${socket.remoteAddress} closed: the handshake takes too long`)
        this.handshakeOver(socket)
        socket.destroy()
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
    if (why === 'body' || why === 'slowBody') this.#bodyOverdue(connection)
    else {
      this.#context.meter.rejected('timeout')
      socket.destroy()
    }
  }

  #failed(what: string, fault: unknown): void {
    this.#context.log.error('http:fault', what, errorFacts(fault))
  }

  #trace(area: TraceArea, message: () => string): void {
    const { log } = this.#context
    if (log.isTraced(area)) log.trace(area, message())
  }
}

const overdueTexts: Readonly<Record<Overdue, string>> = {
  idle: 'idle for too long',
  body: 'the body of a request takes too long',
  unread: 'it does not read its responses',
  slow: 'it reads its responses too slowly, and others wait for their memory',
  slowBody: 'the body of a request comes too slowly, and others wait for its memory',
}

interface Handshake {
  readonly socket: Socket
  readonly begun_s: number
}

/** Sees whether memory was refused since the last look. */
class Refusals {
  readonly #memory: RequestMemory
  #seen: number

  constructor(memory: RequestMemory) {
    this.#memory = memory
    this.#seen = memory.refusals
  }

  anyNew(): boolean {
    const { refusals } = this.#memory
    const isNew = refusals !== this.#seen
    this.#seen = refusals
    return isNew
  }
}
