import type { ServicePath, Tenant } from '../../model/context/entity.js'
import type { GivenAttribute } from '../../model/context/update.js'
import { keptName, urlWithoutSecrets } from '../../observe/log/secrets.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices, type Steps } from '../../slices.js'
import type { ForwardRefusal } from '../../threads/shared-memory/limits.js'
import { now } from '../../time.js'
import type { StatusText } from '../operations/api.js'
import type { Forwarder, ForwardResult } from './forwarder.js'
import type { ParsedUpdateResponse, ResponseElement, ResponseEntity } from './provider-format.js'
import { type NgsiForm, type ProviderFailure, providerFailureText } from './provider-request.js'
import { attributeKey, entityKey } from './query-plan.js'
import { type Lacking, planUpdate, type Share, type Sharing, type UpdateForward } from './update-plan.js'

export type ForwardedUpdate = ForwardResult<UpdateForward, ParsedUpdateResponse>

/** The outcome of an update in this broker. */
interface LocalUpdate {
  readonly tenant: Tenant
  readonly path: ServicePath
  readonly api: NgsiForm
  readonly lacking: readonly Lacking[]
  /** Whether any part of it was carried out here. */
  readonly somethingDone: boolean
}

/** The outcome of a forwarded update. */
interface PassedUpdate {
  /** How the lacking attributes were shared out, one for each entity, in order. */
  readonly sharings: readonly Sharing[]
  readonly passed: readonly ForwardedUpdate[]
  readonly outcomes: ReadonlyMap<Share, readonly ShareOutcome[]>
  /** For the response: which providers have failed, and why. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Forwards what an update lacks here, all requests at the same time. Undefined when no registration covers any of it. What was
 * carried out here is always answered; a refusal to wait for providers is the response to the whole only when nothing was
 * [subscriptions 8.3], [NGSIv2 subscriptions 11.3].
 */
export async function updateAtProviders(
  forwarder: Forwarder,
  { tenant, path, api, lacking, somethingDone }: LocalUpdate,
): Promise<Result<PassedUpdate, ForwardRefusal> | undefined> {
  const lookup = { tenant, paths: [{ path, below: false }], now: now(), use: 'update', api } as const
  const { forwards, sharings } = await inSlices(planUpdate(forwarder.index, lookup, lacking))
  if (forwards.length === 0) return undefined
  try {
    const passed = await forwarder.ask(
      {
        operation: 'update',
        message: (format, forward: UpdateForward) => format.update(forward),
        read: (format, response) => format.readUpdate(response),
      },
      forwards,
    )
    if (!passed.ok && !somethingDone) return passed
    const results = passed.ok ? passed.value : forwards.map(notSent)
    return ok({ sharings, passed: results, outcomes: await inSlices(outcomesOf(results)), headers: headersOf(results) })
  } finally {
    forwarder.end()
  }
}

function notSent(forward: UpdateForward): ForwardedUpdate {
  return { forward, response: err({ kind: 'unreachable', reason: 'too many requests wait for context providers' }) }
}

/** The most failures that a response names. */
const mostNamed = 8

/**
 * The bodies of responses are those of Orion, which do not say that a provider has failed: an entity that is held here would be called
 * unknown because its agent is down.
 */
function headersOf(results: readonly ForwardedUpdate[]): Readonly<Record<string, string>> {
  const failures = results.flatMap(({ forward, response }) =>
    response.ok ? [] : `${providerShown(forward.provider)}: ${providerFailureText(response.error)}`,
  )
  return failures.length === 0 ? {} : { 'Rigel-Forwarding-Error': failures.slice(0, mostNamed).join(', ') }
}

/** Of ASCII characters alone, for a header. */
function providerShown(provider: string): string {
  return URL.canParse(provider) ? keptName(urlWithoutSecrets(new URL(provider).href)) : 'provider'
}

/** The outcome for some attributes of a share; each interface has its own texts for it. */
export interface ShareOutcome {
  readonly result: ShareResult
  readonly attributes: readonly GivenAttribute[]
  /** The entity as the provider has named it; absent if it has named none. */
  readonly entity?: ResponseEntity | undefined
}

export type ShareResult =
  /** The status that the provider gives, which may be success. */
  | { readonly kind: 'answered'; readonly status: StatusText }
  /** The provider does not mention them, or does not know the entity. */
  | { readonly kind: 'notFound' }
  /** The provider has failed, see `ProviderFailure`. */
  | { readonly kind: 'failed'; readonly failure: ProviderFailure }

/** The outcomes of each forwarded share; shares beyond the limit have none. */
export function* outcomesOf(passed: readonly ForwardedUpdate[]): Steps<ReadonlyMap<Share, readonly ShareOutcome[]>> {
  const outcomes = new Map<Share, readonly ShareOutcome[]>()
  for (const { forward, response } of passed) {
    if (response.ok)
      for (const [share, outcome] of yield* resolve(forward.shares, response.value)) outcomes.set(share, outcome)
    else {
      const result = { kind: 'failed', failure: response.error } as const
      for (const share of forward.shares) outcomes.set(share, [{ result, attributes: share.attributes }])
    }
  }
  return outcomes
}

/**
 * Reads from a provider's response the outcome of each share [subscriptions 8.3]. An element covers the attributes that it lists,
 * or all that are left when it lists none. What the response does not mention was not done.
 */
function* resolve(
  shares: readonly Share[],
  { elements, status }: ParsedUpdateResponse,
): Steps<ReadonlyMap<Share, readonly ShareOutcome[]>> {
  const open = shares.map((share) => new OpenShare(share))
  const find = finder(open)
  for (const element of elements) {
    find(element)?.addElement(element)
    yield
  }
  return new Map(open.map((share) => [share.share, share.end(status)]))
}

/** The shares that an element may cover: those of its id and type, otherwise those of its id. */
function finder(open: readonly OpenShare[]): (element: ResponseElement) => EqualShares | undefined {
  const [exact, byId] = [new Map<string, EqualShares>(), new Map<string, EqualShares>()]
  for (const share of open) {
    enter(exact, entityKey(share.share), share)
    enter(byId, share.share.id, share)
  }
  return (element) => exact.get(entityKey(element)) ?? byId.get(element.id)
}

function enter(map: Map<string, EqualShares>, key: string, share: OpenShare): void {
  const held = map.get(key) ?? new EqualShares()
  map.set(key, held)
  held.add(share)
}

/** Shares with the same id and type: elements cover them in order, each attribute of each once. */
class EqualShares {
  readonly #shares: OpenShare[] = []
  readonly #byAttribute = new Map<string, OpenShare[]>()
  readonly #next = new Map<string, Iterator<OpenShare>>()
  #closed = 0

