import type { Milliseconds } from '../../time.js'
import type { Entity, ServicePath, Tenant } from '../context/entity.js'
import type { StepBudget } from '../context/step-budget.js'
import type { Cause, Change } from './change.js'
import type { Provisional } from './decisions.js'
import type { Subscription, SubscriptionId } from './subscription.js'

/**
 * A notification that is due: stored in the outbox with the update that caused it, sent by a courier until it is
 * accepted or dropped [subscriptions 5.2].
 */
export interface Notice {
  readonly subscription: SubscriptionId
  /**
   * Notices of one subscription and ordering key go out one by one, in order [subscriptions 5.4]. A change has the key
   * of its entity (`orderingKeyOf`); other notices have that of their kind.
   */
  readonly orderingKey: OrderingKey
  readonly made: Milliseconds
  readonly tenant: Tenant
  /** The paths of the entities it shows, in their order [subscriptions 4.1]. */
  readonly paths: readonly ServicePath[]
  readonly correlator: string
  /** X-Auth-Token; the empty text without it. */
  readonly token: string
  /** Fiware-Service of what caused it, which is passed on where there is no tenant; nothing, or the empty text, without it. */
  readonly service?: string | undefined
  /** The header `Via` of what caused it; nothing, or the empty text, without it. */
  readonly via?: string | undefined
  /** The message beside its body, in the forms of NGSIv2. */
  readonly message?: NoticeMessage | undefined
  readonly body: string
  /**
   * Of a notice that no single change has caused: for each partition the number of the last notice there that was made
   * before it. It is sent after all those of its subscription, and before all later ones.
   */
  readonly after?: readonly number[] | undefined
  /** Undefined when the notice is sent however a change is decided. */
  readonly provisional?: Provisional | undefined
}

/**
 * The message of a notice, filled in with the update that caused it, so that nothing of it depends on a later state
 * [NGSIv2 subscriptions 6]. What is absent is as the subscription says, or as it is for all notifications.
 */
export interface NoticeMessage {
  /** The header `Ngsiv2-AttrsFormat`. */
  readonly format?: string | undefined
  readonly url?: string | undefined
  readonly method?: string | undefined
  /** The header `Content-Type`; the empty text for none. */
  readonly contentType?: string | undefined
  /** Names in lower case and values; an empty value leaves the header out. */
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined
  /** The topic, with MQTT. */
  readonly topic?: string | undefined
  /** Why it cannot be sent: it is dropped when its turn comes, with a line of this level. */
  readonly undeliverable?: { readonly level: 'error' | 'warn'; readonly reason: string } | undefined
}

/** The Fiware-Service that a notification is sent with: its tenant, else that of the request that caused it [context 5.1]. */
export function serviceOf({ tenant, service = '' }: Pick<Notice, 'tenant' | 'service'>): string {
  return tenant === '' ? service : tenant
}

/** A notice without its body. */
export type NoticeHead = Omit<Notice, 'body'>

/**
 * What several subscriptions are told of one change. Their notices differ in nothing but the subscription, so what they
 * show is stored once, and each body is rendered when it is sent. In the outbox it is one notice for each of them.
 */
export interface SharedNotice extends Omit<Notice, 'subscription' | 'body' | 'after' | 'message' | 'provisional'> {
  /** By creation, which is the order of their numbers. */
  readonly subscriptions: readonly SubscriptionId[]
  /** As it is after the change. */
  readonly entity: Entity
}

/**
 * What several subscriptions are told of one change by messages of their own whose bodies have a long text in common, which is stored once. In the
 * outbox it is one notice for each of them.
 */
export interface SharedText
  extends Omit<Notice, 'subscription' | 'correlator' | 'body' | 'after' | 'message' | 'provisional'> {
  readonly subscriptions: readonly SubscriptionId[]
  /** In the order of `subscriptions`. */
  readonly messages: readonly MessagePart[]
  readonly text: string
}

/** The part of a message that it shares with no other. */
export interface MessagePart extends Pick<Notice, 'correlator' | 'message'> {
  /** What stands in its body before the text, between its occurrences, and behind the last one. */
  readonly pieces: readonly string[]
}

