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
import { type ClientPermits, type PermitLimits, ProviderPermits } from './provider-permits.js'
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
import { ResponseBudget } from './response-budget.js'

export interface ProvidersSettings {
  /** The time limit of one request, including the body of the response [subscriptions 8.4]; a wait for a permit comes before it. */
  readonly limit_ms: number
  /** How long the requests for one request of a client wait for permits at most, from its beginning. */
  readonly waitLimit_ms: number
  /** A longer request, head included, fails [management 9.3]. */
  readonly requestLimit_bytes: number
  /** The most bytes of all responses for one request of a client; no more are read. */
  readonly responseLimit_bytes?: number | undefined
  /** Accepts certificates of unknown authorities. */
  readonly insecure: boolean
  /** The most concurrent requests; as many idle connections as in all are kept open. */
  readonly permits?: Partial<PermitLimits> | undefined
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

/** What the requests share that one request of a client causes. */
export interface ClientShare {
  readonly budget: ResponseBudget
  readonly permits: ClientPermits
  /** When the wait for permits ends, by `performance.now()`. */
  readonly waitUntil_ms: number
}

const defaultResponseLimit_bytes = 4_194_304
/** Of the requests of a front end to providers, unless the descriptors allow fewer. */
export const defaultPermits: PermitLimits = { total: 256, perOrigin: 32, perClient: 64 }

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
    this.#responseLimit_bytes = settings.responseLimit_bytes ?? defaultResponseLimit_bytes
    this.#budget = new ResponseBudget(fullBudgets * this.#responseLimit_bytes)
    const permits = { ...defaultPermits, ...settings.permits }
    this.#permits = new ProviderPermits(permits)
    const destinations = settings.destinations ?? new Destinations({ allow: undefined, deny: undefined })
    const limits = { maxIdle: permits.total, connectLimit_ms: limit_ms }
    this.#client = new HttpClient({ ...limits, insecure, destinations, kept: true, retried: false })
    this.#lines = new ProviderLines(log, shownPayload_bytes)
  }

  /** What is shared by the requests that one request of a client causes; end its budget when the responses are no longer held. */
  share(): ClientShare {
    return {
      budget: new ResponseBudget(this.#responseLimit_bytes, this.#budget),
      permits: this.#permits.share(),
      waitUntil_ms: performance.now() + this.#settings.waitLimit_ms,
    }
  }

  /** Asks a provider. `read` parses its response, whatever the status; it may be long, so that is done in slices. */
  async ask<Read>(
    request: ProviderRequest,
    read: ReadResponse<Read>,
    share = this.share(),
  ): Promise<Result<Read, ProviderFailure>> {
    const numbered = { ...request, context: { ...request.context, trans: this.#settings.transaction() } }
    this.#lines.begun(numbered)
    const begun = process.hrtime.bigint()
    const response = await this.#send(numbered, share)
    if (response.ok) this.#settings.count(receivedCounters[request.operation])
    const result = response.ok ? await inSlices(read(response.value)) : response
    this.#settings.measured?.(resultOf(numbered, response, result), process.hrtime.bigint() - begun)
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

  async #send(request: ProviderRequest, share: ClientShare): Promise<Result<ProviderResponse, ProviderFailure>> {
    const address = addressOf(request)
    if (address === undefined) return unreachable('no URL of http or https')
    const headers = { ...request.headers, ...authorizationOf(address.server) }
    const body = Buffer.from(request.body)
    if (sentBytes(address, headers, body) > this.#settings.requestLimit_bytes) return unreachable('request too long')
    const ending = new AbortController()
    let stop = whenOver(share.waitUntil_ms - performance.now(), () => ending.abort(noPermit))
    const giveUp = () => ending.abort(clientGone)
    request.gone?.addEventListener('abort', giveUp)
    if (request.gone?.aborted) giveUp()
    try {
      const response = await this.#permits.with(share.permits, address.server.origin, ending.signal, () => {
        stop()
        stop = whenOver(this.#settings.limit_ms, () => ending.abort(timedOut))
        return this.#received(address, headers, body, ending.signal, share.budget)
      })
      return ok(response)
    } catch (fault) {
      return fault === noPermit ? notSent : unreachable(reasonOfFault(fault).reason)
    } finally {
      stop()
      request.gone?.removeEventListener('abort', giveUp)
    }
  }

  async #received(
    { server: { origin }, path }: ProviderAddress,
    headers: ProviderRequest['headers'],
    body: Buffer,
    signal: AbortSignal,
    budget: ResponseBudget,
  ): Promise<ProviderResponse> {
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
  }

  #report(
    request: ProviderRequest,
    response: Result<ProviderResponse, ProviderFailure>,
    result: Result<unknown, ProviderFailure>,
  ): void {
    const { headers, body } = request
    const failure = result.ok ? undefined : providerFailureText(result.error)
    if (!isGivenUp(request, response)) {
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
const noPermit = new GivenUp('no turn in time: too many requests to context providers')
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

/** The request has got no permit in time. */
const notSent = unreachable(noPermit.message)

const results: { readonly [Kind in ProviderFailure['kind']]: ForwardedResult } = {
  unreachable: 'unreachable',
  responseEmpty: 'empty',
  responseUnreadable: 'unreadable',
  responseRefusing: 'refused',
}

/** The result for the metrics. */
function resultOf(
  request: ProviderRequest,
  response: Result<ProviderResponse, ProviderFailure>,
  result: Result<unknown, ProviderFailure>,
): ForwardedResult {
  if (result.ok) return 'answered'
  return isGivenUp(request, response) ? 'given_up' : results[result.error.kind]
}

/** A client that goes says nothing about the provider, nor does a request that was never sent. */
function isGivenUp({ gone }: ProviderRequest, response: Result<ProviderResponse, ProviderFailure>): boolean {
  return gone?.aborted === true || response === notSent
}
