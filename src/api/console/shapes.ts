/**
 * What resources of the management send to the console's page, as JSON; `live-frame.ts` has what `GET /admin/live` sends. The broker's
 * views return these types and the page takes them as they are: a page of another version is told to load itself again.
 * Dates are texts, and what never happened is absent. Nothing here runs, and nothing is imported.
 */

/** `GET /console/access.json`: what a browser has to know of a broker before it reads anything. */
export interface ConsoleFacts {
  readonly needsToken: boolean
  /** Such a broker has a page more. */
  readonly ofCluster: boolean
}

/** `GET /health/ready`. */
export interface ReadyState {
  readonly status: string
}

/** `GET /admin/config`. */
export interface Configuration {
  readonly version: string
  /** 40 hexadecimal digits or `nogitversion`. */
  readonly gitHash: string
  /** Versions by name. */
  readonly libraries: Readonly<Record<string, string>>
  readonly dataFolder: {
    readonly path: string
    readonly format: number
    readonly partitions: number
    readonly used_bytes: number
  }
  /** The numbers of the trace levels, by the names of their areas. */
  readonly traceAreas: Readonly<Record<string, number>>
  readonly settings: readonly ShownSetting[]
}

/** A flag, as it is set. */
export interface ShownSetting {
  /** With its dash. */
  readonly flag: string
  /** `***` for what is secret. */
  readonly value: string
  /** `command line`, `default` or the name of a variable. */
  readonly source: string
  readonly byDefault: string
  /** What values it takes, as the help shows them. */
  readonly takes: string
  readonly meaning: string
  readonly group: string
}

/** `GET /admin/slow`: the last slow requests, the latest first. */
export interface SlowList {
  /** What takes longer is kept, in milliseconds; 0 when nothing is. */
  readonly above: number
  readonly requests: readonly ShownSlowRequest[]
}

export interface ShownSlowRequest {
  readonly time_ms: number
  readonly method: string
  readonly route: string
  readonly status: number
  readonly request_bytes: number
  readonly duration_ms: number
  readonly stages_ms: Readonly<Record<string, number>>
  /** How many partitions it asked, and the one of them whose times are shown. */
  readonly partitions: number
  readonly partition?: number | undefined
  /** As much of the commit as it took until the record was on disk. */
  readonly log_ms?: number | undefined
  readonly tenant: string
  readonly correlator: string
}

/** `GET /admin/metrics`: by tenant and path, since the metrics were reset. */
export interface ServiceMetrics {
  readonly services: Readonly<Record<string, { readonly subservs: Readonly<Record<string, ServiceCounts>> }>>
}

/** What is zero is absent. */
export interface ServiceCounts {
  readonly incomingTransactions?: number | undefined
  readonly incomingTransactionErrors?: number | undefined
  readonly incomingTransactionRequestSize?: number | undefined
  /** On average, in seconds. */
  readonly serviceTime?: number | undefined
  readonly outgoingTransactions?: number | undefined
}

/** `GET /admin/tenants`: the tenants that have entities, those with most first. */
export interface TenantList {
  readonly count: number
  readonly tenants: readonly ShownTenant[]
}

/** A tenant, the empty text for the one without name. */
export interface ShownTenant {
  readonly service: string
  readonly entities: number
  readonly types: number
  readonly servicePaths: number
}

/** `GET /admin/types`: types by tenant and path, those with most entities first. */
export interface TypeList {
  /** Of all that fit, on whatever page. */
  readonly count: number
  readonly entities: number
  readonly types: readonly ShownType[]
}

/** A type of entities in a path of a tenant; the empty text for entities without type. */
export interface ShownType {
  readonly service: string
  readonly servicePath: string
  readonly type: string
  readonly entities: number
  /** The names that most have, each with the number of entities that have it. */
  readonly attributes: Readonly<Record<string, number>>
  readonly attributeNames: number
}

/** A page of `GET /admin/entities`, and where to go on. */
export interface EntityList {
  readonly entities: readonly ShownEntityRow[]
  /** What `after` says for the next page; absent at the end. A page may be short, or empty, and yet there is more. */
  readonly next?: string | undefined
  /** Of the first page: how many there are, where that is known without a scan and was not refused. */
  readonly total?: { readonly count: number; readonly exact: boolean } | undefined
}

/** An entity in a list. */
export interface ShownEntityRow {
  readonly id: string
  readonly type: string
  readonly servicePath: string
  readonly created: string
  readonly modified: string
  /** How many attributes it has, and the first names. */
  readonly attributes: number
  readonly names: readonly string[]
  /** Longitude and latitude. */
  readonly location?: readonly [number, number] | undefined
}

