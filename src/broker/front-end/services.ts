import type { DeliveryState } from '../../delivery/queue/courier-protocol.js'
import type { ServicePath, Tenant } from '../../model/context/entity.js'
import type { PathRange } from '../../model/context/query.js'
import type { Origin } from '../../model/context/update.js'
import type { AvailabilitySubscription } from '../../model/registration/availability.js'
import type { RegisteredContext, Registration, RegistrationId } from '../../model/registration/registration.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { SetStatus } from '../../model/subscription/terms.js'
import type { Result } from '../../result.js'
import type { BackupPoint } from '../../storage/archive/archive.js'
import type { LogName } from '../../storage/etcd/engine.js'
import type { PinFailure, PinnedCommit } from '../../storage/records/store.js'
import type { Milliseconds } from '../../time.js'
import type { Unavailable } from './unavailable.js'

/** The request, as far as the notifications tell of it that what it registers causes. */
export type RegistryOrigin = Pick<Origin, 'correlator' | 'service' | 'via' | 'ends'>

/** A registration as a client asks for it; the broker gives id and dates [subscriptions 7.1]. */
export interface RegistrationRequest extends RegistryOrigin {
  readonly tenant: Tenant
  readonly path: ServicePath
  /** Replaces this registration as a whole; nothing for a new one. */
  readonly id: RegistrationId | undefined
  readonly duration_ms: number
  readonly contexts: readonly RegisteredContext[]
}

/** A registration as a client of NGSIv2 asks for it [NGSIv2 subscriptions 10]. */
export interface NewRegistration
  extends RegistryOrigin,
    Pick<Registration, 'tenant' | 'path' | 'expires' | 'contexts' | 'terms'> {}

/** There is no such registration in the tenant, and in the service path if that counts. */
export interface RegistrationUnknown {
  readonly kind: 'registrationUnknown'
}

/** A subscription to registrations as a client asks for it [subscriptions 7.4]. */
export interface AvailabilityRequest extends Omit<AvailabilitySubscription, 'id' | 'order' | 'expires'> {
  readonly duration_ms: number
  readonly correlator: string
  readonly service?: string | undefined
}

/** A change of an availability subscription, which always replaces entities and attributes [subscriptions 7.4]. */
export interface AvailabilityChange
  extends Pick<AvailabilitySubscription, 'id' | 'tenant' | 'selectors' | 'attributes'> {
  /** Nothing: it expires when it did before. */
  readonly duration_ms: number | undefined
  readonly correlator: string
  readonly service?: string | undefined
}

/** A notification of another registry [subscriptions 7.5]. */
export interface AvailabilityNotification
  extends RegistryOrigin,
    Pick<RegistrationRequest, 'tenant' | 'path' | 'contexts'> {
  /** The subscription that it came with; empty for none. */
  readonly subscription: string
}

/**
 * The registry, which has one owner; every front end asks it here. What is asked and answered is plain data, since a
 * front end may be another thread than the owner.
 */
export interface RegistryService {
  /** All registrations, as this thread knows them: a change is in the index before its response. */
  readonly index: RegistrationIndex
  /** On a node of a cluster: resolves when the index has all that was acknowledged before; refuses when that is not known. */
  readonly confirmed?: (() => Promise<Result<undefined, Unavailable>>) | undefined
  /** Answers when the registration is on disk with the notifications that it causes, and in every thread's index. */
  register(request: RegistrationRequest): Promise<Result<RegistrationId, RegistrationUnknown | Unavailable>>
  /** Registers a new registration of NGSIv2, and answers as `register` does. */
  add(registration: NewRegistration): Promise<Result<RegistrationId, Unavailable>>
  /**
   * Ends a resource of NGSIv2, whatever its path; answers when that is on disk, and in every thread's index. Others of the
   * same registration stay [NGSIv2 subscriptions 9, 10].
   */
  remove(tenant: Tenant, id: RegistrationId): Promise<Result<undefined, RegistrationUnknown | Unavailable>>
  /** Registers what another registry notifies, replacing what it notified before. */
  notified(told: AvailabilityNotification): Promise<Result<undefined, Unavailable>>
  /** Answers when the subscription is on disk with its initial notification. */
  subscribe(request: AvailabilityRequest): Promise<Result<SubscriptionId, Unavailable>>
  /** Answers when the change is on disk with the notification that it sends. */
  change(change: AvailabilityChange): Promise<Result<undefined, SubscriptionUnknown | Unavailable>>
  /** After its response no notification starts any more. */
  unsubscribe(tenant: Tenant, id: SubscriptionId): Promise<Result<undefined, SubscriptionUnknown | Unavailable>>
  /** All availability subscriptions, those of one tenant, or the one of an id; by creation [subscriptions 5.7]. */
  states(which: WhichSubscriptions): Promise<readonly SubscriptionState[]>
}

/** The operations of the service, for callers behind a port; the index is each thread's own. */
export const registryServiceOperations = {
  register: 'ask',
  add: 'ask',
  remove: 'ask',
  notified: 'ask',
  subscribe: 'ask',
  change: 'ask',
  unsubscribe: 'ask',
  states: 'ask',
} as const

export interface SubscriptionUnknown {
  readonly kind: 'subscriptionUnknown'
}

/** Which subscriptions are meant: all, those of one tenant, or the one of an id. */
export interface WhichSubscriptions {
  readonly tenant?: Tenant
  readonly id?: SubscriptionId
}

/** A subscription of either kind with how its deliveries go [subscriptions 5.7]. */
export interface SubscriptionState {
  readonly id: SubscriptionId
  readonly tenant: Tenant
  readonly path: PathRange
  readonly reference: string
  readonly expires: Milliseconds
  readonly throttling_ms: number
  /** Nothing for one that can only be active. */
  readonly status?: SetStatus | undefined
  readonly delivery: DeliveryState
}

/** Why there is no backup now. */
export interface BackupRefusal {
  readonly kind: 'underWay' | 'notConfirmed' | 'notTogether' | PinFailure
}

/** Keeps the data of one moment while a backup copies it: for one backup at a time, as long as it makes progress. */
export interface BackupService {
  /** Begins a backup. If `goOn` is not called for some seconds its moment is given up. */
  begin(): Promise<Result<BackupPoint, BackupRefusal>>
  /** The backup makes progress; false when its moment is no longer kept. */
  goOn(backup: number, bytes: number): Promise<boolean>
  /** Everything is copied, or nothing more will be; false when the moment was not kept until now. */
  end(backup: number, bytes: number, why: 'copied' | 'givenUp'): Promise<boolean>
}

/** The operations of the service, for callers behind a port. */
export const backupOperations = { begin: 'ask', goOn: 'ask', end: 'ask' } as const

/** Keeps commits of replicas while snapshots of them are sent to other nodes of the cluster, one for each log at a time. */
export interface SnapshotTransferService {
  /** Keeps the last commit; nothing when it is being sent, nobody follows the log here now, or the file cannot be read. */
  beginTransfer(log: LogName): Promise<PinnedCommit | undefined>
  /** Releases the commit; false when it was not kept until now. */
  endTransfer(log: LogName): Promise<boolean>
}

/** The operations of the service, for callers behind a port. */
export const snapshotTransferOperations = { beginTransfer: 'ask', endTransfer: 'ask' } as const
