import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import { systemFaultText } from '../../faults.js'
import { RefusalLines } from '../../http/client-access.js'
import { InputTurns } from '../../http/held-requests.js'
import { beginWhenHeard, createTlsServer, peerOf, stopListening, takeConnections } from '../../http/listen.js'
import { FrequentEvent } from '../../observe/log/frequent-event.js'
import { errorFacts, type Log } from '../../observe/log/log.js'
import { awaitFirstHead, type FirstHead } from './first-head.js'
import { LaterOutcomes } from './later-outcomes.js'
import { batchesPipelined, batchMost_bytes, linkFormat, linkHeaders, parseLinkTarget } from './link-protocol.js'
import { type LinkConnection, LinkRequests, type LinkServices, type ListenerResponse } from './link-requests.js'
import { type LinkSecurity, TokenCheck } from './link-security.js'
import { ownClock } from './remote-clock.js'

/** How a node names itself and its cluster to others. */
export interface LinkSelf {
  readonly cluster: string
  readonly node: string
}

export interface NodeListenerParts {
  readonly self: LinkSelf
  readonly security: LinkSecurity
  readonly services: LinkServices
  readonly log: Log
  readonly limits?: Partial<LinkLimits>
}

/** The resources of this node that other nodes may take. */
export interface LinkLimits {
  /** The most connections; further ones are closed at once. */
  readonly connections: number
  /** Of these, the most that have not authenticated yet; one more closes the oldest. */
  readonly unproven: number
  /** For a TLS handshake, and for the head of a request; for the refusal of a caller without a token too. */
  readonly head_ms: number
  /** From the first byte of a request to its last. */
  readonly request_ms: number
  /** Without a byte in either direction; longer than nodes keep unused connections. */
  readonly idle_ms: number
  /** The most bytes of bodies in this thread that are being read or wait for a response. */
  readonly held_bytes: number
}

/** The most connections beside those of streams. */
export const plainConnections = 1024

const usualLimits: LinkLimits = {
  connections: plainConnections,
  unproven: 64,
  head_ms: 5_000,
  request_ms: 30_000,
  idle_ms: 90_000,
  held_bytes: 128 * 2 ** 20,
}

const head_bytes = 4096
const headersMost = 32
/** How often Node checks for heads and requests that take too long. */
const check_ms = 500
/** Only a caller that is no node has more requests under way on a connection. */
const underWayMost = 2 * batchesPipelined
/** How much of a refused request's body is read, so that its sender sees the refusal. */
const drained_bytes = 64 * 1024

interface Accepted extends LinkConnection {
  underWay: number
  /** A request was refused: later ones are ignored. */
  isClosing: boolean
}

/**
 * The listener for other nodes of the cluster. Until a caller has shown a certificate of the cluster's authority or a token, it
 * gets little memory and time, and no response but a refusal: Node's parser gets none of its bytes.
 */
export class NodeListener {
  readonly server: Server
  readonly #parts: NodeListenerParts
  readonly #limits: LinkLimits
  readonly #tokens: TokenCheck
  readonly #requests: LinkRequests
  readonly #lines: RefusalLines
  readonly #acceptFailures = new FrequentEvent()
  readonly #accepted = new WeakMap<Socket, Accepted>()
  readonly #sockets = new Set<Socket>()
  /** By remote address and port, the oldest first. */
  readonly #unproven = new Map<string, Socket>()
  /** Shares each turn of the event loop between the TLS handshakes of callers; there are no responses to flush. */
  readonly #turns = new InputTurns(() => {})
  #held_bytes = 0
  #isClosed = false

