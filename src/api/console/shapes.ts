/**
 * The JSON that resources of the management interface send to the console's page; `live-frame.ts` has that of `GET /admin/live`.
 * The broker's views return these types, and the page trusts them: a page of another version is told to reload itself. Dates are
 * texts; what never happened is absent. This file has types only and imports nothing.
 */

/** `GET /console/access.json`: the facts that a browser needs before it reads anything else. */
export interface ConsoleFacts {
  readonly needsToken: boolean
  /** Whether the broker is in a cluster: its console has one page more. */
  readonly ofCluster: boolean
  /** The resources below `/admin/` that everybody may read. */
  readonly openReads: readonly string[]
  /** Whether this request comes from where everything may be read, or a token decides that. */
  readonly mayReadAll: boolean
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
  /** The numbers of the trace levels, by area name. */
  readonly traceAreas: Readonly<Record<string, number>>
  readonly settings: readonly ShownSetting[]
}

/** The setting of a flag. */
export interface ShownSetting {
  /** With its dash. */
  readonly flag: string
  /** The value in force; `***` for secrets. */
  readonly value: string
  /**
   * `command line`, `default`, the name of a variable, `data folder`, another flag that means the same, or `changed while
   * running`.
   */
  readonly source: string
  /** The value at the start; only of a setting that was changed while the broker runs. */
  readonly atStart?: string
  readonly byDefault: string
  /** The values that it takes, as the help shows them. */
  readonly takes: string
  readonly meaning: string
  readonly group: string
}

/** `GET /admin/slow`: the last slow requests, the latest first. */
export interface SlowList {
  /** The threshold in milliseconds above which requests are recorded; 0 for none. */
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
  /** The number of partitions asked, and the slowest one, whose times are shown. */
  readonly partitions: number
  readonly partition?: number | undefined
  /** The part of the commit until the record was durable. */
  readonly log_ms?: number | undefined
  readonly tenant: string
  readonly correlator: string
}

/** `GET /admin/metrics`: by tenant and path, since the metrics were reset. */
export interface ServiceMetrics {
  readonly services: Readonly<Record<string, { readonly subservs: Readonly<Record<string, ServiceCounts>> }>>
}

/** Zeros are absent. */
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

/** A tenant; empty for the default one. */
export interface ShownTenant {
  readonly service: string
  readonly entities: number
  readonly types: number
  readonly servicePaths: number
}

/** `GET /admin/types`: types by tenant and path, those with most entities first. */
export interface TypeList {
  /** The number of all matching types, on all pages. */
  readonly count: number
  readonly entities: number
  readonly types: readonly ShownType[]
}

/** A type of entities in a path of a tenant; empty for entities without type. */
export interface ShownType {
  readonly service: string
  readonly servicePath: string
  readonly type: string
  readonly entities: number
  /** The most common names, each with the number of entities that have it. */
  readonly attributes: Readonly<Record<string, number>>
  readonly attributeNames: number
}

/** A page of `GET /admin/entities`. */
export interface EntityList {
  readonly entities: readonly ShownEntityRow[]
  /** The cursor (`after`) of the next page; absent at the end. A page may be short, or empty, although more follow. */
  readonly next?: string | undefined
  /** On the first page: the total, if it is known without a scan and was not declined. */
  readonly total?: { readonly count: number; readonly exact: boolean } | undefined
}

/** An entity in a list. */
export interface ShownEntityRow {
  readonly id: string
  readonly type: string
  readonly servicePath: string
  readonly created: string
  readonly modified: string
  /** The number of its attributes; `names` are the first ones. */
  readonly attributes: number
  readonly names: readonly string[]
  /** Longitude and latitude. */
  readonly location?: readonly [number, number] | undefined
}

/** `GET /admin/entities/points`: alternating longitudes and latitudes. */
export interface PointList {
  readonly points: readonly number[]
  /** About how many more there are in the area. */
  readonly beyond: number
}

/** `GET /admin/entities/{id}`: the entities of one id, with all attributes. */
export interface WholeEntities {
  readonly entities: readonly WholeEntity[]
  /** The number of entities of the id that are not shown. */
  readonly more: number
}

/** An entity with all instances of its attributes, its subscriptions and registrations. */
export interface WholeEntity {
  readonly id: string
  readonly type: string
  readonly service: string
  readonly servicePath: string
  readonly created: string
  readonly modified: string
  readonly attributes: readonly WholeAttribute[]
  /** The subscriptions to it, in the order of creation. */
  readonly subscriptions: { readonly count: number; readonly ids: readonly string[] }
  /** The registrations whose providers are asked for it. */
  readonly registrations: readonly { readonly id: string; readonly provider: string }[]
}

/** One instance of an attribute. */
export interface WholeAttribute {
  readonly name: string
  /** Its metadata `ID`; empty without it. */
  readonly instance: string
  readonly type: string
  readonly value: unknown
  readonly isLocation: boolean
  readonly metadata: readonly { readonly name: string; readonly type: string; readonly value: unknown }[]
  readonly created: string
  readonly modified: string
}

/** A page of `GET /admin/receivers`, those with most waiting notices first. */
export interface ReceiverList {
  /** The number of all matching receivers, on all pages. */
  readonly count: number
  readonly receivers: readonly ShownReceiver[]
}