  add(share: OpenShare): void {
    this.#shares.push(share)
    for (const attribute of share.share.attributes) {
      const key = attributeKey(attribute)
      const shares = this.#byAttribute.get(key)
      if (shares) shares.push(share)
      else this.#byAttribute.set(key, [share])
    }
  }

  /** Attributes that an element lists get the entity name that the provider gave. */
  addElement({ id, type, isPattern, attributes, status }: ResponseElement): void {
    const entity = { id, type, isPattern }
    if (attributes.length === 0) this.#firstOpen()?.resolveRest(status, entity)
    for (const attribute of attributes) this.#taking(attribute)?.resolve(attribute, status, entity)
  }

  #firstOpen(): OpenShare | undefined {
    while (this.#shares[this.#closed]?.isOpen === false) this.#closed += 1
    return this.#shares[this.#closed]
  }

  #taking(attribute: GivenAttribute): OpenShare | undefined {
    const key = attributeKey(attribute)
    const next = this.#next.get(key) ?? (this.#byAttribute.get(key) ?? []).values()
    this.#next.set(key, next)
    for (let share = next.next(); share.done !== true; share = next.next()) {
      if (share.value.take(key)) return share.value
    }
    return undefined
  }
}

/** A share with attributes whose outcome is open. */
class OpenShare {
  readonly share: Share
  readonly #left: Map<string, GivenAttribute>
  readonly #outcomes: ShareOutcome[] = []

  constructor(share: Share) {
    this.share = share
    this.#left = new Map(share.attributes.map((attribute) => [attributeKey(attribute), attribute]))
  }

  get isOpen(): boolean {
    return this.#left.size > 0
  }

  /** Whether the attribute belongs to the share and its outcome is still open. */
  take(key: string): boolean {
    return this.#left.delete(key)
  }

  resolve(attribute: GivenAttribute, status: StatusText, entity: ResponseEntity): void {
    this.#outcomes.push({ result: { kind: 'answered', status }, attributes: [attribute], entity })
  }

  resolveRest(status: StatusText | undefined, entity?: ResponseEntity): void {
    const result: ShareResult = status === undefined ? { kind: 'notFound' } : { kind: 'answered', status }
    this.#outcomes.push({ result, attributes: [...this.#left.values()], entity })
    this.#left.clear()
  }

  /** The status of the whole response holds for what no element covers. */
  end(status: StatusText | undefined): readonly ShareOutcome[] {
    if (this.isOpen) this.resolveRest(status)
    return this.#outcomes
  }
}
