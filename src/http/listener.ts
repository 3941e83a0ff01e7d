import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Resource } from '../broker/operations/api.js'
import { accessLevel } from '../observe/log/access-line.js'
import { errorFacts } from '../observe/log/log.js'
import { headCost_bytes } from '../threads/shared-memory/request-memory.js'
import { Application } from './application.js'
import { ConnectionTable, type TableLimits } from './connection-table.js'
import type { ClientConnection } from './connections.js'
import { announcedBody, correlatorOf, single } from './headers.js'
import { createTlsServer, type Tls, takeConnections } from './listen.js'
import { MalformedInput, type RefusedBytes } from './malformed.js'
import { HttpRequest } from './request.js'
import type { ServerContext } from './request-context.js'
import { LastResponseWriter, NodeResponseWriter, type ResponseWriter } from './response-writer.js'
import { overloaded } from './responses.js'
import { kinds, type Target } from './target.js'

export interface ListenerLimits extends TableLimits {
  readonly maxHead_bytes: number
  /** How long a connection may be idle; 0 for any time [management 11.8]. */
  readonly timeout_ms: number
}

/** How long the head of a request may take from its first byte [management 11.8]. */
const headTimeout_ms = 60_000
const headCheckInterval_ms = 5_000

/** Node reads this much of a connection at once: the bodies of requests that wait have no more bytes. */
const readMost_bytes = 65_536

/** A server of Node's, the application that its requests are routed by, and the connections that it has accepted. */
export class Listener {
  readonly server: Server
  readonly #context: ServerContext
  readonly #application: Application
  readonly #connections: ConnectionTable
  readonly #malformed: MalformedInput