/** What is put into an outbox. */
export type NewNotice = Notice | SharedNotice | SharedText

/** A notice as an outbox gives it back: with its body, or with the entity that it is about. */
export type StoredNotice = Notice | (NoticeHead & { readonly body: undefined; readonly entity: Entity })

export type OrderingKey =
  | { readonly kind: 'entity'; readonly key: string }
  /** Initial notifications, which are about several entities [subscriptions 3.5]. */
  | { readonly kind: 'initial' }
  /** Ticks, of which only the newest waits [subscriptions 3.6]. */
  | { readonly kind: 'tick' }
  /** Availability notifications: one by one for each subscription [subscriptions 7.4]. */
  | { readonly kind: 'availability' }

/** The ordering key of the changes of an entity; paths have no spaces, and the length of the type tells where the id begins. */
export function orderingKeyOf({ path, id, type }: Pick<Entity, 'path' | 'id' | 'type'>): OrderingKey {
  return { kind: 'entity', key: `${path} ${type.length} ${type}${id}` }
}

/** The body of a notification about these entities as they are now, as an API renders it [subscriptions 4.2]. */
export type NoticeRenderer = (
  subscription: Pick<Subscription, 'id' | 'attributes'>,
  entities: readonly Entity[],
) => string

/**
 * The message of a notification about a change in a form of NGSIv2 [NGSIv2 subscriptions 5, 6]; nothing when there is nothing to
 * show. What its template takes is taken from the step budget.
 */
export type MessageRenderer = (
  subscription: Subscription,
  change: Change,
  cause: Cause,
  budget: StepBudget,
) => { readonly message: NoticeMessage; readonly body: string } | undefined

/** The number of a notice in the outbox that holds it: growing, never given twice, not even after a restart. */
export type NoticeNumber = number

/** A notice with its number, and the bytes that its record takes, or that of the entity which it shows. */
export interface NumberedNotice {
  readonly number: NoticeNumber
  readonly size_bytes: number
  /** Undefined when the body is rendered only when it is sent. */
  readonly body_bytes: number | undefined
  readonly notice: NoticeHead
}

/** What becomes of notices of one subscription in one outbox, stored in one transaction [subscriptions 5.7]. */
export interface NoticeAck {
  readonly subscription: SubscriptionId
  /** The notices that leave the outbox. */
  readonly gone: readonly NoticeNumber[]
  /** The delivery stats of the subscription in this outbox from now on; nothing when the subscription has ended. */
  readonly stats: DeliveryStats | undefined
}

/**
 * How the deliveries of a subscription went, as one outbox knows it; the stats of all outboxes together are what
 * operators see [subscriptions 5.7].
 */
export interface DeliveryStats {
  /** Notices of which at least one attempt was made. */
  readonly sent: number
  /** Notices dropped by a limit. */
  readonly discarded: number
  /** Notices that were attempted and are still in the outbox, so that they do not count twice after a restart; not all if there are very many. */
  readonly tried: readonly NoticeNumber[]
  /** When the last notice was made that has left the outbox. */
  readonly lastNotification?: Milliseconds
  readonly lastSuccess?: Milliseconds
  readonly lastSuccessCode?: number
  readonly lastFailure?: Milliseconds
  readonly lastFailureReason?: string
  /** Failed attempts since the last acceptance, over all outboxes, as of `attempted`. */
  readonly fails: number
  /** When this outbox's last attempt ended. */
  readonly attempted?: Milliseconds
}

/** The token and the service of a request as they are written: the token alone where the service is the tenant, or there is none. */
export type PackedToken = string | readonly [token: string, service: string]

/** What `unpackedToken` reads. */
export function packedToken({ token, service }: Pick<Notice, 'token' | 'service'>, tenant: string): PackedToken {
  return service === undefined || service === '' || service === tenant ? token : [token, service]
}

/** Token and service; no service where there was none. */
export function unpackedToken(packed: PackedToken, tenant: string): readonly [token: string, service?: string] {
  if (typeof packed === 'object') return packed
  return tenant === '' ? [packed] : [packed, tenant]
}
