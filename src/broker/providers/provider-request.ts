import { requestTarget } from '../../delivery/http-client/request-target.js'
import type { Entity } from '../../model/context/entity.js'
import type { RegistrationId } from '../../model/registration/registration.js'
import { FrequentEvent } from '../../observe/log/frequent-event.js'
import type { LineContext, Log } from '../../observe/log/log.js'
import { payloadShown, urlWithoutSecrets } from '../../observe/log/secrets.js'
import type { TraceArea } from '../../observe/log/trace.js'
import type { Milliseconds } from '../../time.js'

/** The form of a request, of a client or to a provider. */
export type NgsiForm = 'ngsi1' | 'ngsi2'

/** The receiver of a request, and the form of the request. */
export interface AddressedRequest {
  /** The provider as registered; not checked to be a URL. */
  readonly provider: string
  /** The registration that names the provider. */
  readonly registration: RegistrationId
  readonly form: NgsiForm
}

/** A forwarded request. */
export interface ProviderRequest extends Omit<AddressedRequest, 'form'> {
  readonly operation: ProviderOperation
  /** Appended to the path of the provider. */
  readonly path: string
  /** URI parameters, without the question mark; empty for none. */
  readonly parameters: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly context: LineContext
  /** Aborted when the client no longer waits: the request is given up. */
  readonly gone?: AbortSignal | undefined
}

export type ProviderOperation = 'query' | 'update'

/** The response of a provider, with any status. */
export interface ProviderResponse {
  readonly status: number
  /** The header `Fiware-Total-Count` as received. */
  readonly totalCount: string | undefined
  readonly body: string
}

/**
 * Why there is no NGSI response: facts, which each API puts into its own texts [subscriptions 8.2, 8.3], [NGSIv2 subscriptions
 * 11].
 */
export type ProviderFailure =
  /** No connection, or no complete response in time. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'responseEmpty' }
  | { readonly kind: 'responseUnreadable' }
  /** A status other than those for success and for `not found`. */
  | { readonly kind: 'responseRefusing'; readonly status: number }

/** What a failure is, in a few words: `connection refused`. */
export function providerFailureText(failure: ProviderFailure): string {
  switch (failure.kind) {
    case 'unreachable':
      return failure.reason
    case 'responseEmpty':
      return 'empty answer'
    case 'responseUnreadable':
      return 'no NGSI in the response'
    case 'responseRefusing':
      return `answered ${failure.status}`
  }
}

/** Where a request goes. */
export interface ProviderAddress {
  /** The server that is registered, with the user and the password. */
  readonly server: URL
  /** The request target. */
  readonly path: string
}

/**
 * The address of a request: the path of the provider as it is registered, a slash and the path of the request. A provider without a
 * path gives `//queryContext`, or `//op/query`, where agents of devices listen [subscriptions 8.2], [NGSIv2 subscriptions 10].
 * Undefined when the registered text is not a usable URL.
 */
export function addressOf({ provider, path: behind, parameters }: ProviderRequest): ProviderAddress | undefined {
  if (!URL.canParse('/', provider)) return undefined
  const server = new URL('/', provider)
  if (server.protocol !== 'http:' && server.protocol !== 'https:') return undefined
  if (server.hostname.length > longestHost) return undefined
  const [registered = ''] = provider.split('#', 1) // A fragment could not have a path behind it.
  const [path = '', ...query] = requestTarget(registered).split('?')
  const start = path === '/' ? '/' : path.replace(/\/$/, '')
  const pairs = [query.join('?'), parameters].filter((part) => part !== '').join('&')
  return { server, path: `${start}/${behind}${pairs === '' ? '' : `?${pairs}`}` }
}

/** DNS has no longer names; host names are keys of the state that is kept by origin. */
const longestHost = 255

/** The URL of a request as text, also if it is not usable. */
export function urlText(request: ProviderRequest): string {
  const address = addressOf(request)
  if (address === undefined) return `${request.provider}/${request.path}`
  return `${address.server.href.slice(0, -1)}${address.path}`
}

/** The log lines of forwarded requests [management 2.5, 10.4]. */
export class ProviderLines {
  readonly #log: Log
  readonly #shown_bytes: () => number
  readonly #leftOut = new FrequentEvent()

  constructor(log: Log, shown_bytes: () => number) {
    this.#log = log
    this.#shown_bytes = shown_bytes
  }

  begun(request: ProviderRequest): void {
    this.#maybe(request, 'payload.forward.out', () => payloadShown(request.body, this.#shown_bytes()))
  }

