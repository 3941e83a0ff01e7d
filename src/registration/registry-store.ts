import type { Notice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { AvailabilitySubscription } from './availability.js'
import type { Registration, RegistrationChange } from './registration.js'

/** What the owner of registrations writes in one transaction; what is absent stays. */
export interface RegistryChange {
  readonly registrations?: readonly RegistrationChange[]
  readonly put?: AvailabilitySubscription
  readonly remove?: readonly SubscriptionId[]
  readonly notices?: readonly Notice[]
}

/** Registrations and availability subscriptions on disk. Their owner is the only writer. */
export interface RegistryStore {
  /** All that are stored, expired ones included, in no particular order. */
  registrations(): Iterable<Registration>
  /** All that are stored, expired ones included, in no particular order. */
  availability(): Iterable<AvailabilitySubscription>
  /** Resolves when the change is on disk; `StorageFull` when there is no room for it. */
  commit(change: RegistryChange): Promise<void>
}
