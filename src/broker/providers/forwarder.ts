import { setMaxListeners } from 'node:events'
import { endsHere, viaOf } from '../../hosts.js'
import type { EntityId, Tenant } from '../../model/context/entity.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import type { RegistrationId } from '../../model/registration/registration.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import { isRegistered } from '../../model/registration/sources.js'
import { type Log, lineContextOf } from '../../observe/log/log.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import { traceArea } from '../../observe/log/trace.js'
import type { DeprecatedUses } from '../../observe/measure/deprecated-uses.js'
import { err, ok, type Result } from '../../result.js'
import { Slices, type Steps } from '../../slices.js'
import type { ForwardLimit, ForwardRefusal } from '../../threads/shared-memory/limits.js'
import { now } from '../../time.js'
import { versionFacts } from '../../version.js'
import type { Broker } from '../front-end/broker.js'
import { type ApiRequest, requestOrigin } from '../operations/api.js'
import type { Call } from '../operations/operation.js'
import type { ProviderFormat, ProviderFormats, ProviderMessage } from './provider-format.js'
import type {
  AddressedRequest,
  NgsiForm,
  ProviderFailure,
  ProviderOperation,
  ProviderResponse,
} from './provider-request.js'
import type { ClientShare, Providers } from './providers.js'
import type { ShownEntity } from './query-plan.js'

/** How requests are forwarded to providers [subscriptions 8]. */
export interface Forwarding {
  readonly providers: Pick<Providers, 'ask' | 'share' | 'leftOut'>
  /** By the form that a registration names. */
  readonly formats: ProviderFormats
  /** Names the broker to others, the same in all of its threads. */
  readonly brokerId: string
  /** The most requests that are forwarded for one request of a client. */
  readonly limit: number
  /** The requests of clients that wait for providers, over all front ends. */
  readonly waiting: ForwardLimit
  readonly deprecated: Pick<DeprecatedUses, 'note'>
}

/** The services for forwarding; without `forwarding` nothing is forwarded. */
export interface ForwardingServices {
  readonly broker: Broker
  readonly log?: Log
  readonly forwarding?: Forwarding
}

/** A kind of forwarded request: how it is sent in a format, and how the response is parsed. */
interface ForwardedOperation<Forward, Read> {
  readonly operation: ProviderOperation
  readonly message: (format: ProviderFormat, forward: Forward) => ProviderMessage
  readonly read: (
    format: ProviderFormat,
    response: ProviderResponse,
    forward: Forward,
  ) => Steps<Result<Read, ProviderFailure>>
}

/** The outcome of one forwarded request. */
export interface ForwardResult<Forward extends AddressedRequest, Read> {
  readonly forward: Forward
  readonly response: Result<Read, ProviderFailure>
}

/**
 * A forwarder for a request of a client; undefined when the request is answered from this broker's data alone: its tenant has no
 * registrations, or the request has been here before.
 */
export function forwarderOf({ services, request, tenant }: Call<ForwardingServices>): Forwarder | undefined {
  const { broker, forwarding, log } = services
  if (forwarding === undefined || broker.registry.index.isEmpty(tenant)) return undefined
  if (endsHere(request.headers.via, forwarding.brokerId)) return undefined
  return new Forwarder(broker.registry.index, forwarding, request, log)
}

/** Whether a provider may be asked to update an entity of this id, of any type. */
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

/** Ids that are looked up between two pauses. */
const idsAtOnce = 64

/** Whether a provider may be asked to update one of these entities. In steps: each look-up may take a while. */
export function* mayPassOnAny(
  services: ForwardingServices,
  tenant: Tenant,
  entities: readonly { readonly id: EntityId }[],
  api: NgsiForm,
): Steps<boolean> {
  let looked = 0
  for (const { id } of entities) {
    if (mayPassOn(services, tenant, id, api)) return true
    looked += 1
    if (looked % idsAtOnce === 0) yield
  }
  return false
}

/** Forwards what one request of a client asks of providers. Call `end` when nothing more is forwarded. */
export class Forwarder {
  readonly index: RegistrationIndex
  readonly #forwarding: Forwarding
  readonly #request: ApiRequest
  readonly #log: Log | undefined
  readonly #share: ClientShare
  #requests = 0

  constructor(index: RegistrationIndex, forwarding: Forwarding, request: ApiRequest, log: Log | undefined) {
    this.index = index
    this.#forwarding = forwarding
    this.#request = request
    this.#log = log
    this.#share = forwarding.providers.share()
  }

  /** How many requests may still be forwarded. */
  get left(): number {
    return Math.max(0, this.#forwarding.limit - this.#requests)
  }

  /** The responses are no longer held. */
  end(): void {
    this.#share.budget.end()
  }

  /**
   * Forwards as many requests as the limit allows, all at the same time; gives their outcomes in the order of asking
   * [subscriptions 8.4]. Refuses when too many requests wait for providers, or for one of these. The client's request has no
   * permit meanwhile.
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

  /** An entity in a response is not used: it has more than an entity may have here. */
  leftOut({ provider }: AddressedRequest, entity: ShownEntity): void {
    this.#forwarding.providers.leftOut(provider, entity, lineContextOf(this.#request))
  }

  /** A query ends with its client. An update does not: what was begun is finished. */
  #gone(): AbortSignal {
    const { client } = this.#request
    const controller = new AbortController()
    setMaxListeners(0, controller.signal) // Each forwarded request adds a listener.
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
      this.#requests += 1
      const { provider, registration, form } = forward
      if (form === 'ngsi1') this.#noteLegacy(registration)
      const format = formats[form]
      const headers = this.#headers(format)
      const request = { provider, registration, operation, headers, ...message(format, forward), context, gone }
      const responded = providers
        .ask(request, (response) => read(format, response, forward), this.#share)
        .finally(() => origins.answered(forward))
      forwarded.push(responded.then((response) => ({ forward, response })))
    }
    return Promise.all(forwarded)
  }

  /** A request is forwarded because of a registration: its use is deprecated if it is of NGSIv2 [management 3.2, 4.5]. */
  #noteLegacy(id: RegistrationId): void {
    if (this.index.get(id)?.terms?.legacy !== true) return
    const line = `Deprecated usage of legacyForwarding mode detected in existing registration (regId: ${id})`
    this.#forwarding.deprecated.note('ngsiv1Forwarding', line, lineContextOf(this.#request))
  }

  /** The headers of a notification, with the path as the client sent it [subscriptions 8.2], [NGSIv2 subscriptions 11.2]. */
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
      'Fiware-Correlator': format.correlator(correlator, this.#requests),
      Via: viaOf(headers.via, this.#forwarding.brokerId),
    }
  }
}

/** The origins that one request of a client waits for, each until the last of its responses. */
class Origins {
  readonly #waiting: ForwardLimit
  /** The number of outstanding responses of each. */
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

  /** Nothing is waited for any more. */
  end(): void {
    for (const [origin, left] of this.#open) if (left > 0) this.#waiting.answered(origin)
    this.#open.clear()
  }
}

/** Protocol, host and port; a text that is not a URL fails at once, and counts as an origin. */
function originOfProvider({ provider }: AddressedRequest): string {
  return URL.canParse(provider) ? new URL(provider).origin : ''
}
