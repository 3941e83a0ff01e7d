import { Effort, maxSteps } from '../context/effort.js'
import type { Entity } from '../context/entity.js'
import { stateOf } from './change.js'
import type { IndexedSubscription } from './match-group.js'
import { MatcherIndex } from './matcher-index.js'
import type { Subscription } from './subscription.js'

/** The clock of a subscription that is not to be notified. */
const noClock = { moments: new BigInt64Array(1), at: 0 }

/**
 * Whether a subscription is about an entity of its tenant, by path, id and type and whatever else it asks: found as the
 * partitions find it [subscriptions 3.1], [NGSIv2 subscriptions 4.1].
 */
export function meansEntity(subscription: Subscription, entity: Entity): boolean {
  const { tenant, terms, onChange = [] } = subscription
  const condition = terms?.condition && { ...terms.condition, scopes: [] }
  const meant: Subscription = { ...subscription, onChange, terms: terms && { ...terms, status: 'active', condition } }
  const index = new MatcherIndex(0)
  index.put({ subscription: meant, clock: noClock })
  const found = new Set<IndexedSubscription>()
  for (const group of index.groups(tenant, entity)) group.gather(found)
  const state = stateOf(tenant, entity)
  return [...found].some(({ accepts }) => accepts === undefined || accepts(state, new Effort(maxSteps)))
}
