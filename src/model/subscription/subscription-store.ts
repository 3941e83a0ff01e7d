import type { Packed } from '../../threads/shared-memory/packed.js'
import type { Milliseconds } from '../../time.js'
import type { Notice, NoticeAck } from './notice.js'
import type { Subscription, SubscriptionId } from './subscription.js'

/** What the coordinator writes in one transaction; what is absent stays. */
export interface ControlChange {
  readonly put?: Subscription
  readonly remove?: SubscriptionId
  /** Notices that no single change of an entity has caused. */
  readonly notices?: readonly Notice[]
  readonly acks?: readonly NoticeAck[]
  /** A change is withdrawn by it: that is written also where there is no room for what grows. */
  readonly withdraws?: boolean
  /** Up to which moment the ticks of a subscription have been made. */
  readonly ticked?: { readonly id: SubscriptionId; readonly due: Milliseconds }
}

/** Subscriptions on disk, with an outbox of their own. The coordinator is the only writer. */
export interface SubscriptionStore {
  /** Everything that was stored, as it is stored, for this thread and others; in no particular order. */
  packedSubscriptions(): Packed<Subscription>
  /** The same, by creation; throws with the name of the first one that cannot be read. */
  subscriptions(): readonly Subscription[]
  /** When the last tick of each subscription was due that has ticked. */
  ticks(): ReadonlyMap<SubscriptionId, Milliseconds>
  /** Resolves when the change is on disk; `StorageFull` when there is no room for it. */
  commit(change: ControlChange): Promise<void>
}
