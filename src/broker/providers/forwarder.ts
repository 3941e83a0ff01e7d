import { setMaxListeners } from 'node:events'
import { endsHere, viaOf } from '../../hosts.js'
import type { EntityId, Tenant } from '../../model/context/entity.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import { isRegistered } from '../../model/registration/sources.js'
import { type Log, lineContextOf } from '../../observe/log/log.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import { traceArea } from '../../observe/log/trace.js'
import { err, ok, type Result } from '../../result.js'
import { Slices } from '../../slices.js'
import type { ForwardLimit, ForwardRefusal } from '../../threads/shared-memory/limits.js'
import { now } from '../../time.js'
import { versionFacts } from '../../version.js'
import { type ApiRequest, requestOrigin } from '../operations/api.js'
import type { Call } from '../operations/operation.js'
import type { Broker } from '../services/broker.js'
import type { ResponseBudget } from './limits.js'
import type { ProviderFormat, ProviderFormats, ProviderMessage } from './provider-format.js'
import type {
  AddressedRequest,
  NgsiForm,
  ProviderFailure,
  ProviderOperation,
  ProviderResponse,
} from './provider-request.js'
import type { Providers } from './providers.js'

/** How requests for what is not held here are passed on [subscriptions 8]. */
export interface Forwarding {
  readonly providers: Pick<Providers, 'ask' | 'responseBudget'>
  /** How providers are asked, by the form that is registered. */
  readonly formats: ProviderFormats
  /** Names the broker to others, the same in all of its threads. */
  readonly brokerId: string
  /** Most requests that are passed on for one of a client. */
  readonly limit: number
  /** Requests of clients for which providers are waited for, in all front ends. */
  readonly waiting: ForwardLimit
}

/** What is needed to pass requests on; nothing is without `forwarding`. */
export interface ForwardingServices {
  readonly broker: Broker
  readonly log?: Log
  readonly forwarding?: Forwarding
}

/** What is passed on: how it is sent in a format, and how the answer to it is read. */
interface ForwardedOperation<Forward, Read> {
  readonly operation: ProviderOperation
  readonly message: (format: ProviderFormat, forward: Forward) => ProviderMessage
  readonly read: (format: ProviderFormat, response: ProviderResponse) => Promise<Result<Read, ProviderFailure>>
}

/** What became of one request that was passed on. */
export interface ForwardResult<Forward extends AddressedRequest, Read> {
  readonly forward: Forward
  readonly answer: Result<Read, ProviderFailure>
}

/**
 * The way on for a request of a client; nothing when it is answered from what is held here: nothing is registered in its
 * tenant, or it has been here before.
 */
export function forwarderOf({ services, request, tenant }: Call<ForwardingServices>): Forwarder | undefined {
  const { broker, forwarding, log } = services
  if (forwarding === undefined || broker.registry.index.isEmpty(tenant)) return undefined
  if (endsHere(request.headers.via, forwarding.brokerId)) return undefined
  return new Forwarder(broker.registry.index, forwarding, request, log)
}

/** Whether somebody may be asked to update an entity of this id, of whatever type. */
export function mayPassOn(
  { broker, forwarding }: ForwardingServices,
  tenant: Tenant,
  id: EntityId,
  api: NgsiForm,
): boolean {
  const { index } = broker.registry
  if (forwarding === undefined || index.isEmpty(tenant)) return false
  return isRegistered(index, { tenant, paths: pathsOfRead([]), now: now(), use: 'update', api }, id)
}

/** How the requests that a request of a client causes are passed on. To be ended when nothing more is. */
export class Forwarder {
  readonly index: RegistrationIndex
  readonly #forwarding: Forwarding
  readonly #request: ApiRequest
  readonly #log: Log | undefined
  readonly #budget: ResponseBudget
  #asked = 0

  constructor(index: RegistrationIndex, forwarding: Forwarding, request: ApiRequest, log: Log | undefined) {
    this.index = index
    this.#forwarding = forwarding
    this.#request = request
    this.#log = log
    this.#budget = forwarding.providers.responseBudget()
  }