  constructor(parts: NodeListenerParts) {
    const { security, services, log } = parts
    this.#parts = parts
    this.#limits = { ...usualLimits, ...parts.limits }
    this.#tokens = new TokenCheck(security.tokens)
    this.#requests = new LinkRequests(services, log)
    this.#lines = new RefusalLines(log, 'cluster:link', 'see "Keys and tokens" in docs/cluster.md')
    this.server = newServer(this.#limits, security, (incoming, outgoing) => this.#serve(incoming, outgoing))
    const begin = takeConnections(this.server)
    this.server.on('connection', (socket: Socket) => {
      if (!this.#admit(socket)) return
      if (security.tls === undefined) this.#awaitToken(socket, begin)
      else this.#awaitHandshake(socket, begin)
    })
    this.server.on('tlsClientError', (fault: Error, socket: Socket) => {
      this.#lines.refused(`from ${socket.remoteAddress} without a certificate of the cluster (${fault.message})`)
      socket.destroy()
    })
  }

  /**
   * Accepting fails from now on only for want of descriptors or memory, which ends: the oldest connection that has shown nothing makes
   * room.
   */
  survivesErrors(): void {
    this.server.on('error', (fault: NodeJS.ErrnoException) => {
      const [oldest] = this.#unproven.values()
      oldest?.destroy()
      if (this.#acceptFailures.happened() === undefined) return
      this.#parts.log.warn('cluster:link', `a connection could not be accepted: ${systemFaultText(fault)}`)
    })
  }

  /**
   * Stops accepting, and closes existing connections once their responses are sent. `isShared`: another thread has opened the
   * socket.
   */
  close(isShared = false): void {
    this.#isClosed = true
    stopListening(this, isShared)
    for (const socket of this.#sockets) socket.destroySoon()
  }

  /** Says whether the connection may go on. */
  #admit(socket: Socket): boolean {
    // The socket accepts for as long as another thread has it open.
    if (this.#isClosed) {
      socket.destroy()
      return false
    }
    const peer = peerOf(socket)
    this.#sockets.add(socket)
    this.#unproven.set(peer, socket)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      if (this.#unproven.get(peer) === socket) this.#unproven.delete(peer)
    })
    const [oldest] = this.#unproven.values()
    if (this.#unproven.size > this.#limits.unproven) oldest?.destroy()
    return !socket.destroyed
  }

  /** Has the requests of a connection parsed when the first one has a token. */
  #awaitToken(socket: Socket, parse: (socket: Socket) => void): void {
    awaitFirstHead(socket, {
      head_bytes,
      limit_ms: this.#limits.head_ms,
      serve: parse,
      refusalOf: (head: FirstHead) => {
        if (this.#tokens.accepts(head.header('authorization'))) return undefined
        this.#logRefusal(socket, head.header(linkHeaders.node), tokenNeeded)
        return lastResponse(tokenNeeded)
      },
    })
  }

  /** Node limits the time of a handshake from when that begins. */
  #awaitHandshake(socket: Socket, begin: (socket: Socket) => void): void {
    const limit = setTimeout(() => socket.destroy(), this.#limits.head_ms)
    const noLimit = (): void => clearTimeout(limit)
    socket.once('close', noLimit)
    beginWhenHeard(socket, this.#turns, () => {
      socket.off('close', noLimit)
      noLimit()
      begin(socket)
    })
  }

  #logRefusal({ remoteAddress }: Socket, node: unknown, { status, text }: ListenerResponse): void {
    const name = String(node ?? '').slice(0, 64)
    this.#lines.refused(`from ${remoteAddress} (${printable.test(name) ? name : 'no node'}), with ${status}: ${text}`)
  }

