import { BodyBuffer } from '../../body-buffer.js'
import { Destinations } from '../../delivery/http-client/destinations.js'
import { HttpClient } from '../../delivery/http-client/http-client.js'
import { GivenUp, reasonOfFault, timedOut } from '../../delivery/http-client/response-handler.js'
import type { Entity } from '../../model/context/entity.js'
import type { RegistrationId } from '../../model/registration/registration.js'
import type { LineContext, Log } from '../../observe/log/log.js'
import type { CounterName } from '../../observe/measure/counters.js'
import type { ForwardedResult } from '../../observe/measure/figures.js'
import type { SentRequest } from '../../observe/measure/service-metrics.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices, type Steps } from '../../slices.js'
import type { Nanoseconds } from '../../time.js'
import { whenOver } from '../../time-limit.js'
import { ProviderPermits, ResponseBudget } from './limits.js'
import {
  addressOf,
  type ProviderAddress,
  type ProviderFailure,
  ProviderLines,
  type ProviderOperation,
  type ProviderRequest,
  type ProviderResponse,
  providerFailureText,
  urlText,
} from './provider-request.js'

export interface ProvidersSettings {
  /** The time limit of one request, including the wait for a permit and the body of the response [subscriptions 8.4]. */
  readonly limit_ms: number
  /** A longer request, head included, fails [management 9.3]. */
  readonly requestLimit_bytes: number
  /** The most bytes of all responses for one request of a client; no more are read. */
  readonly responseLimit_bytes?: number | undefined
  /** Accepts certificates of unknown authorities. */
  readonly insecure: boolean
  /** The most concurrent requests per origin, and in all; as many idle connections as in all are kept open. */
  readonly perOrigin?: number | undefined
  readonly total?: number | undefined
  /** The allowed destinations; absent: all. */
  readonly destinations?: Destinations | undefined
  readonly log: Log
  /** How many bytes of a payload a log line shows. */
  readonly shownPayload_bytes: () => number
  /** The number of a forwarded request in the log [management 10.3]. */
  readonly transaction: () => string
  readonly count: (counter: CounterName) => void
  /**
   * A request to this URL, named without the parameters of the request, has failed for this reason, or has succeeded [management
   * 10.7].
   */
  readonly attempted: (url: string, reason: string | undefined) => void
  /** A request for a registration has ended, with the reason if it failed. */
  readonly called?: ((registration: RegistrationId, reason: string | undefined) => void) | undefined
  /** A request has ended [management 6.2]. */
  readonly ended?: ((request: SentRequest) => void) | undefined
  /** For the metrics: the result of a request, and how long it took. */
  readonly measured?: ((result: ForwardedResult, duration: Nanoseconds) => void) | undefined
}

const defaults = { responseLimit_bytes: 4_194_304, perOrigin: 32, total: 256 }

/** How many requests of clients may use their whole budget of responses at the same time. */
const fullBudgets = 16

const receivedCounters = {
  query: 'queryResponsesReceived',
  update: 'updateResponsesReceived',
} as const satisfies Record<ProviderOperation, CounterName>

/**
 * Sends requests to the applications that registered as providers: once, without redirects, never through a proxy, with limits on
 * time, sizes and connections [subscriptions 8.4]. One per front end.
 */
export class Providers {
  readonly #settings: ProvidersSettings
  readonly #client: HttpClient
  readonly #permits: ProviderPermits
  readonly #lines: ProviderLines
  readonly #responseLimit_bytes: number
  /** For all responses that arrive or are parsed at a time. */
  readonly #budget: ResponseBudget

  constructor(settings: ProvidersSettings) {
    this.#settings = settings
    const { limit_ms, insecure, log, shownPayload_bytes } = settings
    this.#responseLimit_bytes = settings.responseLimit_bytes ?? defaults.responseLimit_bytes
    this.#budget = new ResponseBudget(fullBudgets * this.#responseLimit_bytes)
    const perOrigin = settings.perOrigin ?? defaults.perOrigin
    const total = settings.total ?? defaults.total
    this.#permits = new ProviderPermits(perOrigin, total)
    const destinations = settings.destinations ?? new Destinations({ allow: undefined, deny: undefined })
    const limits = { maxIdle: total, connectLimit_ms: limit_ms }
    this.#client = new HttpClient({ ...limits, insecure, destinations, kept: true, retried: false })
    this.#lines = new ProviderLines(log, shownPayload_bytes)
  }