/** `GET /admin/entities/points`: longitudes and latitudes in turn. */
export interface PointList {
  readonly points: readonly number[]
  /** How many more there are in the area, about. */
  readonly beyond: number
}

/** `GET /admin/entities/{id}`: entities of one id, whole. */
export interface WholeEntities {
  readonly entities: readonly WholeEntity[]
  /** Entities of the id that are not shown. */
  readonly more: number
}

/** An entity with all instances of its attributes, and who it concerns. */
export interface WholeEntity {
  readonly id: string
  readonly type: string
  readonly service: string
  readonly servicePath: string
  readonly created: string
  readonly modified: string
  readonly attributes: readonly WholeAttribute[]
  /** Subscriptions that mean it, by creation. */
  readonly subscriptions: { readonly count: number; readonly ids: readonly string[] }
  /** Registrations whose providers are asked for it. */
  readonly registrations: readonly { readonly id: string; readonly provider: string }[]
}

/** One instance of an attribute. */
export interface WholeAttribute {
  readonly name: string
  /** Its metadata `ID`; the empty text without it. */
  readonly instance: string
  readonly type: string
  readonly value: unknown
  readonly isLocation: boolean
  readonly metadata: readonly { readonly name: string; readonly type: string; readonly value: unknown }[]
  readonly created: string
  readonly modified: string
}

/** A page of `GET /admin/receivers`, those for which most waits first. */
export interface ReceiverList {
  /** Of all that fit, on whatever page. */
  readonly count: number
  readonly receivers: readonly ShownReceiver[]
}

/** Of a receiver that nothing was sent to since the start, what happened is absent. */
export interface ShownReceiver {
  /** Scheme, host and port, or MQTT broker; without secrets. */
  readonly receiver: string
  readonly subscriptions: number
  /** The first of them. */
  readonly ids: readonly string[]
  readonly underWay: number
  readonly queueDepth: number
  readonly queueBytes: number
  readonly oldestQueued?: string | undefined
  /** When the first of its subscriptions that pause is tried again. */
  readonly nextAttempt?: string | undefined
  readonly accepted?: number | undefined
  readonly failed?: number | undefined
  /** How long attempts took lately, on average, and the last one. */
  readonly meanLatency_ms?: number | undefined
  readonly lastLatency_ms?: number | undefined
  readonly lastSuccess?: string | undefined
  readonly lastFailure?: string | undefined
  readonly lastFailureReason?: string | undefined
}

/** A page of `GET /admin/registrations`. */
export interface RegistrationList {
  readonly count: number
  readonly registrations: readonly ShownRegistration[]
}

/** A registration as it is stored, with how the calls of its providers went since the broker began; secrets of URLs are hidden. */
export interface ShownRegistration {
  readonly id: string
  readonly service?: string | undefined
  readonly servicePath: string
  readonly description?: string | undefined
  readonly status: 'active' | 'inactive' | 'expired'
  readonly mode: string
  readonly legacy: boolean
  readonly expires?: string | undefined
  readonly copiedFrom?: string | undefined
  readonly contexts: readonly ShownContext[]
  readonly calls: number
  readonly failures: number
  readonly lastCall?: string | undefined
  readonly lastFailure?: string | undefined
  readonly lastFailureReason?: string | undefined
}

/** What a provider answers for. */
export interface ShownContext {
  readonly entities: readonly { readonly id: string; readonly type: string }[]
  /** Empty when the provider answers for the whole entity. */
  readonly attributes: readonly { readonly name: string }[]
  readonly provider: string
}

/** A page of `GET /admin/subscriptions` with details. */
export interface SubscriptionList {
  readonly count: number
  readonly subscriptions: readonly SubscriptionDetails[]
}

/** A subscription in a list: how its deliveries go. */
export interface SubscriptionRow {
  readonly id: string
  readonly service?: string | undefined
  readonly servicePath: string
  readonly reference: string
  readonly expires?: string | undefined
  /** In seconds. */
  readonly throttling?: number | undefined
  readonly status: string
  readonly timesSent: number
  readonly lastNotification?: string | undefined
  readonly lastSuccess?: string | undefined
  readonly lastSuccessCode?: number | undefined
  readonly lastFailure?: string | undefined
  readonly lastFailureReason?: string | undefined
  readonly failsCounter: number
  readonly queueDepth: number
  readonly queueBytes: number
  readonly oldestQueued?: string | undefined
  readonly nextAttempt?: string | undefined
  readonly discarded: number
}

/** The same with what it is about, and how it notifies. */
export interface SubscriptionDetails extends SubscriptionRow {
  readonly description?: string | undefined
  /** Which entities, and what fires it, as NGSIv2 shows it. */
  readonly subject: {
    readonly entities: readonly SubscribedEntities[]
    readonly condition: { readonly attrs: readonly string[] }
  }
  readonly notification: NotificationDetails
  /** Seconds between two notifications, of one with a time-interval condition. */
  readonly interval?: number | undefined
}

