import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { buildConnector, Client } from 'undici'
import type { NodeAddress } from '../membership/route-table.js'
import {
  batchesPipelined,
  batchMost_bytes,
  type LinkTarget,
  linkFormat,
  linkHeaders,
  methodOf,
  parseMoment,
  pathOf,
} from './link-protocol.js'
import type { LinkSecurity } from './link-security.js'
import type { LinkSelf } from './node-listener.js'

/** How a node identifies itself to those that it asks. */
export interface LinkCaller {
  readonly self: LinkSelf
  readonly security: LinkSecurity
}

/** The outcome of a request to another node. */
export type LinkResponse =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly bytes: Buffer
      /** The time of the other node's monotonic clock, in ms, if the response has it. */
      readonly clock_ms: number | undefined
    }
  /** Nothing of the request has left this node. */
  | { readonly kind: 'unsent'; readonly reason: string }
  /** The request was sent, at least in part, and there is no response: it may have been carried out. */
  | { readonly kind: 'broken'; readonly reason: string }

const connect_ms = 3_000
/** Longer than an owner waits for etcd. */
const response_ms = 15_000
/** Shorter than a listener keeps idle connections, so that no request is sent on one that is being closed. */
const idle_ms = 30_000
const head_bytes = 4096

/**
 * One connection to another node. Requests arrive in the order of the calls. A broken connection is never reopened, and all
 * callers are told: undici would repeat requests that were under way.
 */
export class NodeConnection {
  readonly #client: Client
  readonly #headers: readonly string[]

  /** `more` are headers for all of its requests, name and value in turn. */
  constructor(to: NodeAddress, caller: LinkCaller, more: readonly string[] = []) {
    this.#headers = [...callerHeaders(caller), ...more]
    this.#client = newLinkClient(to, caller, response_ms)
    const over = (_url: URL, _of: readonly unknown[], fault: Error): void => void this.#client.destroy(fault)
    this.#client.on('disconnect', over)
    this.#client.on('connectionError', over)
  }

  /** Whether it is broken or closed. */
  get isOver(): boolean {
    return this.#client.destroyed
  }

  /** Sends a request behind the earlier ones; `more` are its own headers, name and value in turn. Never rejects. */
  ask(target: LinkTarget, body: Buffer, more: readonly string[] = []): Promise<LinkResponse> {
    if (this.isOver) return Promise.resolve({ kind: 'unsent', reason: 'the connection is closed' })
    return new Promise((resolve) => {
      const pieces: Buffer[] = []
      let [isSent, status, received] = [false, 0, 0]
      let clock_ms: number | undefined
      const request = {
        method: methodOf(target),
        path: pathOf(target),
        headers: [...this.#headers, ...more],
        body,
        idempotent: true, // Otherwise it would wait for all earlier responses. Nothing is ever sent twice, see `over`.
        blocking: false,
      }
      this.#client.dispatch(request, {
        onConnect: () => {
          isSent = true
        },
        onHeaders: (code, headers) => {
          status = code
          clock_ms = parseMoment(headerOf(headers, linkHeaders.clock))
          return true
        },
        onData: (piece) => {
          received += piece.length
          if (received > batchMost_bytes) this.close()
          else pieces.push(piece)
          return true
        },
        onComplete: () => resolve({ kind: 'answered', status, bytes: Buffer.concat(pieces), clock_ms }),
        onError: ({ message }) => resolve({ kind: isSent ? 'broken' : 'unsent', reason: message }),
      })
    })
  }

  /** Gives up the requests under way. */
  close(): void {
    if (!this.isOver) void this.#client.destroy()
  }
}

/** The value of a header in a list of names and values. */
function headerOf(headers: readonly Buffer[], name: string): string | undefined {
  const at = headers.findIndex((each, index) => index % 2 === 0 && each.toString().toLowerCase() === name)
  return at === -1 ? undefined : headers[at + 1]?.toString()
}

/** The headers of every request to another node, name and value in turn. */
export function callerHeaders({ self, security }: LinkCaller): readonly string[] {
  const [token] = security.tokens
  return [
    ...[linkHeaders.cluster, self.cluster, linkHeaders.format, String(linkFormat), linkHeaders.node, self.node],
    ...(token === undefined ? [] : ['authorization', `Bearer ${token}`]),
  ]
}

/** An undici client with a single connection to another node, which is given up when no byte arrives for so long. */
export function newLinkClient({ node, host, port }: NodeAddress, { security }: LinkCaller, limit_ms: number): Client {
  const { tls } = security
  const origin = `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const checkIdentity = (hostname: string, certificate: PeerCertificate): Error | undefined =>
    checkServerIdentity(hostname, certificate) && checkServerIdentity(node, certificate)
  return new Client(origin, {
    connect: buildConnector({
      timeout: connect_ms,
      ...(tls && { ...tls, minVersion: 'TLSv1.3', rejectUnauthorized: true, checkServerIdentity: checkIdentity }),
    }),
    pipelining: batchesPipelined,
    maxHeaderSize: head_bytes,
    keepAliveTimeout: idle_ms,
    keepAliveMaxTimeout: idle_ms,
    headersTimeout: limit_ms,
    bodyTimeout: limit_ms,
  })
}
