import type { Steps } from '../../slices.js'
import type { Milliseconds } from '../../time.js'
import type { EntityId, EntityType, Tenant } from '../context/entity.js'
import type { Selector } from '../context/query.js'
import type { Notice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { DiscoveryOfRegistered } from './discovery.js'
import { MeantEntities, MeantOfTypes, type Pauses } from './meant-entities.js'
import { inForce, type RegisteredContext, type Registration, type RegistrationChange } from './registration.js'

/** A subscription to registrations, in every service path of its tenant [subscriptions 7.4]. */
export interface AvailabilitySubscription {
  readonly id: SubscriptionId
  /** Its number in the order of creation. */
  readonly order: number
  readonly tenant: Tenant
  /** The subscription means registered entities that match one of them; one without type means every type. */
  readonly selectors: readonly Selector[]
  /** Names of the attributes to report; empty for all. */
  readonly attributes: readonly string[]
  /** The receiver of notifications: an absolute URL of http or https. */
  readonly reference: string
  /** No notifications from this moment on. */
  readonly expires: Milliseconds
}

/** Renders the body of a notification about registrations in the form of one API, in steps [subscriptions 7.4]. */
export type AvailabilityRenderer = (
  subscription: SubscriptionId,
  contexts: readonly RegisteredContext[],
) => Steps<string>

/**
 * The notification that is due when these contexts have been registered: everything now known about those of their entities that
 * the subscription means. Undefined when no context has both such an entity and, if the subscription names attributes, one of
 * those [subscriptions 7.4]. In steps, since the registration may have thousands of entities.
 */
function* discoveryOf(
  { selectors, attributes }: Pick<AvailabilitySubscription, 'selectors' | 'attributes'>,
  meant: MeantEntities,
  contexts: readonly RegisteredContext[],
): Pauses<DiscoveryOfRegistered | undefined> {
  const names = new Set(attributes)
  const hasWanted = (context: RegisteredContext): boolean =>
    names.size === 0 || context.attributes.some(({ name }) => names.has(name))
  if (!contexts.some(hasWanted)) return undefined
  const known: Selector[] = []
  const types = new Set<EntityType>()
  let concerns = false
  for (const context of contexts) {
    const isWanted = hasWanted(context)
    for (const entity of context.entities) {
      yield
      if (!(yield* meant.has(entity))) continue
      concerns ||= isWanted
      const { id, type, everyId } = entity
      if (everyId) types.add(type)
      // An entity without type is not the entities of every type: its selector has the empty type.
      else known.push({ id: { kind: 'exact', id }, type })
    }
  }
  if (!concerns) return undefined
  const ofTypes = types.size === 0 ? undefined : new MeantOfTypes(types, selectors, meant)
  return { selectors: known, ofTypes, attributes }
}

/** A subscription to notify of a registration, with the contexts to report. */
interface AvailabilityMatch {
  readonly subscription: AvailabilitySubscription
  readonly discovery: DiscoveryOfRegistered
}

interface Held {
  readonly subscription: AvailabilitySubscription
  readonly entities: MeantEntities
}

interface TenantSubscriptions {
  /** Subscriptions that name the id of an entity. */
  readonly exact: Map<EntityId, Set<Held>>
  /** Subscriptions with patterns of ids. */
  readonly searching: Set<Held>
}

/** The availability subscriptions in memory, indexed by the entities that they select. */
export class AvailabilityIndex {
  readonly #held = new Map<SubscriptionId, Held>()
  readonly #byTenant = new Map<Tenant, TenantSubscriptions>()

  /** The subscription of this id, expired or not, of any tenant. */
  get(id: SubscriptionId): AvailabilitySubscription | undefined {
    return this.#held.get(id)?.subscription
  }

  /** Expired ones included, in no particular order. */
  *all(): Generator<AvailabilitySubscription> {
    for (const { subscription } of this.#held.values()) yield subscription
  }

  put(subscription: AvailabilitySubscription): void {
    this.remove(subscription.id)
    const held = { subscription, entities: new MeantEntities(subscription.selectors) }
    this.#held.set(subscription.id, held)
    const ofTenant = this.#byTenant.get(subscription.tenant) ?? { exact: new Map(), searching: new Set() }
    this.#byTenant.set(subscription.tenant, ofTenant)
    for (const { id } of subscription.selectors) {
      if (id.kind === 'exact') ofTenant.exact.set(id.id, (ofTenant.exact.get(id.id) ?? new Set()).add(held))
      else ofTenant.searching.add(held)
    }
  }

  remove(id: SubscriptionId): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    this.#held.delete(id)
    const { tenant, selectors } = held.subscription
    const ofTenant = this.#byTenant.get(tenant)
    if (ofTenant === undefined) return
    ofTenant.searching.delete(held)
    for (const { id } of selectors) {
      if (id.kind !== 'exact') continue
      const meant = ofTenant.exact.get(id.id)
      meant?.delete(held)
      if (meant?.size === 0) ofTenant.exact.delete(id.id)
    }
    if (ofTenant.searching.size === 0 && ofTenant.exact.size === 0) this.#byTenant.delete(tenant)
  }

  /**
   * The subscriptions to notify of a registration that was created or updated just now, in the order of creation [subscriptions
   * 7.4]. Yields undefined in between, where the caller may pause.
   */
  *matchesOf({ tenant, contexts }: Registration, now: Milliseconds): Generator<AvailabilityMatch | undefined> {
    const ofTenant = this.#byTenant.get(tenant)
    if (ofTenant === undefined) return
    const meant = new Set(ofTenant.searching)
    for (const held of naming(ofTenant, contexts)) {
      meant.add(held)
      yield undefined
    }
    for (const { subscription, entities } of [...meant].sort(byCreation)) {
      if (!inForce(subscription, now)) continue
      const discovery = yield* discoveryOf(subscription, entities, contexts)
      yield discovery && { subscription, discovery }
    }
  }
}

/** Subscriptions that name the id of a registered entity; if an entity stands for every id, all subscriptions that name one. */
function* naming({ exact }: TenantSubscriptions, contexts: readonly RegisteredContext[]): Generator<Held> {
  if (contexts.some(({ entities }) => entities.some(({ everyId }) => everyId))) {
    for (const held of exact.values()) yield* held
    return
  }
  for (const { entities } of contexts) for (const { id } of entities) yield* exact.get(id) ?? []
}

function byCreation(a: Held, b: Held): number {
  return a.subscription.order - b.subscription.order
}

/** One transaction of the owner of registrations; absent members stay as they are. */
export interface RegistryChange {
  readonly registrations?: readonly RegistrationChange[]
  readonly put?: AvailabilitySubscription
  readonly remove?: readonly SubscriptionId[]
  readonly notices?: readonly Notice[]
}
