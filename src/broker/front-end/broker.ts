import type {
  DeliveryState,
  InspectedQueue,
  ReceiverPage,
  WhichReceivers,
} from '../../delivery/queue/courier-protocol.js'
import type { Entity, EntityId, EntityType, ServicePath, Tenant } from '../../model/context/entity.js'
import type { Page, PathRange, Query, Scope } from '../../model/context/query.js'
import type { ElementFailure, Origin, UpdateElement, UpdateReply } from '../../model/context/update.js'
import type { CoversNothing, ShownStatus, SubscriptionPatch } from '../../model/subscription/patch.js'
import type { Subscription, SubscriptionId } from '../../model/subscription/subscription.js'
import type { MailboxRefusal } from '../../partition/mailbox/batch.js'
import type { RawTarget, RawUpdateReply } from '../../partition/turn/commands.js'
import type { Result } from '../../result.js'
import type { ViewName, Views } from '../../storage/store/views/views.js'
import type { Client } from '../operations/api.js'
import type { StreamService } from './listening.js'
import type { RegistryService, SubscriptionState, SubscriptionUnknown, WhichSubscriptions } from './services.js'
import type { Unavailable } from './unavailable.js'

export type { SubscriptionState, SubscriptionUnknown, WhichSubscriptions } from './services.js'
export type { Unavailable } from './unavailable.js'

/** A type of entities with the names of their attributes, ascending [context 9]. */
export interface TypeSummary {
  readonly type: EntityType
  readonly entities: number
  readonly attributes: readonly string[]
  /** The types in use of each attribute, ascending, if they were asked for [NGSIv2 context 13]. */
  readonly attributeTypes?: readonly (readonly string[])[]
}

/** An update of one entity as it came. */
export interface RawUpdate extends RawUpdateHead {
  readonly id: EntityId
  readonly body: string
  /** Given for elements of NGSIv2, which are parsed as entities. */
  readonly target?: RawTarget | undefined
}

/** An update of many entities, each element as it came. */
export interface RawElements extends RawUpdateHead {
  readonly elements: readonly { readonly id: EntityId; readonly text: string }[]
  /** Of NGSIv2 only. */
  readonly target?: 'element' | undefined
}

/** A raw update without its payload. */
export interface RawUpdateHead {
  readonly tenant: Tenant
  readonly path: ServicePath
  /** Options for the partition's interpreter. */
  readonly flags: number
  readonly origin: Origin
}

export interface PartitionHealth {
  readonly total: number
  readonly ready: number
  readonly storageFull: boolean
}

/** A subscription as a client asks for it; the broker gives id, order and dates [subscriptions 2.1]. */
export interface SubscriptionRequest extends Omit<Subscription, 'id' | 'order' | 'expires'> {
  readonly duration_ms: number
  /** The request, which its initial notification tells of. */
  readonly origin: Origin
}

/** A subscription as a client of NGSIv2 asks for it; there is no initial notification [NGSIv2 subscriptions 3.1]. */
export type SilentSubscriptionRequest = Omit<Subscription, 'id' | 'order'>

/** Which subscriptions a list shows; those with a time-interval condition are in none [NGSIv2 subscriptions 3.2, 9]. */
export interface WhichPage {
  readonly tenant: Tenant
  /** Only those that are bound to exactly one of these paths; nothing for any. */
  readonly paths: readonly PathRange[] | undefined
  /** Only those that fit; nothing for all. */
  readonly filter?: SubscriptionFilter | undefined
  readonly offset: number
  readonly limit: number
}

/** What a client looks for among the subscriptions of its tenant: all conditions have to hold. */
export interface SubscriptionFilter {
  /** The beginning of the receiver's URL. */
  readonly url?: string | undefined
  /** An entity of this id, of this type, or of both, is one that the subscription means. */
  readonly entity?: EntityId | undefined
  readonly type?: EntityType | undefined
  /** A change of one of these triggers it. */
  readonly attributes?: readonly string[] | undefined
  /** As NGSIv2 shows it. */
  readonly status?: Exclude<ShownStatus, 'failed'> | undefined
}

