import { LruCache } from '../../lru-cache.js'
import { isSecretHeader } from '../../observe/log/secrets.js'
import { now } from '../../time.js'
import type { Destinations } from '../http-client/destinations.js'
import { HttpClient, type OutgoingRequest } from '../http-client/http-client.js'
import { requestTarget } from '../http-client/request-target.js'
import { GivenUp, type HttpResponse } from '../http-client/response-handler.js'
import {
  type Acceptance,
  type AttemptOutcome,
  type BodyStart,
  type HttpMessage,
  outcomeOf,
  outcomeOfFault,
  refusal,
  retryAfter,
} from '../queue/outgoing.js'

export interface HttpSettings {
  /** Time limit of an attempt, up to the head of the response. */
  readonly timeout_ms: number
  readonly accept: Acceptance
  /** Whether connections are used again. */
  readonly kept: boolean
  readonly total: number
  readonly perReceiver: number
  readonly insecure: boolean
  readonly destinations: Destinations
}

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const maxRedirects = 5

/** The body of a response is discarded: a receiver whose body is longer or takes longer loses the connection. */
const bodyLimit = { bytes: 64 * 1024, time_ms: 1000 }
const bodyTooLong = new GivenUp('response too long')

/** A URL of HTTP, and the request target as it is written in it. */
interface ParsedUrl {
  readonly url: URL
  readonly path: string
}

/** What parsed URLs may take in memory, and about what each of them takes beside its text. */
const parsed_bytes = 2 ** 19
const parsedUrl_bytes = 500

/** Sends messages to receivers [subscriptions 4.1, 5.3]. */
export class HttpSender {
  readonly #settings: HttpSettings
  readonly #client: HttpClient
  /** Responses whose attempt is over and whose body is still read: all, and by origin. */
  #draining = 0
  readonly #drainingOf = new Map<string, number>()
  /** By their texts: most messages go where others went before. */
  readonly #parsed = new LruCache<ParsedUrl>(parsed_bytes)

  constructor(settings: HttpSettings) {
    this.#settings = settings
    const { kept, total, insecure, timeout_ms, destinations } = settings
    this.#client = new HttpClient({
      kept,
      insecure,
      destinations,
      maxIdle: total,
      connectLimit_ms: timeout_ms,
      retried: true,
    })
  }

  /** One attempt; its outcome is known with the head of the response, the body is read afterwards. */
  async send(message: HttpMessage): Promise<AttemptOutcome> {
    try {
      return await this.#attempt(message, performance.now() + (message.timeout_ms ?? this.#settings.timeout_ms))
    } catch (fault) {
      return outcomeOfFault(fault)
    }
  }

  /** Gives up what is under way and closes all connections. */
  close(): void {
    void this.#client.close()
  }

  async #attempt(message: HttpMessage, deadline_ms: number): Promise<AttemptOutcome> {
    const { headers, body } = message
    const method = verbOf(message.method)
    const named = this.#parsedUrl(message.url)
    if (named === undefined) return refusal('invalid URL')
    let [target, path, sentHeaders] = [named.url, named.path, headers]
    for (let followed = 0; ; followed += 1) {
      const limits = { headDeadline_ms: deadline_ms, bodyLimit_ms: bodyLimit.time_ms }
      const request = { origin: target.origin, path, headers: sentHeaders, body, method, ...limits }
      const [response, received] = await this.#send(request, message.response?.kept_bytes)
      const next = followed < maxRedirects ? redirectOf(response, target) : undefined
      this.#discard(response, target.origin, () => {
        if (received.bytes > 0) message.response?.take(received, next === undefined)
      })
      if (next === undefined) {
        return outcomeOf(response.status, this.#settings.accept, retryAfter(response.retryAfter, now()))
      }
      if (next.origin !== target.origin) sentHeaders = withoutSecretHeaders(sentHeaders)
      target = next
      path = next.pathname + next.search
    }
  }

  #parsedUrl(text: string): ParsedUrl | undefined {
    const known = this.#parsed.get(text)
    if (known !== undefined) return known
    const url = httpUrl(text)
    if (url === undefined) return undefined
    const parsed = { url, path: requestTarget(text) }
    this.#parsed.put(text, parsed, parsedUrl_bytes + 4 * text.length)
    return parsed
  }

  async #send(
    request: Omit<OutgoingRequest, 'take'>,
    kept_bytes = 0,
  ): Promise<readonly [response: HttpResponse, received: BodyStart]> {
    const received = { start: '', bytes: 0 }
    const take = (piece: Buffer): Error | undefined => {
      // Latin 1 makes a character of each byte, and a copy: a part of the piece would keep the whole buffer in memory.
      if (received.bytes < kept_bytes) received.start += piece.toString('latin1', 0, kept_bytes - received.bytes)
      received.bytes += piece.length
      return received.bytes > bodyLimit.bytes ? bodyTooLong : undefined
    }
    return [await this.#client.send({ ...request, take }), received]
  }

  #discard(response: HttpResponse, origin: string, ended: () => void): void {
    const { total, perReceiver } = this.#settings
    this.#count(origin, 1)
    // Attempts are limited, and so are the responses that they leave behind. What came with the head is read in any case.
    const isTooMany = this.#draining > total || (this.#drainingOf.get(origin) ?? 0) > perReceiver
    if (isTooMany) setImmediate(() => response.cut(bodyTooLong))
    response.ended.then(() => {
      this.#count(origin, -1)
      ended()
    })
  }

  #count(origin: string, change: number): void {
    this.#draining += change
    const draining = (this.#drainingOf.get(origin) ?? 0) + change
    if (draining > 0) this.#drainingOf.set(origin, draining)
    else this.#drainingOf.delete(origin)
  }
}

/** The verbs that a notification may have are checked with its subscription; another one is a fault. */
function verbOf(method: string | undefined): OutgoingRequest['method'] {
  const verb = verbs.find((each) => each === method)
  if (verb === undefined && method !== undefined) throw new Error(`${method} is no verb of notifications`)
  return verb
}

const verbs = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE'] as const

/** Where a response redirects to, if that can be followed. */
function redirectOf({ status, location }: HttpResponse, from: URL): URL | undefined {
  return redirectStatuses.has(status) && location !== undefined ? httpUrl(location, from) : undefined
}

function httpUrl(text: string, base?: URL): URL | undefined {
  if (!URL.canParse(text, base?.href)) return undefined
  const url = new URL(text, base)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
}

/** What is secret is for the receiver that the subscription names, as its host is, not for one that this receiver redirects to. */
function withoutSecretHeaders(headers: readonly string[]): readonly string[] {
  return headers.filter((_, at) => {
    const name = headers[at - (at % 2)] ?? ''
    return !isSecretHeader(name) && name.toLowerCase() !== 'host'
  })
}