  /** A budget for the responses to what one request of a client causes; call `end` when they are no longer held. */
  responseBudget(): ResponseBudget {
    return new ResponseBudget(this.#responseLimit_bytes, this.#budget)
  }

  /** Asks a provider. `read` parses its response, whatever the status; it may be long, so that is done in slices. */
  async ask<Read>(
    request: ProviderRequest,
    read: ReadResponse<Read>,
    budget = this.responseBudget(),
  ): Promise<Result<Read, ProviderFailure>> {
    const numbered = { ...request, context: { ...request.context, trans: this.#settings.transaction() } }
    this.#lines.begun(numbered)
    const begun = process.hrtime.bigint()
    const response = await this.#send(numbered, budget)
    if (response.ok) this.#settings.count(receivedCounters[request.operation])
    const result = response.ok ? await inSlices(read(response.value)) : response
    this.#settings.measured?.(resultOf(numbered, result), process.hrtime.bigint() - begun)
    this.#report(numbered, response, result)
    return result
  }

  /** Logs that an entity in a response is not used, since it has more than an entity may have here. */
  leftOut(provider: string, entity: Pick<Entity, 'id' | 'type'>, context: LineContext): void {
    this.#lines.leftOut(provider, entity, context)
  }

  /** Gives up the requests under way. */
  close(): Promise<void> {
    return this.#client.close()
  }

  async #send(request: ProviderRequest, budget: ResponseBudget): Promise<Result<ProviderResponse, ProviderFailure>> {
    const address = addressOf(request)
    if (address === undefined) return unreachable('no URL of http or https')
    const headers = { ...request.headers, ...authorizationOf(address.server) }
    const body = Buffer.from(request.body)
    if (sentBytes(address, headers, body) > this.#settings.requestLimit_bytes) return unreachable('request too long')
    const ending = new AbortController()
    const stop = whenOver(this.#settings.limit_ms, () => ending.abort(timedOut))
    const giveUp = () => ending.abort(clientGone)
    request.gone?.addEventListener('abort', giveUp)
    if (request.gone?.aborted) giveUp()
    try {
      return ok(await this.#received(address, headers, body, ending.signal, budget))
    } catch (fault) {
      return unreachable(reasonOfFault(fault).reason)
    } finally {
      stop()
      request.gone?.removeEventListener('abort', giveUp)
    }
  }

  #received(
    { server: { origin }, path }: ProviderAddress,
    headers: ProviderRequest['headers'],
    body: Buffer,
    signal: AbortSignal,
    budget: ResponseBudget,
  ): Promise<ProviderResponse> {
    return this.#permits.with(origin, signal, async () => {
      const received = new BodyBuffer()
      const take = (piece: Buffer) => {
        if (!budget.take(piece.length)) return tooLong
        received.add(piece)
        return undefined
      }
      const lines = Object.entries(headers).flat()
      const response = await this.#client.send({ origin, path, headers: lines, body, take, signal })
      const fault = await response.ended
      if (fault !== undefined) throw fault
      return { status: response.status, totalCount: response.totalCount, body: withoutMark(received.text) }
    })
  }

  #report(
    request: ProviderRequest,
    response: Result<ProviderResponse, ProviderFailure>,
    result: Result<unknown, ProviderFailure>,
  ): void {
    const { headers, body } = request
    const failure = result.ok ? undefined : providerFailureText(result.error)
    // A client that goes says nothing about the provider.
    if (request.gone?.aborted !== true) {
      this.#settings.attempted(urlText({ ...request, parameters: '' }), failure)
      this.#settings.called?.(request.registration, failure)
    }
    this.#lines.ended(request, response.ok ? response.value : undefined, failure)
    this.#settings.ended?.({
      service: headers['Fiware-Service'],
      servicePath: headers['Fiware-ServicePath'],
      request_bytes: Buffer.byteLength(body),
      response_bytes: response.ok ? Buffer.byteLength(response.value.body) : 0,
      failed: failure !== undefined || (response.ok && response.value.status >= 400),
    })
  }
}

const clientGone = new GivenUp('the client has gone')
const tooLong = new GivenUp('answer too long')

/** A text without a leading byte order mark, which is not part of JSON. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

type ReadResponse<Read> = (response: ProviderResponse) => Steps<Result<Read, ProviderFailure>>

/** The length of a request as sent, with what the HTTP client adds to its head. */
function sentBytes({ server, path }: ProviderAddress, headers: ProviderRequest['headers'], body: Buffer): number {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: ${server.host}`,
    'connection: keep-alive',
    `content-length: ${body.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return lines.reduce((sum, line) => sum + line.length + 2, 2) + body.length
}

/** The user and password of a URL, as HTTP clients send them. */
function authorizationOf({ username, password }: URL): { readonly Authorization?: string } {
  if (username === '' && password === '') return {}
  const pair = `${unescaped(username)}:${unescaped(password)}`
  return { Authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** A text with malformed escapes stays as it is. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function unreachable(reason: string): Result<never, ProviderFailure> {
  return err({ kind: 'unreachable', reason })
}

const results: { readonly [Kind in ProviderFailure['kind']]: ForwardedResult } = {
  unreachable: 'unreachable',
  responseEmpty: 'empty',
  responseUnreadable: 'unreadable',
  responseRefusing: 'refused',
}

/** The result for the metrics. A client that goes says nothing about the provider. */
function resultOf({ gone }: ProviderRequest, result: Result<unknown, ProviderFailure>): ForwardedResult {
  if (result.ok) return 'answered'
  return gone?.aborted === true ? 'given_up' : results[result.error.kind]
}
