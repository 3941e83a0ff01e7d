import type { EntityId, Tenant } from '../context/entity.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds } from '../time.js'
import { type AvailabilitySubscription, discoveryOf } from './availability.js'
import type { Discovery } from './discovery.js'
import { MeantEntities } from './meant-entities.js'
import { inForce, type RegisteredContext, type Registration } from './registration.js'

/** A subscription that a registration concerns, with what it is to be sent. */
interface AvailabilityMatch {
  readonly subscription: AvailabilitySubscription
  readonly discovery: Discovery
}

interface Held {
  readonly subscription: AvailabilitySubscription
  readonly entities: MeantEntities
}

interface TenantSubscriptions {
  /** Those that name the id of an entity. */
  readonly exact: Map<EntityId, Set<Held>>
  /** Those that search ids. */
  readonly searching: Set<Held>
}

/** The availability subscriptions in memory, by the entities that they select. */
export class AvailabilityIndex {
  readonly #held = new Map<SubscriptionId, Held>()
  readonly #byTenant = new Map<Tenant, TenantSubscriptions>()

  /** The one of this id, expired or not, whatever its tenant. */
  get(id: SubscriptionId): AvailabilitySubscription | undefined {
    return this.#held.get(id)?.subscription
  }

  /** Expired ones included, in no particular order. */
  *all(): Generator<AvailabilitySubscription> {
    for (const { subscription } of this.#held.values()) yield subscription
  }

  /** Adds a subscription, or replaces the one with its id. */
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
   * Whom a registration concerns that was created or updated just now, by creation [subscriptions 7.4]; and nothing again
   * and again: whoever looks may pause there.
   */
  *matchesOf({ tenant, contexts }: Registration, now: Milliseconds): Generator<AvailabilityMatch | undefined> {
    const ofTenant = this.#byTenant.get(tenant)
    if (ofTenant === undefined) return
    const meant = new Set(ofTenant.searching)
    for (const held of naming(ofTenant, contexts)) meant.add(held)
    for (const { subscription, entities } of [...meant].sort(byCreation)) {
      if (!inForce(subscription, now)) continue
      const discovery = yield* discoveryOf(subscription, entities, contexts)
      yield discovery && { subscription, discovery }
    }
  }
}

/** Those that name the id of a registered entity: all that name one if some entity stands for every id. */
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