  constructor(context: ServerContext, resources: readonly Resource[], limits: ListenerLimits, tls: Tls | undefined) {
    this.#context = context
    this.#application = new Application(resources, (...request) => this.#serve(...request))
    this.#connections = new ConnectionTable(context, limits, (connection) =>
      this.#malformed.refuseWith(connection, 408, 'it did not arrive in time'),
    )
    this.#malformed = new MalformedInput(context, limits.maxHead_bytes, this.#connections, (incoming) =>
      this.#application.route(incoming, undefined),
    )
    this.server = newServer(limits, tls, (incoming, outgoing) => this.#application.route(incoming, outgoing))
    this.#watchConnections()
    this.#watchFaults()
  }

  get address(): AddressInfo | undefined {
    const address = this.server.address()
    return address === null || typeof address === 'string' ? undefined : address
  }

  get inProgress(): number {
    return this.#connections.inProgress
  }

  /** Ends the connections without a request in progress; resolves when the others are done too [management 12.2]. */
  drain(): Promise<void> {
    return this.#connections.drain()
  }

  drop(): void {
    this.#connections.drop()
  }

  /** Accepting fails from now on only for want of descriptors or memory, which ends. */
  survivesErrors(): void {
    this.server.on('error', (fault: NodeJS.ErrnoException) => this.#connections.acceptFailed(fault))
  }

  #serve(incoming: IncomingMessage, outgoing: ServerResponse | undefined, target: Target): void {
    try {
      const connection = this.#connections.get(incoming.socket)
      if (connection === undefined) incoming.socket.destroy()
      else if (outgoing === undefined) this.#begin(connection, incoming, target, new LastResponseWriter(connection))
      else if (connection.closing) connection.pause()
      // Requests that are turned away leave nothing in progress: the next one may have come together with them.
      else if (connection.begins(!this.#context.admission.isCrowded)) this.#take(connection, incoming, outgoing, target)
      else this.#keep(connection, incoming, outgoing, target)
    } catch (fault) {
      this.#failed('a request could not begin', fault)
      incoming.socket.destroy()
    }
  }

  #take(connection: ClientConnection, incoming: IncomingMessage, outgoing: ServerResponse, target: Target): void {
    const { interleaving, admission } = this.#context
    const isCrowded = admission.isCrowded
    if (isCrowded) interleaving.requestCame()
    if (!isCrowded || !this.#turnsAway(connection, incoming, outgoing, target)) {
      this.#begin(connection, incoming, target, new NodeResponseWriter(incoming, outgoing))
    }
  }

  /** Its connection has begun as many requests as it may for now: it begins in a later turn of the event loop. */
  #keep(connection: ClientConnection, incoming: IncomingMessage, outgoing: ServerResponse, target: Target): void {
    const { url = '', headers, rawHeaders } = incoming
    const body_bytes = Math.min(announcedBody(headers) ?? 0, readMost_bytes)
    const begin = () => this.#take(connection, incoming, outgoing, target)
    if (connection.keep(begin, headCost_bytes(url, rawHeaders) + body_bytes, kinds[target.kind].isManagement)) return
    // Its refusal would itself have to wait behind the requests before it.
    this.#context.meter.rejected('memory')
    connection.socket.destroy()
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

  #begin(connection: ClientConnection, incoming: IncomingMessage, target: Target, reply: ResponseWriter): void {
    new HttpRequest(this.#context, connection, incoming, target, reply).begin()
  }

  #watchConnections(): void {
    const begin = this.server instanceof TlsServer ? takeConnections(this.server) : undefined
    this.server.on('connection', (socket: Socket) => {
      if (!this.#connections.admit(socket)) return
      if (begin === undefined) this.#connections.open(socket)
      else this.#connections.awaitHandshake(socket, () => begin(socket))
    })
    this.server.on('secureConnection', (socket: Socket) => {
      this.#connections.handshakeOver(socket)
      this.#connections.open(socket)
    })
    this.server.on('connect', (incoming, socket) => {
      // Node has taken its own listeners from the socket.
      socket.on('error', () => socket.destroy())
      const connection = this.#connections.get(socket)
      connection?.inOrder(() => connection.refuse(() => this.#application.route(incoming, undefined)))
    })
  }

  #watchFaults(): void {
    // What came before it in the same piece is read first: over TLS the body of a request begins to flow in the next tick.
    this.server.on('clientError', (fault, socket) => process.nextTick(() => this.#refuse(fault, socket)))
    this.server.on('tlsClientError', (fault: Error, socket) => {
      this.#connections.handshakeOver(socket)
      this.#context.log.trace('http.tls', `handshake failed: ${fault.message}`)
    })
  }

  #refuse(fault: Error & RefusedBytes, socket: Duplex): void {
    try {
      const connection = this.#connections.get(socket)
      if (connection === undefined || !isOfInput(fault)) this.#malformed.refuse(fault, socket)
      else connection.inOrder(() => this.#malformed.refuse(fault, socket))
    } catch (second) {
      this.#failed('a refusal failed', second)
      socket.destroy()
    }
  }

  /** Has new connections use another key and certificate; those that are open keep theirs. */
  useTls(tls: Tls): void {
    if (this.server instanceof TlsServer) this.server.setSecureContext(tls)
  }

  #failed(what: string, fault: unknown): void {
    this.#context.log.error('http:fault', what, errorFacts(fault))
  }
}

/** Whether it is about what the client has sent, and so comes after the requests before it. */
function isOfInput({ code = '' }: RefusedBytes): boolean {
  return code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'
}

function newServer(limits: ListenerLimits, tls: Tls | undefined, serve: RequestListener): Server {
  const options: ServerOptions = {
    maxHeaderSize: limits.maxHead_bytes,
    headersTimeout: headTimeout_ms,
    requestTimeout: 0,
    keepAliveTimeout: 0,
    connectionsCheckingInterval: headCheckInterval_ms,
    // Checked with the other things that make a request malformed, so that the response is the same.
    requireHostHeader: false,
    noDelay: true,
  }
  const server =
    tls === undefined
      ? createServer(options, serve)
      : createTlsServer({ ...options, ...tls, allowHalfOpen: true }, serve)
  // A client that has closed its sending half still gets its responses. Node has the switch and no option for it.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.timeout = limits.timeout_ms
  // One more than is allowed: it shows that there were too many.
  server.maxHeadersCount = 201
  // Other expectations may be ignored [RFC 9110 10.1.1].
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  return server
}

/** In which head and body can be written as one text. */
const plain = /^[\x20-\x7e]*$/

/**
 * Refuses a request in overload when nothing but its head has come, and says whether it did. Usually a refusal
 * costs this thread three quarters of what an update costs it; here it is less than half. So only what is plain is
 * refused here: a response that is written at once, with nothing to log about it. All other requests are refused in the same way later.
 */
function turnAway(
  context: ServerContext,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: Target,
): boolean {
  const { admission, rules, meter, policy, access } = context
  if (!isPlain(context, incoming, outgoing)) return false
  const { method: verb = '', headers } = incoming
  const operations: Readonly<Record<string, { readonly use: string } | undefined>> | undefined =
    target.route?.resource.operations
  const use = operations?.[verb]?.use
  const request_bytes = announcedBody(headers)
  if (use === undefined || kinds[target.kind].isManagement || (policy !== 'all' && policy !== use)) return false
  if (request_bytes === undefined || request_bytes > rules.maxBody_bytes || !admission.isOverloaded) return false
  // Whoever has no key is told so later, with a line in the log: to them it is not said that there is overload.
  if (access?.lacksKey({ target, verb, headers })) return false
  const tooMuch = access?.tooMuch({ target, verb, headers }, process.hrtime.bigint())
  if (tooMuch === undefined) admission.countRefusal()
  else meter.rejected('rate_limit')
  const { status, body, headers: more } = tooMuch ?? overloaded(target.kind, 'too many requests are waiting')
  const text = String(body)
  meter.requestBegun()
  meter.responded({
    resource: target.route?.resource,
    verb,
    status,
    request_bytes,
    response_bytes: text.length,
    duration: 0n,
    service: single(headers['fiware-service']),
    servicePath: single(headers['fiware-servicepath']),
  })
  const fields = ['Fiware-Correlator', correlatorOf(headers), 'Content-Type', 'application/json']
  for (const name in more) fields.push(name, more[name] ?? '')
  outgoing.writeHead(status, [...fields, 'Content-Length', String(text.length)])
  outgoing.end(text)
  meter.requestEnded()
  return true
}

/** Whether a refusal needs nothing but to be written: not behind another response, not with what CORS or the log want to say. */
function isPlain(
  { rules, log, stopping, accessLog }: ServerContext,
  { headers }: IncomingMessage,
  outgoing: ServerResponse,
): boolean {
  if (stopping || outgoing.socket === null || rules.cors.on) return false
  if (headers.host === undefined || headers.expect !== undefined) return false
  if (!plain.test(single(headers['fiware-correlator']) ?? '')) return false
  const level = accessLevel(accessLog, true)
  return (level === undefined || !log.shows(level)) && !log.traces.includes(1)
}
