import type { Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import type { DeliveryState } from '../delivery/message.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds } from '../time.js'

export interface SubscriptionUnknown {
  readonly kind: 'subscriptionUnknown'
}

/** A subscription of either kind with how its deliveries go [subscriptions 5.7]. */
export interface SubscriptionState {
  readonly id: SubscriptionId
  readonly tenant: Tenant
  readonly path: PathRange
  readonly reference: string
  readonly expires: Milliseconds
  readonly throttling_ms: number
  readonly delivery: DeliveryState
}