export interface SubscribedEntities {
  readonly id?: string | undefined
  readonly idPattern?: string | undefined
  readonly type?: string | undefined
  readonly typePattern?: string | undefined
}

interface NotificationDetails {
  readonly attrs?: readonly string[]
  readonly exceptAttrs?: readonly string[]
  readonly attrsFormat: string
  readonly metadata: readonly string[]
  readonly onlyChangedAttrs: boolean
  readonly covered: boolean
  readonly maxFailsLimit?: number | undefined
  readonly kind: 'http' | 'mqtt'
  readonly isCustom: boolean
}

/** `GET /admin/subscriptions/{id}` with details: as it is stored, with its template, without secrets. */
export interface WholeSubscription extends SubscriptionDetails {
  readonly target: object
  readonly queue: {
    /** Why nothing is begun now, if something waits. */
    readonly state: string
    readonly underWay: number
  }
  /** The last failed attempts since the courier began, the newest first. */
  readonly lastFailures: readonly { readonly at: string; readonly reason: string }[]
}

/** `GET /admin/subscriptions/{id}/explain`. */
export interface ExplanationList {
  readonly subscription: string
  readonly entities: readonly Explanation[]
  /** Entities that are not explained. */
  readonly more: number
}

/** Whether a change of an entity would be notified, and each condition of that. */
export interface Explanation {
  readonly id: string
  readonly type: string
  readonly servicePath: string
  /** Whether a notice would be made now; whether it is sent at once is what the last conditions say. */
  readonly wouldNotify: boolean
  /** Why not, in the words of the trace. */
  readonly why?: string | undefined
  readonly conditions: readonly ExplainedCondition[]
}

/** One condition of a subscription: what it asks, what there is, and whether that fits. */
export interface ExplainedCondition {
  readonly condition: string
  readonly fits: boolean
  readonly asked: unknown
  readonly held: unknown
}

/** `GET /admin/waits` with details; nothing but that it is off while waits are not measured. */
export interface WaitList {
  readonly enabled: boolean
  /** For how long counting has gone on: seconds. */
  readonly interval?: string | undefined
  readonly waits?: KindsOfWaits | undefined
}

/** The waits by the resources that requests wait for. */
export type KindsOfWaits = Readonly<Record<'request' | 'mailbox' | 'transaction' | 'dbConnectionPool', KindOfWait>>

/** Waits for one resource: durations are seconds with nine decimals, as texts, so that no digit is lost. */
export interface WaitsOf {
  readonly count: number
  readonly waited: number
  readonly total: string
  readonly max: string
  readonly p50: string
  readonly p90: string
  readonly p99: string
  readonly p999: string
}

/** Waits for one resource, and for it in each partition, if each has one. */
export interface KindOfWait extends WaitsOf {
  readonly partitions?: readonly PartitionWaits[] | undefined
}

export type PartitionWaits = WaitsOf & { readonly partition: number }

/** `GET /admin/cluster`. */
export interface ClusterView {
  readonly cluster: string
  readonly prefix: string
  /** The node that was asked. */
  readonly node?: string | undefined
  readonly coordinator?: string | undefined
  /** Of a cluster of several nodes: how this one reads. */
  readonly reads?: string | undefined
  readonly nodes: readonly NodeView[]
  readonly partitions: readonly ClusterPartition[]
}

/** What only members have is absent of others. */
export interface NodeView {
  readonly name: string
  readonly slot: number
  readonly isMember: boolean
  readonly owns: readonly number[]
  /** Until its lease ends unless it is renewed. */
  readonly leaseLeft_s?: number | undefined
  readonly isLeaving?: boolean | undefined
  readonly address?: string | undefined
  /** Others that it can not reach. */
  readonly unreachable?: readonly string[] | undefined
}

export interface ClusterPartition {
  readonly partition: number
  readonly owner?: string | undefined
  /** The record by which its owner claimed the log. */
  readonly since?: number | undefined
  /** The last record of its log. */
  readonly last: number
  /** The records that a node would have to apply if it were started now. */
  readonly copies: readonly { readonly node: string; readonly behind: number }[]
}

/** `GET /log/trace`. */
export interface TraceLevels {
  /** Numbers and ranges of them, as `1-3, 7`; `empty` for none. */
  readonly tracelevels: string
}

/** `GET /admin/log`. */
export interface LogLevelState {
  readonly level: string
}

/** `GET /log/verbose`. */
export interface VerbosityState {
  readonly verboseLevel: string
}

/** The event `skipped` of `GET /admin/log/tail`. */
export interface SkippedLines {
  readonly lines: number
}