  #serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const connection = this.#connectionOf(incoming.socket)
    if (connection.isClosing) {
      // The response to the refused request closes the connection.
      incoming.socket.pause()
      return
    }
    const refusal = this.#refusalOf(incoming)
    if (refusal !== undefined) {
      this.#refuse(connection, incoming, outgoing, refusal)
      return
    }
    this.#unproven.delete(peerOf(incoming.socket))
    connection.later.yield()
    connection.underWay += 1
    outgoing.once('close', () => {
      connection.underWay -= 1
    })
    if (connection.underWay > underWayMost) {
      incoming.socket.destroy()
      return
    }
    this.#read(connection, incoming, outgoing)
  }

  #connectionOf(socket: Socket): Accepted {
    const known = this.#accepted.get(socket)
    if (known !== undefined) return known
    const accepted: Accepted = { underWay: 0, isClosing: false, batches: undefined, later: new LaterOutcomes() }
    this.#accepted.set(socket, accepted)
    socket.once('close', () => accepted.later.close())
    return accepted
  }

  /** Why the head of a request is refused. A caller without a token learns nothing else. */
  #refusalOf({ headers, method, url }: IncomingMessage): ListenerResponse | undefined {
    const { cluster, node } = this.#parts.self
    if (!this.#tokens.accepts(headers.authorization)) return tokenNeeded
    const of = headers[linkHeaders.cluster]
    if (of !== cluster) return refusal(409, `this is node ${node} of cluster ${cluster}, not of ${String(of)}`)
    const format = headers[linkHeaders.format]
    if (format !== String(linkFormat)) {
      return refusal(409, `node ${node} has format ${linkFormat} of the link between nodes, not ${String(format)}`)
    }
    if (parseLinkTarget(method, url) === undefined) return refusal(404, 'there is nothing of that name between nodes')
    const length = headers['content-length']
    if (method === 'GET') {
      const hasBody = length !== undefined || headers['transfer-encoding'] !== undefined
      return hasBody ? refusal(413, 'nothing is taken with this') : undefined
    }
    if (length === undefined) return refusal(411, 'a body is needed, with its Content-Length')
    return Number(length) > batchMost_bytes ? refusal(413, `at most ${batchMost_bytes} bytes are taken`) : undefined
  }

  #refuse(connection: Accepted, incoming: IncomingMessage, outgoing: ServerResponse, refusal: ListenerResponse): void {
    const { socket, headers } = incoming
    connection.isClosing = true
    this.#logRefusal(socket, headers[linkHeaders.node], refusal)
    const respond = (): void => {
      outgoing.shouldKeepAlive = false
      send(outgoing, refusal)
    }
    const isLong = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > drained_bytes
    if (isLong) respond()
    else incoming.resume().once('end', respond)
  }

  /** Reads bodies in the order of the requests: nothing may be awaited before. */
  #read(connection: Accepted, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const length = Number(incoming.headers['content-length'] ?? 0)
    const isBusy = this.#held_bytes > 0 && this.#held_bytes + length > this.#limits.held_bytes
    const pieces: Buffer[] = []
    if (!isBusy) {
      this.#held_bytes += length
      outgoing.once('close', () => {
        this.#held_bytes -= length
      })
      incoming.on('data', (piece: Buffer) => pieces.push(piece))
    }
    incoming.resume().once('end', () => {
      if (isBusy) {
        send(outgoing, refusal(503, 'this node has too much to do'))
        return
      }
      this.#respond(connection, incoming, outgoing, Buffer.concat(pieces)).catch((fault: unknown) => {
        this.#parts.log.error('cluster:link', 'a request of another node failed', errorFacts(fault))
        incoming.socket.destroy()
      })
    })
  }

  async #respond(
    connection: Accepted,
    { method, url, headers }: IncomingMessage,
    outgoing: ServerResponse,
    body: Buffer,
  ): Promise<void> {
    const target = parseLinkTarget(method, url)
    if (target === undefined) throw new Error('a request has no target')
    if (target.kind === 'positions') send(outgoing, this.#requests.positions(body))
    else if (target.kind === 'clock') send(outgoing, this.#requests.clock(this.#parts.self.node))
    else if (target.kind === 'control') send(outgoing, await this.#requests.changeMetadata(body))
    else if (target.kind === 'heartbeats') send(outgoing, await this.#requests.heartbeats(body))
    else if (target.kind === 'statistics') send(outgoing, this.#requests.statistics())
    else if (target.kind === 'confirmations') send(outgoing, await this.#requests.confirmation(body))
    else if (target.kind === 'streams') await this.#requests.sendStream(body, outgoing)
    else if (target.kind === 'checkpoint') await this.#requests.sendCheckpoint(target.log, outgoing)
    else if (target.kind === 'opening') {
      send(outgoing, await this.#requests.opening(connection, target.partition, headers))
    } else if (target.kind === 'outcomes') send(outgoing, await this.#requests.laterOutcomes(connection))
    else {
      const response = await this.#requests.batch(connection, target.partition, headers, body)
      if (response.over !== undefined) this.#hold(body, response.over)
      send(outgoing, response)
    }
  }

  /** Counts the body until all of its commands are answered, deferred ones included. */
  #hold({ length }: Buffer, over: Promise<void>): void {
    this.#held_bytes += length
    void over.then(() => {
      this.#held_bytes -= length
    })
  }
}

function newServer(
  { head_ms, request_ms, idle_ms, connections }: LinkLimits,
  { tls }: LinkSecurity,
  serve: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): Server {
  const options: ServerOptions = {
    maxHeaderSize: head_bytes,
    headersTimeout: head_ms,
    requestTimeout: request_ms,
    keepAliveTimeout: idle_ms,
    connectionsCheckingInterval: check_ms,
    noDelay: true,
    keepAlive: true,
  }
  const server =
    tls === undefined
      ? createServer(options, serve)
      : createTlsServer(
          {
            ...options,
            ...tls,
            requestCert: true,
            rejectUnauthorized: true,
            minVersion: 'TLSv1.3',
            handshakeTimeout: head_ms,
          },
          serve,
        )
  server.timeout = idle_ms
  server.maxConnections = connections
  server.maxHeadersCount = headersMost
  // No node expects anything: a request that does is checked as all others are.
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  return server
}

function refusal(status: number, text: string): ListenerResponse {
  return { status, text }
}

const tokenNeeded = refusal(401, 'a token of the cluster is needed: give all nodes the same -clusterTokenFile')

/** What may stand in a line of the log. */
const printable = /^[\x20-\x7e]+$/

/** The bytes of a refusal without Node's server. */
function lastResponse({ status, text }: ListenerResponse): string {
  const body = refusalBody(text)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: ${contentType}`
  return `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const contentType = 'application/octet-stream'

function refusalBody(text: string | undefined): string {
  return JSON.stringify({ error: text })
}

function send(outgoing: ServerResponse, { status, text, bytes }: ListenerResponse): void {
  const body = bytes ?? Buffer.from(refusalBody(text))
  const type = { 'Content-Length': body.length, 'Content-Type': contentType }
  outgoing.writeHead(status, { ...type, [linkHeaders.clock]: ownClock() }).end(body)
}
