import type { Milliseconds } from '../../time.js'
import type { Entity, ServicePath, Tenant } from '../context/entity.js'
import type { Provisional } from './decisions.js'
import type { BodilessMessage, BodyTerms, NoticeMessage, ShownChange } from './message.js'
import type { Subscription, SubscriptionId } from './subscription.js'

/**
 * A notification that is due: stored in the outbox with the update that caused it, and sent by a courier until it is accepted or
 * dropped [subscriptions 5.2].
 */
export interface Notice {
  readonly subscription: SubscriptionId
  /**
   * Notices of one subscription with the same ordering key are sent one by one, in order [subscriptions 5.4]. A change has the
   * key of its entity (`orderingKeyOf`); other notices have that of their kind.
   */
  readonly orderingKey: OrderingKey
  readonly made: Milliseconds
  readonly tenant: Tenant
  /** The paths of the entities in the body, in their order [subscriptions 4.1]. */
  readonly paths: readonly ServicePath[]
  readonly correlator: string
  /** X-Auth-Token; empty without it. */
  readonly token: string
  /** Fiware-Service of the causing request, which is passed on where there is no tenant; absent or empty without it. */
  readonly service?: string | undefined
  /** The header `Via` of the causing request; absent or empty without it. */
  readonly via?: string | undefined
  /** The message beside its body, in the forms of NGSIv2. */
  readonly message?: NoticeMessage | undefined
  readonly body: string
  /**
   * For a notice that no single change has caused: per partition, the number of the last notice that was made before it. It is
   * sent after all those of its subscription, and before all later ones.
   */
  readonly after?: readonly number[] | undefined
  /** Absent when the notice is sent whatever is decided. */
  readonly provisional?: Provisional | undefined
}

/** The Fiware-Service of a notification: its tenant, otherwise that of the causing request [context 5.1]. */
export function serviceOf({ tenant, service = '' }: Pick<Notice, 'tenant' | 'service'>): string {
  return tenant === '' ? service : tenant
}

export type NoticeHead = Omit<Notice, 'body'>

/**
 * The notices of several subscriptions to one change that differ only in the subscription: the entity is stored once, and each
 * body is rendered when it is sent. In the outbox they count as one notice per subscription.
 */
export interface SharedNotice extends Omit<Notice, 'subscription' | 'body' | 'after' | 'message' | 'provisional'> {
  /** In the order of creation, which is the order of their numbers. */
  readonly subscriptions: readonly SubscriptionId[]
  /** The entity after the change. */
  readonly entity: Entity
}

/**
 * The messages of several subscriptions to one change in the forms of NGSIv2 whose bodies are long, or take long to render: the
 * change is stored once, and each body is rendered when it is sent. In the outbox they count as one notice per subscription.
 */
export interface SharedChange
  extends Omit<Notice, 'subscription' | 'correlator' | 'body' | 'after' | 'message' | 'provisional'> {
  readonly subscriptions: readonly SubscriptionId[]
  /** In the order of `subscriptions`. */
  readonly messages: readonly BodilessMessage[]
  readonly shown: ShownChange
}

/** The forms in which notices are put into an outbox. */
export type NewNotice = Notice | SharedNotice | SharedChange

/** A notice as an outbox gives it back: with its body, or with what the body is rendered from. */
export type StoredNotice = Notice | EntityNotice | ChangeNotice

type EntityNotice = NoticeHead & { readonly body: undefined; readonly entity: Entity }
type ChangeNotice = NoticeHead & { readonly body: undefined; readonly shown: ShownChange; readonly terms: BodyTerms }

export type OrderingKey =
  | { readonly kind: 'entity'; readonly key: string }
  /** Initial notifications, which are about several entities [subscriptions 3.5]. */
  | { readonly kind: 'initial' }
  /** Ticks, of which only the newest waits [subscriptions 3.6]. */
  | { readonly kind: 'tick' }
  /** Availability notifications: one by one for each subscription [subscriptions 7.4]. */
  | { readonly kind: 'availability' }

/**
 * The ordering key of the changes of an entity. It is unambiguous: paths have no spaces, and the length of the type says where
 * the id begins.
 */
export function orderingKeyOf({ path, id, type }: Pick<Entity, 'path' | 'id' | 'type'>): OrderingKey {
  return { kind: 'entity', key: `${path} ${type.length} ${type}${id}` }
}

/** Renders the body of a notification about these entities as they are now, in the form of one API [subscriptions 4.2]. */
export type NoticeRenderer = (
  subscription: Pick<Subscription, 'id' | 'attributes'>,
  entities: readonly Entity[],
) => string

/** The number of a notice in its outbox: ascending, and never reused, also after a restart. */
export type NoticeNumber = number

/** A notice with its number and the bytes of its record, or of the record of the entity that it shows. */
export interface NumberedNotice {
  readonly number: NoticeNumber
  readonly size_bytes: number
  /** Undefined when the body is rendered only when it is sent. */
  readonly body_bytes: number | undefined
  readonly notice: NoticeHead
}

/** The outcomes of one subscription's notices in one outbox, stored in one transaction [subscriptions 5.7]. */
export interface NoticeAck {
  readonly subscription: SubscriptionId
  /** The notices that leave the outbox. */
  readonly gone: readonly NoticeNumber[]
  /** The subscription's new delivery stats in this outbox; undefined when the subscription has ended. */
  readonly stats: DeliveryStats | undefined
}

/** The delivery stats of a subscription in one outbox; operators see the sum over all outboxes [subscriptions 5.7]. */
export interface DeliveryStats {
  /** Notices with at least one attempt. */
  readonly sent: number
  /** Notices that a limit has dropped. */
  readonly discarded: number
  /**
   * Notices with an attempt that are still in the outbox, so that they do not count twice after a restart; not all if there are
   * very many.
   */
  readonly tried: readonly NoticeNumber[]
  /** When the last notice was made that has left the outbox. */
  readonly lastNotification?: Milliseconds
  readonly lastSuccess?: Milliseconds
  readonly lastSuccessCode?: number
  readonly lastFailure?: Milliseconds
  readonly lastFailureReason?: string
  /** Failed attempts since the last accepted one, over all outboxes, as of `attempted`. */
  readonly fails: number
  /** When the last attempt from this outbox ended. */
  readonly attempted?: Milliseconds
}

/** Token and service of a request in a record: the token alone where the service is the tenant, or absent. */
export type PackedToken = string | readonly [token: string, service: string]

export function packedToken({ token, service }: Pick<Notice, 'token' | 'service'>, tenant: string): PackedToken {
  return service === undefined || service === '' || service === tenant ? token : [token, service]
}

/** Token and service; no service where there was none. */
export function unpackedToken(packed: PackedToken, tenant: string): readonly [token: string, service?: string] {
  if (typeof packed === 'object') return packed
  return tenant === '' ? [packed] : [packed, tenant]
}