/** A subscription with how its deliveries go. */
export interface ShownSubscription {
  readonly subscription: Subscription
  readonly delivery: DeliveryState
  /** Whether it is a oneshot that has fired. */
  readonly fired: boolean
}

/** A search of an operator over the subscriptions of all tenants: all conditions have to hold. */
export interface SubscriptionSearch extends WhichSubscriptions {
  readonly status?: ShownStatus | undefined
  /** A part of the URL of the receiver, without its secrets; in lower case. */
  readonly receiver?: string | undefined
  /** A part of whatever a subscription says; in lower case. */
  readonly text?: string | undefined
  /** Those that mean this entity of the tenant. */
  readonly about?: Entity | undefined
  readonly offset: number
  readonly limit: number
}

/** By creation. */
export interface SubscriptionPage {
  /** Of all, on whatever page. */
  readonly count: number
  readonly subscriptions: readonly ShownSubscription[]
}

/** A change of a subscription; members without a value stay as they are [subscriptions 2.2]. */
export interface SubscriptionChange {
  readonly tenant: Tenant
  readonly id: SubscriptionId
  readonly path: PathRange | undefined
  readonly duration_ms: number | undefined
  readonly throttling_ms: number | undefined
  /** Replaces all conditions and sends the current state anew. */
  readonly conditions: Pick<Subscription, 'onChange' | 'interval_ms'> | undefined
  /** Only for the notification that the same request sends. */
  readonly scopes: readonly Scope[] | undefined
  readonly origin: Origin
}

/** The index of subscriptions as operators see it [management 6.1]. */
export interface SubscriptionIndexState {
  /** How many there are. */
  readonly count: number
  /** By creation; no more than anybody shows: each scrape of the metrics would take all of them to another thread. */
  readonly firstIds: readonly SubscriptionId[]
  /** Changes since the reset or the start. */
  readonly changes: Readonly<Record<'refresh' | 'inserts' | 'removes' | 'updates', number>>
}

/** Subscriptions to changes of context, which have one owner; every front end asks it here. */
export interface SubscriptionService {
  /** Answers when the subscription is on disk with its initial notification, and in force in every partition. */
  subscribe(request: SubscriptionRequest): Promise<Result<SubscriptionId, Unavailable>>
  /** Answers when the subscription is on disk, and in force in every partition. */
  add(request: SilentSubscriptionRequest): Promise<Result<SubscriptionId, Unavailable>>
  /** Answers when the change is on disk, and in force in every partition. */
  patch(patch: SubscriptionPatch): Promise<Result<undefined, SubscriptionUnknown | CoversNothing | Unavailable>>
  /** A page of those without a time-interval condition, by creation. */
  page(which: WhichPage): Promise<Result<SubscriptionPage, Unavailable>>
  /** The subscription of an id; in NGSIv2, which has no time-interval conditions, none that has one. */
  one(
    tenant: Tenant,
    id: SubscriptionId,
    of: 'ngsi1' | 'ngsi2',
  ): Promise<Result<ShownSubscription | undefined, Unavailable>>
  /** Answers when the change is on disk, and in force in every partition. */
  change(change: SubscriptionChange): Promise<Result<undefined, SubscriptionUnknown | Unavailable>>
  /** After its response no notification starts any more. */
  unsubscribe(tenant: Tenant, id: SubscriptionId): Promise<Result<undefined, SubscriptionUnknown | Unavailable>>
  /** A page of those that an operator looks for, also those with a time-interval condition. */
  search(which: SubscriptionSearch): Promise<SubscriptionPage>
  /** The delivery queue of a subscription, with its failed attempts. */
  inspected(id: SubscriptionId): Promise<InspectedQueue>
  /** A page of the receivers of all subscriptions of either kind. */
  receivers(which: WhichReceivers): Promise<ReceiverPage>
  /** All subscriptions, those of one tenant, or the one of an id; by creation. */
  states(which: WhichSubscriptions): Promise<readonly SubscriptionState[]>
  /** The index; with `reset` its changes count from zero afterwards. */
  index(reset: boolean): Promise<SubscriptionIndexState>
}