/** For a receiver without attempts since the start, the results are absent. */
export interface ShownReceiver {
  /** Scheme, host and port, or MQTT broker; without secrets. */
  readonly receiver: string
  readonly subscriptions: number
  /** Some of its subscriptions. */
  readonly ids: readonly string[]
  readonly underWay: number
  readonly queueDepth: number
  readonly queueBytes: number
  readonly oldestQueued?: string | undefined
  /** When the first of its paused subscriptions is tried again. */
  readonly nextAttempt?: string | undefined
  readonly accepted?: number | undefined
  readonly failed?: number | undefined
  /** The average duration of recent attempts, and that of the last one. */
  readonly meanLatency_ms?: number | undefined
  readonly lastLatency_ms?: number | undefined
  readonly lastSuccess?: string | undefined
  readonly lastFailure?: string | undefined
  readonly lastFailureReason?: string | undefined
}

/** `GET /admin/alarms`: the newest active ones. */
export interface AlarmList {
  /** By kind: active now, and raised since the start of the broker. */
  readonly counts: Readonly<Record<string, { readonly active: number; readonly raised: number }>>
  readonly alarms: readonly ShownAlarm[]
}

export interface ShownAlarm {
  readonly kind: string
  /** An address or URL without secrets; absent where the kind says it all. */
  readonly subject?: string | undefined
  readonly since: string
  /** How often its condition has occurred, and when last. */
  readonly occurrences: number
  readonly last: string
  /** The reason of the last occurrence. */
  readonly reason: string
  /** Whether the condition is over, and the release is held for a while. */
  readonly isOver: boolean
}

/** A page of `GET /admin/registrations`. */
export interface RegistrationList {
  readonly count: number
  readonly registrations: readonly ShownRegistration[]
}

/** A registration as it is stored, with the calls of its providers since the start of the broker; secrets in URLs are hidden. */
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

/** A registered context. */
export interface ShownContext {
  readonly entities: readonly { readonly id: string; readonly type: string }[]
  /** Empty when the provider has the whole entity. */
  readonly attributes: readonly { readonly name: string }[]
  readonly provider: string
}

/** A page of `GET /admin/subscriptions` with details. */
export interface SubscriptionList {
  readonly count: number
  readonly subscriptions: readonly SubscriptionDetails[]
}

/** A subscription in a list, with the state of its deliveries. */
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

/** A subscription with its subject and its notification. */
export interface SubscriptionDetails extends SubscriptionRow {
  readonly description?: string | undefined
  /** Its entities and triggers, as NGSIv2 shows them. */
  readonly subject: {
    readonly entities: readonly SubscribedEntities[]
    readonly condition: { readonly attrs: readonly string[] }
  }
  readonly notification: NotificationDetails
  /** Seconds between two notifications, for a time-interval condition. */
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
    /** Why no attempt is begun now, if notices wait. */
    readonly state: string
    readonly underWay: number
  }
  /** The last attempts since the courier started, the newest first. */
  readonly attempts: readonly ShownAttempt[]
}

/** An attempt to notify that has ended. */
export interface ShownAttempt {
  readonly at: string
  readonly duration_ms: number
  readonly result: 'accepted' | 'trouble' | 'refused'
  readonly status?: number
  /** Why there was no response. */
  readonly reason?: string
  /** The start of the body of the response. */
  readonly response?: string
}

/** `GET /admin/subscriptions/{id}/explain`. */
export interface ExplanationList {
  readonly subscription: string
  readonly entities: readonly Explanation[]
  /** The number of entities that are not explained. */
  readonly more: number
}

/** Whether a change of an entity would be notified, with each condition. */
export interface Explanation {
  readonly id: string
  readonly type: string
  readonly servicePath: string
  /** Whether a notice would be made now and sent at once. */
  readonly wouldNotify: boolean
  /** Why not: in the words of the trace, or what holds the delivery up. */
  readonly why?: string | undefined
  readonly conditions: readonly ExplainedCondition[]
}

/** One condition of a subscription: what it requires, what the entity has, and whether that fits. */
export interface ExplainedCondition {
  readonly condition: string
  readonly fits: boolean
  readonly required: unknown
  readonly held: unknown
}

/** `GET /admin/waits` with details; only a note while waits are not measured. */
export interface WaitList {
  readonly enabled: boolean
  /** The duration of the measurement in seconds. */
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

/** Waits for one resource in all, and per partition if there is one for each. */
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
  /** How this node reads, in a cluster of several nodes. */
  readonly reads?: string | undefined
  readonly nodes: readonly NodeView[]
  readonly partitions: readonly ClusterPartition[]
}

/** Members that only running nodes have are absent for others. */
export interface NodeView {
  readonly name: string
  readonly slot: number
  readonly isMember: boolean
  readonly owns: readonly number[]
  /** The remaining time of its lease unless it is renewed. */
  readonly leaseLeft_s?: number | undefined
  readonly isLeaving?: boolean | undefined
  readonly address?: string | undefined
  /** The nodes that it cannot reach. */
  readonly unreachable?: readonly string[] | undefined
}

export interface ClusterPartition {
  readonly partition: number
  readonly owner?: string | undefined
  /** The election record of its owner. */
  readonly since?: number | undefined
  /** The last record of its log. */
  readonly last: number
  /** For each node, the number of records that it would have to apply if it were started now. */
  readonly replicas: readonly { readonly node: string; readonly behind: number }[]
}

/** `GET /log/trace`. */
export interface TraceLevels {
  /** Numbers and ranges, as in `1-3, 7`; `empty` for none. */
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
