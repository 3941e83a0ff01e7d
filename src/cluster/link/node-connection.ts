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

/** What a node shows to those that it asks. */
export interface LinkCaller {
  readonly self: LinkSelf
  readonly security: LinkSecurity
}

/** What became of a request to another node. */
export type LinkResponse =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly bytes: Buffer
      /** What the monotonic clock of the other node showed, in ms, if it has said so. */
      readonly clock_ms: number | undefined
    }
  /** Nothing of it has left this node. */
  | { readonly kind: 'unsent'; readonly reason: string }
  /** It has left, as a whole or in part, and there is no answer: it may have been carried out. */
  | { readonly kind: 'broken'; readonly reason: string }

const connect_ms = 3_000
/** Longer than an owner waits for the engine of the cluster. */
const answer_ms = 15_000
/** Less than the listener keeps a connection, so that nothing is sent on one that is being closed there. */
const idle_ms = 30_000
const head_bytes = 4096

/**
 * One connection to another node, whose requests arrive in the order in which they are asked. When it has broken it is not opened
 * again, and whoever has asked is told: undici would send requests again that were under way.
 */
export class NodeConnection {
  readonly #client: Client
  readonly #headers: readonly string[]

  /** `more` are headers of all its requests, name and value in turn. */
  constructor(to: NodeAddress, caller: LinkCaller, more: readonly string[] = []) {
    this.#headers = [...callerHeaders(caller), ...more]
    this.#client = newLinkClient(to, caller, answer_ms)
    const over = (_url: URL, _of: readonly unknown[], fault: Error): void => void this.#client.destroy(fault)
    this.#client.on('disconnect', over)
    this.#client.on('connectionError', over)
  }

  /** Whether it has broken, or was closed. */
  get isOver(): boolean {
    return this.#client.destroyed
  }

  /** Sends a request behind those before it, with more headers, name and value in turn; never rejects. */
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
        idempotent: true, // Else it would wait for the answers to those before it. See `over`: nothing is sent twice.
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

  /** Gives up what is under way. */
  close(): void {
    if (!this.isOver) void this.#client.destroy()
  }
}

/** The value of a header among names and values in turn. */
function headerOf(headers: readonly Buffer[], name: string): string | undefined {
  const at = headers.findIndex((each, index) => index % 2 === 0 && each.toString().toLowerCase() === name)
  return at === -1 ? undefined : headers[at + 1]?.toString()
}

/** The headers of each request to another node, name and value in turn. */
export function callerHeaders({ self, security }: LinkCaller): readonly string[] {
  const [token] = security.tokens
  return [
    ...[linkHeaders.cluster, self.cluster, linkHeaders.format, String(linkFormat), linkHeaders.node, self.node],
    ...(token === undefined ? [] : ['authorization', `Bearer ${token}`]),
  ]
}

/** A client of undici for one connection to another node, which is given up when nothing comes for so long. */
export function newLinkClient({ node, host, port }: NodeAddress, { security }: LinkCaller, limit_ms: number): Client {
  const { tls } = security
  const origin = `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const checkIdentity = (asked: string, certificate: PeerCertificate): Error | undefined =>
    checkServerIdentity(asked, certificate) && checkServerIdentity(node, certificate)
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