  /** A request has ended with a response, a failure, or both. */
  ended(request: ProviderRequest, response: ProviderResponse | undefined, failure: string | undefined): void {
    const status = response?.status ?? failure
    if (response !== undefined) {
      this.#maybe(request, 'payload.forward.in', () => payloadShown(response.body, this.#shown_bytes()))
    }
    this.#maybe(request, 'forward', () => `passed on to ${shownUrl(request)}: ${status}`)
    if (failure !== undefined) {
      this.#maybe(request, 'forward.error', () => `${shownUrl(request)} failed: ${failure}`)
    }
    if (this.#log.shows('INFO')) this.#info(request, response?.body ?? '', status)
  }

  /** An entity in a response is not used, since it has more than an entity may have here. Its id may be long, so it comes last. */
  leftOut(provider: string, { id, type }: Pick<Entity, 'id' | 'type'>, context: LineContext): void {
    const number = this.#leftOut.happened()
    if (number === undefined) return
    const which = number === 1 ? 'an entity' : `the last of ${number} entities`
    const limits = 'more attributes, metadata or values than an entity may have here'
    const what = `${which} that providers gave is left out of responses: it has ${limits}`
    this.#log.warn('forward:large', `${what}; ${urlWithoutSecrets(provider)} gave ${id} (${type})`, undefined, context)
  }

  #info(request: ProviderRequest, body: string, status: number | string | undefined): void {
    const shown = (payload: string) =>
      `(${Buffer.byteLength(payload)} bytes): ${payloadShown(payload, this.#shown_bytes())}`
    const url = `POST ${shownUrl(request)}`
    const payloads = `request payload ${shown(request.body)}, response payload ${shown(body)}`
    this.#log.info(
      'forward:answer',
      `Request forwarded (regId: ${request.registration}): ${url}, ${payloads}, response code: ${status}`,
      undefined,
      request.context,
    )
  }

  #maybe({ context }: ProviderRequest, area: TraceArea, message: () => string): void {
    if (this.#log.isTraced(area)) this.#log.trace(area, message(), undefined, context)
  }
}

function shownUrl(request: ProviderRequest): string {
  return urlWithoutSecrets(urlText(request))
}

/** The calls of a provider that one registration has caused since the process began. */
export interface RegistrationCalls {
  readonly id: RegistrationId
  readonly calls: number
  readonly failures: number
  readonly lastCall: Milliseconds
  readonly lastFailure?: Milliseconds | undefined
  readonly lastFailureReason?: string | undefined
}

/** The most registrations with counted calls; one more makes the oldest forgotten. */
const mostCounted = 10_000

/** Counts the calls of providers by registration, in one front end. */
export class ProviderCalls {
  readonly #counts = new Map<RegistrationId, Mutable<RegistrationCalls>>()

  /** A call has ended; `failure` is undefined when it succeeded. */
  ended(id: RegistrationId, failure: string | undefined, at: Milliseconds): void {
    const held = this.#counts.get(id)
    const counts = held ?? { id, calls: 0, failures: 0, lastCall: at }
    counts.calls += 1
    counts.lastCall = at
    if (failure !== undefined) {
      counts.failures += 1
      counts.lastFailure = at
      counts.lastFailureReason = failure
    }
    if (held !== undefined) return
    this.#counts.set(id, counts)
    if (this.#counts.size > mostCounted) for (const [oldest] of this.#counts) return void this.#counts.delete(oldest)
  }

  /** The counts of these registrations, if they have caused calls. */
  of(ids: readonly RegistrationId[]): readonly RegistrationCalls[] {
    return ids.flatMap((id) => this.#counts.get(id) ?? [])
  }
}

type Mutable<Counts> = { -readonly [Name in keyof Counts]: Counts[Name] }

/** Adds up the counts of several front ends, by registration. */
export function callsTogether(parts: readonly RegistrationCalls[]): ReadonlyMap<RegistrationId, RegistrationCalls> {
  const together = new Map<RegistrationId, RegistrationCalls>()
  for (const part of parts) {
    const held = together.get(part.id)
    together.set(part.id, held === undefined ? part : sum(held, part))
  }
  return together
}

function sum(a: RegistrationCalls, b: RegistrationCalls): RegistrationCalls {
  const { lastFailure, lastFailureReason } = (a.lastFailure ?? 0) > (b.lastFailure ?? 0) ? a : b
  return {
    id: a.id,
    calls: a.calls + b.calls,
    failures: a.failures + b.failures,
    lastCall: a.lastCall > b.lastCall ? a.lastCall : b.lastCall,
    lastFailure,
    lastFailureReason,
  }
}