  /** How many requests may still be passed on. */
  get left(): number {
    return Math.max(0, this.#forwarding.limit - this.#asked)
  }

  /** Nothing of the answers is held any more. */
  end(): void {
    this.#budget.end()
  }

  /**
   * Passes on what the limit allows, all at the same time; what became of it in the order of asking [subscriptions 8.4].
   * Refused when too many requests wait for providers, or for one of these. The request has no permit meanwhile.
   */
  async ask<Forward extends AddressedRequest, Read>(
    what: ForwardedOperation<Forward, Read>,
    forwards: readonly Forward[],
  ): Promise<Result<readonly ForwardResult<Forward, Read>[], ForwardRefusal>> {
    const { waiting } = this.#forwarding
    const passed = forwards.slice(0, this.left)
    if (passed.length === 0) return ok([])
    const origins = new Origins(passed, waiting)
    const refusal = waiting.take(origins.all)
    if (refusal) return err(refusal)
    if (this.#log?.traces[traceArea['http.providers']] === 1) {
      const who = passed.map(({ provider }) => urlWithoutSecrets(provider)).join(', ')
      this.#log.trace(
        'http.providers',
        `${passed.length} of ${forwards.length}: ${who}`,
        undefined,
        lineContextOf(this.#request),
      )
    }
    try {
      return ok(await this.#request.client.aside(() => this.#passOn(passed, what, origins)))
    } finally {
      origins.end()
      waiting.release()
    }
  }

  /** A query ends with its client. An update does not: what was begun of it is finished. */
  #gone(): AbortSignal {
    const { client } = this.#request
    const controller = new AbortController()
    setMaxListeners(0, controller.signal) // Each of the requests that are passed on listens.
    if (client.gone) controller.abort()
    else client.whenGone(() => controller.abort())
    return controller.signal
  }

  /** Renders the requests in slices: they may be long, and many. */
  async #passOn<Forward extends AddressedRequest, Read>(
    forwards: readonly Forward[],
    { operation, message, read }: ForwardedOperation<Forward, Read>,
    origins: Origins,
  ): Promise<readonly ForwardResult<Forward, Read>[]> {
    const { providers, formats } = this.#forwarding
    const context = lineContextOf(this.#request)
    const gone = operation === 'query' ? this.#gone() : undefined
    const forwarded: Promise<ForwardResult<Forward, Read>>[] = []
    const slices = new Slices()
    for (const forward of forwards) {
      if (slices.isOver) await slices.next()
      this.#asked += 1
      const { provider, registration, form } = forward
      const format = formats[form]
      const headers = this.#headers(format)
      const request = { provider, registration, operation, headers, ...message(format, forward), context, gone }
      const answered = providers
        .ask(request, (response) => read(format, response), this.#budget)
        .finally(() => origins.answered(forward))
      forwarded.push(answered.then((answer) => ({ forward, answer })))
    }
    return Promise.all(forwarded)
  }

  /** As of a notification, with the path as the client sent it [subscriptions 8.2], [NGSIv2 subscriptions 11.2]. */
  #headers(format: ProviderFormat): Readonly<Record<string, string>> {
    const { headers } = this.#request
    const { correlator, token, service } = requestOrigin(this.#request, this.#forwarding.brokerId)
    return {
      'User-Agent': `rigel/${versionFacts.version}`,
      Accept: 'application/json',
      'Content-Type': 'application/json; charset=utf-8',
      'Fiware-ServicePath': String(headers['fiware-servicepath'] ?? '') || '/',
      ...(service !== undefined && { 'Fiware-Service': service }),
      ...(token !== '' && { 'X-Auth-Token': token }),
      'Fiware-Correlator': format.correlator(correlator, this.#asked),
      Via: viaOf(headers.via, this.#forwarding.brokerId),
    }
  }
}

/** The origins that one request of a client waits for: none any longer than for the last of its responses. */
class Origins {
  readonly #waiting: ForwardLimit
  /** How many answers are still to come from each. */
  readonly #open = new Map<string, number>()

  constructor(forwards: readonly AddressedRequest[], waiting: ForwardLimit) {
    this.#waiting = waiting
    for (const forward of forwards) {
      const origin = originOfProvider(forward)
      this.#open.set(origin, (this.#open.get(origin) ?? 0) + 1)
    }
  }

  get all(): Iterable<string> {
    return this.#open.keys()
  }

  answered(forward: AddressedRequest): void {
    const origin = originOfProvider(forward)
    const left = (this.#open.get(origin) ?? 0) - 1
    this.#open.set(origin, left)
    if (left === 0) this.#waiting.answered(origin)
  }

  /** Nothing is waited for any more, answered or not. */
  end(): void {
    for (const [origin, left] of this.#open) if (left > 0) this.#waiting.answered(origin)
    this.#open.clear()
  }
}

/** Protocol, host and port; what is no URL fails at once, and counts as one. */
function originOfProvider({ provider }: AddressedRequest): string {
  return URL.canParse(provider) ? new URL(provider).origin : ''
}
