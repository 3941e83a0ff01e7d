import type { Tenant } from '../context/entity.js'
import type { Selector } from '../context/query.js'
import type { Steps } from '../slices.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds } from '../time.js'
import type { Discovery } from './discovery.js'
import type { MeantEntities, Pauses } from './meant-entities.js'
import type { RegisteredContext, RegisteredEntity } from './registration.js'

/** A subscription to registrations, of every service path of its tenant [subscriptions 7.4]. */
export interface AvailabilitySubscription {
  readonly id: SubscriptionId
  /** Its number in the order of creation. */
  readonly order: number
  readonly tenant: Tenant
  /** A registered entity that one of them matches is meant; one without type means every type. */
  readonly selectors: readonly Selector[]
  /** Names of the attributes to hear of; empty for all. */
  readonly attributes: readonly string[]
  /** Where notifications are posted to; an absolute URL of http or https. */
  readonly reference: string
  /** It is silent from this moment on. */
  readonly expires: Milliseconds
}

/** The body of a notification about what is registered, as an API renders it, in steps [subscriptions 7.4]. */
export type AvailabilityRenderer = (
  subscription: SubscriptionId,
  contexts: readonly RegisteredContext[],
) => Steps<string>

/**
 * What is to be sent when these contexts have been registered: everything that is now known about those of their
 * entities that the subscription means. Nothing when no context has both such an entity and, if the subscription names
 * attributes, one of those [subscriptions 7.4]. In steps: the registration may have thousands of entities.
 */
export function* discoveryOf(
  { selectors, attributes }: Pick<AvailabilitySubscription, 'selectors' | 'attributes'>,
  meant: MeantEntities,
  contexts: readonly RegisteredContext[],
): Pauses<Discovery | undefined> {
  const names = new Set(attributes)
  const hasWanted = (context: RegisteredContext): boolean =>
    names.size === 0 || context.attributes.some(({ name }) => names.has(name))
  if (!contexts.some(hasWanted)) return undefined
  const known: Selector[] = []
  let concerns = false
  for (const context of contexts) {
    const isWanted = hasWanted(context)
    for (const entity of context.entities) {
      yield
      if (!(yield* meant.has(entity))) continue
      concerns ||= isWanted
      for (const selector of selectorsOf(entity, selectors)) known.push(selector)
    }
  }
  return concerns ? { selectors: known, attributes } : undefined
}

/** What selects everything that is known about a registered entity, as far as the subscription means it. */
function selectorsOf({ id, type, everyId }: RegisteredEntity, subscribed: readonly Selector[]): readonly Selector[] {
  // An entity without type is that one and not the entities of every type: its selector has the empty type.
  if (!everyId) return [{ id: { kind: 'exact', id }, type }]
  return subscribed.filter((one) => one.type === undefined || one.type === type).map((one) => ({ id: one.id, type }))
}
