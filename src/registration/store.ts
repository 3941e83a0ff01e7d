import type { Notice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { AvailabilitySubscription } from './availability.js'
import type { Registration, RegistrationChange } from './registration.js'

/** What the owner of registrations needs of storage, of which it is the only writer. */
export interface RegistryStore {
  /** Whether the data may grow; when not, only removals are done. */
  readonly hasRoom: boolean
  /**
   * Runs the work in one write transaction, which is on disk when this returns. What throws in it undoes all of it;
   * `StorageFull` is thrown when the disk has no room left.
   */
  transact<Result>(work: () => Result): Result
  /** All that are stored, expired ones included, in no particular order. */
  registrations(): Iterable<Registration>
  /** All that are stored, expired ones included, in no particular order. */
  availability(): Iterable<AvailabilitySubscription>
  /** Writes changes of registrations; only within `transact`. */
  write(changes: readonly RegistrationChange[]): void
  /** Only within `transact`. */
  putAvailability(subscription: AvailabilitySubscription): void
  /** Only within `transact`. */
  removeAvailability(id: SubscriptionId): void
  /** Puts notices into the outbox, in this order after all that were ever in it; only within `transact`. */
  enqueue(notices: readonly Notice[]): void
}
