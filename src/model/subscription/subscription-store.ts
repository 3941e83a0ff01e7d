import type { Packed } from '../../threads/shared-memory/packed.js'
import type { Milliseconds } from '../../time.js'
import type { Notice, NoticeAck } from './notice.js'
import type { Subscription, SubscriptionId } from './subscription.js'

/** One transaction of the coordinator; absent members stay as they are. */
export interface MetadataChange {
  readonly put?: Subscription
  readonly remove?: SubscriptionId
  /** Notices that no single change of an entity has caused. */
  readonly notices?: readonly Notice[]
  readonly acks?: readonly NoticeAck[]
  /** Whether it withdraws a change: that is written even when the store is full. */
  readonly withdraws?: boolean
  /** The moment up to which ticks of a subscription have been made. */
  readonly ticked?: { readonly id: SubscriptionId; readonly due: Milliseconds }
}

/** The subscriptions on disk, with an outbox of their own. The coordinator is the only writer. */
export interface SubscriptionStore {
  /** All stored subscriptions in their stored form, to send to threads; in no particular order. */
  packedSubscriptions(): Packed<Subscription>
  /** All stored subscriptions, in the order of creation; throws with the name of the first one that cannot be read. */
  subscriptions(): readonly Subscription[]
  /** When the last tick of each subscription that has ticked was due. */
  ticks(): ReadonlyMap<SubscriptionId, Milliseconds>
  /** Resolves when the change is durable; rejects with `StorageFull` when there is no room for it. */
  commit(change: MetadataChange): Promise<void>
}