/** The operations of the service, for callers behind a port. */
export const subscriptionServiceOperations = {
  subscribe: 'ask',
  add: 'ask',
  change: 'ask',
  patch: 'ask',
  unsubscribe: 'ask',
  states: 'ask',
  page: 'ask',
  one: 'ask',
  search: 'ask',
  inspected: 'ask',
  receivers: 'ask',
  index: 'ask',
} as const

/** Entities of an id, of one type or of every type. */
export interface EntityNamed {
  readonly id: EntityId
  readonly type: EntityType | undefined
}

/** The entities that one request reads, from snapshots. The owner of each partition is asked once how far it is, however many there are. */
export interface EntityReads {
  /** Asks the owners of these ids together, where they were not asked yet. */
  prepare(ids: Iterable<EntityId>): Promise<Result<undefined, Unavailable>>
  /** The entities of one id, of one type or of every type, oldest first. What was not prepared is asked for now. */
  of(named: EntityNamed): Promise<Result<readonly Entity[], Unavailable>>
}

/** The operations behind the interfaces; one per front end. */
export interface Broker {
  /**
   * Applies the elements, each in its partition, and answers when all are on disk: one reply per element, in their
   * order. Elements of one entity are applied in their order.
   */
  update(elements: readonly UpdateElement[], client?: Client): Promise<Result<readonly UpdateReply[], Unavailable>>
  /** Has the partition of an id parse, apply and answer an update as it came. */
  rawUpdate(update: RawUpdate, client?: Client): Promise<Result<RawUpdateReply, Unavailable>>
  /**
   * Has the partition of each element parse, apply and answer it: its reply, or why it has none, in their order. Refuses before
   * anything is carried out when there is no room for all of them, or no partition for some.
   */
  rawElements(
    update: RawElements,
    client?: Client,
  ): Promise<Result<readonly (RawUpdateReply | ElementFailure)[], MailboxRefusal>>
  /** The entities of one id, of one type or of every type, oldest first, from a snapshot. */
  entities(
    tenant: Tenant,
    paths: readonly PathRange[],
    id: EntityId,
    type: EntityType | undefined,
    client: Client,
  ): Promise<Result<readonly Entity[], Unavailable>>
  /** Reads for one request of many entities. */
  reads(tenant: Tenant, paths: readonly PathRange[], client: Client): EntityReads
  /** The service paths in which entities of each id are, of one type or of every type, in the order of what is asked. */
  pathsOf(
    tenant: Tenant,
    paths: readonly PathRange[],
    named: readonly EntityNamed[],
    client: Client,
  ): Promise<Result<readonly (readonly ServicePath[])[], Unavailable>>
  /**
   * The entities of an id, of every type, if they were read lately and have not changed since. It is the same array for as long as that
   * holds.
   */
  recentEntities(tenant: Tenant, paths: readonly PathRange[], id: EntityId): readonly Entity[] | undefined
  /** One page of what a query matches, in its order over all partitions. A scan ends when its client has gone. */
  query(query: Query, client: Client): Promise<Result<Page, Unavailable>>
  /** The types of the entities in these paths, ascending, the one of entities without type last; with those of their attributes on request. */
  types(
    tenant: Tenant,
    paths: readonly PathRange[],
    client: Client,
    isDetailed?: boolean,
  ): Promise<Result<readonly TypeSummary[], Unavailable>>
  /** A view for the console of all partitions and tenants. */
  view<Name extends ViewName>(
    name: Name,
    request: Views[Name]['request'],
    client: Client,
  ): Promise<Result<Views[Name]['found'], Unavailable>>
  readonly subscriptions: SubscriptionService
  readonly registry: RegistryService
  readonly listening: StreamService
  /** Asks every partition for a sign of life, with a time limit of one second. */
  health(): Promise<PartitionHealth>
}
