import { setMaxListeners } from 'node:events'
import type { ApiRequest } from '../../api.js'
import type { EntityId, Tenant } from '../../context/entity.js'
import { pathsOfRead } from '../../context/service-path.js'
import { endsHere, viaOf } from '../../hops.js'
import type { Log } from '../../log/log.js'
import { lineContextOf } from '../../log/log.js'
import { urlWithoutSecrets } from '../../log/secrets.js'
import type { ProviderFailure, ProviderOperation, ProviderRequest } from '../../providers/provider-request.js'
import type { ReadResponse } from '../../providers/providers.js'
import type { RegistrationId } from '../../registration/registration.js'
import type { RegistrationIndex } from '../../registration/registration-index.js'
import { isRegistered } from '../../registration/sources.js'
import { err, ok, type Result } from '../../result.js'
import type { ForwardLimit, ForwardRefusal } from '../../shared-memory/forward-limit.js'
import { Slices } from '../../slices.js'
import { now } from '../../time.js'
import { traceArea } from '../../trace-area.js'
import { versionFacts } from '../../version.js'
import { originOf } from '../request-head.js'
import type { Forwarding, Ngsi1Services } from '../services.js'

/** To whom what is to go out is to go. */
export interface AddressedRequest {
  readonly provider: string
  readonly registration: RegistrationId
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
export function forwarderOf(
  { broker, forwarding, log }: Ngsi1Services,
  request: ApiRequest,
  tenant: Tenant,
): Forwarder | undefined {
  if (forwarding === undefined || broker.registry.index.isEmpty(tenant)) return undefined
  if (endsHere(request.headers.via, forwarding.brokerId)) return undefined
  return new Forwarder(broker.registry.index, forwarding, request, tenant, log)
}

/** Whether somebody is registered for an entity of this id, of whatever type. */
export function mayPassOn({ broker, forwarding }: Ngsi1Services, tenant: Tenant, id: EntityId): boolean {
  const { index } = broker.registry
  if (forwarding === undefined || index.isEmpty(tenant)) return false
  return isRegistered(index, { tenant, paths: pathsOfRead([]), now: now(), use: 'update', api: 'ngsi1' }, id)
}

/** How the requests that a request of a client causes are passed on. */
export class Forwarder {
  readonly index: RegistrationIndex
  readonly #forwarding: Forwarding
  readonly #request: ApiRequest
  readonly #tenant: Tenant
  readonly #log: Log | undefined

  constructor(
    index: RegistrationIndex,
    forwarding: Forwarding,
    request: ApiRequest,
    tenant: Tenant,
    log: Log | undefined,
  ) {
    this.index = index
    this.#forwarding = forwarding
    this.#request = request
    this.#tenant = tenant
    this.#log = log
  }

  /** Most requests that are passed on. */
  get limit(): number {
    return this.#forwarding.limit
  }

  /**
   * Passes on what the limit allows, all at the same time; what became of it in the order of asking [subscriptions 8.4].
   * Refused when too many requests wait for providers, or for one of these. The request has no permit meanwhile.
   */
  async ask<Forward extends AddressedRequest, Read>(
    operation: ProviderOperation,
    forwards: readonly Forward[],
    render: (forward: Forward) => string,
    read: ReadResponse<Read>,
  ): Promise<Result<readonly ForwardResult<Forward, Read>[], ForwardRefusal>> {
    const { limit, waiting } = this.#forwarding
    const passed = forwards.slice(0, limit)
    if (passed.length === 0) return ok([])
    const origins = new Origins(passed, waiting)
    const refusal = waiting.take(origins.all)
    if (refusal) return err(refusal)
    const headers = this.#headers()
    const context = lineContextOf(this.#request)
    if (this.#log?.traces[traceArea['http.providers']] === 1) {
      const who = passed.map(({ provider }) => urlWithoutSecrets(provider)).join(', ')
      this.#log.trace('http.providers', `${passed.length} of ${forwards.length}: ${who}`, undefined, context)
    }
    try {
      const gone = operation === 'queryContext' ? this.#gone() : undefined
      const requestOf = (forward: Forward): ProviderRequest => {
        const { provider, registration } = forward
        return { provider, registration, operation, headers, body: render(forward), context, gone }
      }
      return ok(await this.#request.client.aside(() => this.#passOn(passed, requestOf, read, origins)))
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

  /** Words the requests in slices: they may be long, and many. */
  async #passOn<Forward extends AddressedRequest, Read>(
    forwards: readonly Forward[],
    requestOf: (forward: Forward) => ProviderRequest,
    read: ReadResponse<Read>,
    origins: Origins,
  ): Promise<readonly ForwardResult<Forward, Read>[]> {
    const { providers } = this.#forwarding
    const budget = providers.responseBudget()
    const forwarded: Promise<ForwardResult<Forward, Read>>[] = []
    const slices = new Slices()
    for (const forward of forwards) {
      if (slices.isOver) await slices.next()
      const answered = providers.ask(requestOf(forward), read, budget).finally(() => origins.answered(forward))
      forwarded.push(answered.then((answer) => ({ forward, answer })))
    }
    return Promise.all(forwarded).finally(() => budget.end())
  }

  /** As of a notification, with the path as the client sent it [subscriptions 8.2]. */
  #headers(): Readonly<Record<string, string>> {
    const { headers } = this.#request
    const { correlator, token } = originOf({ forwarding: this.#forwarding }, this.#request)
    return {
      'User-Agent': `rigel/${versionFacts.version}`,
      Accept: 'application/json',
      'Content-Type': 'application/json; charset=utf-8',
      'Fiware-ServicePath': String(headers['fiware-servicepath'] ?? '') || '/',
      ...(this.#tenant !== '' && { 'Fiware-Service': this.#tenant }),
      ...(token !== '' && { 'X-Auth-Token': token }),
      'Fiware-Correlator': correlator,
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
