import type { MessagePort } from 'node:worker_threads'
import { type SubscriptionService, subscriptionServiceOperations } from '../broker/services/broker.js'
import { type ClusterService, clusterOperations } from '../broker/services/cluster-status.js'
import {
  type BackupService,
  backupOperations,
  type CopyService,
  copyOperations,
  type RegistryService,
  registryServiceOperations,
} from '../broker/services/services.js'
import { coordinatorOperations, type SharingService } from '../broker/services/shared-control.js'
import type { LinkSecurity } from '../cluster/link/link-security.js'
import type { LinkSelf } from '../cluster/link/node-listener.js'
import type { NodeAddress } from '../cluster/membership/route-table.js'
import type { CourierStart } from '../delivery/queue/courier-protocol.js'
import type { PackedRecipients } from '../delivery/queue/packed-recipients.js'
import type { ApiKey } from '../flags/api-keys.js'
import type { Setting } from '../flags/command-line.js'
import type { NotificationOptions, Options } from '../flags/settings.js'
import type { ListenAddress } from '../http/listen.js'
import type { Tls } from '../http/listener.js'
import type { HttpMemory } from '../http/server.js'
import type { EntityLimits } from '../model/context/entity-size.js'
import type { Registration, RegistrationChange } from '../model/registration/registration.js'
import type { PackedWithClocks } from '../model/subscription/clocks.js'
import type { Subscription } from '../model/subscription/subscription.js'
import type { AlarmReport } from '../observe/log/alarms.js'
import type { MeasureMemory } from '../observe/measure/measures.js'
import type { LogLinkEnd } from '../storage/etcd/log-link.js'
import type { ReadMode, Route } from '../storage/etcd/node-facts.js'
import type { Operations } from '../threads/calls/service.js'
import type { Packed } from '../threads/shared-memory/packed.js'
import type { TransactionMemory } from '../threads/shared-memory/sequences.js'
import type { ClockStart } from '../time.js'
import type { TemplateSettings } from './message-rendering.js'

/** What the threads in `workers/` are handed to begin with: plain data, memory that is shared, ports. */

/** How the partitions lie on disk and how they are opened, the same for every thread. */
export interface StoragePlan {
  /** The folder of each partition, in the order of their numbers. */
  readonly paths: readonly string[]
  readonly sizeMax_bytes: number
  readonly keepFree_bytes: number
  readonly durable: boolean
  readonly maxReaders: number
}

/** Memory that threads share. */
export interface SharedMemory extends HttpMemory {
  readonly measures: MeasureMemory
  /** Each partition's versions of what has changed, see `Versions`. */
  readonly versions: readonly SharedArrayBuffer[]
  /** Each partition's pool of read handles. */
  readonly pools: readonly SharedArrayBuffer[]
  /** Rung when there are new notices in an outbox, see `Bell`. */
  readonly bell: SharedArrayBuffer
  /** Where nothing may connect to that clients cause, see `ProtectedEndpoints`. */
  readonly endpoints: SharedArrayBuffer
  /** How many requests wait for providers, see `ForwardLimit`. */
  readonly forwards: SharedArrayBuffer
  /** How the alarms stand, see `AlarmReports`. */
  readonly alarms: SharedArrayBuffer
  /** How many look at the broker, see `ViewerLimit`. */
  readonly viewers: SharedArrayBuffer
  /** The room for commands before each partition, see `MailboxCapacity`. */
  readonly rooms: readonly SharedArrayBuffer[]
}

/** What the threads of one broker have in common. */
export interface BrokerPlan {
  readonly storage: StoragePlan
  readonly memory: SharedMemory
  readonly transactions: TransactionMemory
  /** Names this broker in what it sends [subscriptions 8.4]. */
  readonly brokerId: string
  /** For how long a thread may stand still; 0 is for ever. */
  readonly threadSilence_s: number
}

export interface PartitionTask extends Pick<BrokerPlan, 'storage' | 'memory'> {
  readonly partition: number
  /** Bytes of the records that are kept in memory. */
  readonly entityCache_bytes: number
  readonly limits: EntityLimits
  readonly templates: TemplateSettings
  /** Those that are in force from the start. */
  readonly subscriptions: PackedWithClocks<Subscription>
  /** Of a broker that is of a cluster: the way to the partition's log. */
  readonly logLink?: LogLinkEnd | undefined
  /** On a node of a cluster: how far the partition is here, see `PartitionPosition`. */
  readonly position?: SharedArrayBuffer | undefined
  /** See `ReplicaState`. */
  readonly awaitsOwner?: boolean
}

export interface QueryThreadData extends Pick<BrokerPlan, 'storage' | 'memory'> {
  /** The first row of the query threads of this front end, in the measures. */
  readonly row: number
  /** Of the results of a query. */
  readonly page_bytes: number
  /** See `PoolThreads`. */
  readonly members: SharedArrayBuffer
  /** See `ScanStops`. */
  readonly stops: SharedArrayBuffer
}

export interface FrontEndTask extends BrokerPlan {
  /** Its number; the first one runs in the main thread. */
  readonly frontEnd: number
  readonly options: Options
  /** What the options were made of, to be shown. */
  readonly settings: readonly Setting[]
  /** The keys of the interfaces for clients; nothing where none is needed. */
  readonly apiKeys: readonly ApiKey[] | undefined
  /** How large the heaps of its query threads may grow. */
  readonly queryHeap_MiB: number
  readonly sequences: SharedArrayBuffer
  /** On a node of a cluster. */
  readonly nodes?: FrontNodes | undefined
  /** The listening socket that the first one has opened, for the others. */
  readonly fd?: number | undefined
}

/** What a front end of a node knows of the others to begin with. */
export interface FrontNodes {
  /** How far each partition is here, see `PartitionPosition`. */
  readonly positions: readonly SharedArrayBuffer[]
  /** How far the metadata log is on this node. */
  readonly controlPosition: SharedArrayBuffer
  readonly reads: ReadMode
  readonly routes: readonly Route[]
  /** Where the other members listen. */
  readonly others: readonly NodeAddress[]
  /** Where nodes ask each other. */
  readonly link: FrontLink
}

/** How a front end reaches other nodes, and is reached by them. */
export interface FrontLink {
  readonly self: LinkSelf
  /** The number of this node in the cluster. */
  readonly slot: number
  readonly security: LinkSecurity
  /** Shared by all front ends, see `SenderTable`. */
  readonly senders: SharedArrayBuffer
  /** To listen on, or the socket that the first front end has opened. */
  readonly where: ListenAddress
}

/** What a front end in a thread of its own has of the main thread. */
export interface FrontPorts {
  /** What there is to look at for those who look at the broker. */
  readonly feeds: MessagePort
  /** What was registered when the thread was started. */
  readonly registrations: Packed<Registration>
}

export interface CourierTask extends BrokerPlan {
  /** The folder of the coordinator's own environment, which holds an outbox as well. */
  readonly controlPath: string
  /** The subscriptions of either kind that there are. */
  readonly recipients: PackedRecipients
  readonly begun: CourierStart
  readonly options: NotificationOptions
  /** When the process was started. */
  readonly clock: ClockStart
  /** On a node of a cluster: whether each partition is its own, see `PartitionPosition`; then whether it coordinates. */
  readonly positions?: readonly SharedArrayBuffer[] | undefined
}

/** Every thread's task comes with a port to the main thread, and one for its log lines. */
export interface ThreadPorts {
  /** See `parkWhenTold`. */
  readonly parking: MessagePort
  readonly control: MessagePort
  readonly log: MessagePort
}

/** The one of a numbered kind; there is one for every number that a task names. */
export function numbered<Thing>(things: readonly Thing[], number: number): Thing {
  const thing = things[number]
  if (thing === undefined) throw new Error(`nothing has the number ${number}`)
  return thing
}

/** What the main thread has the thread of a front end do, which begins with most of it when it accepts. */
export interface FrontOperations {
  /** Answers when the front end accepts. */
  opened(): Promise<void>
  connect(partition: number, port: MessagePort): void
  /** Brings changes into force in the index of the registry, also before it accepts. */
  registrations(changes: readonly RegistrationChange[]): Promise<void>
  useTls(tls: Tls): void
  useKeys(keys: readonly ApiKey[]): void
  /** Who owns which partition of a cluster, and where the other members listen. */
  route(routes: readonly Route[], others: readonly NodeAddress[]): void
  /** The courier is at this port, for clients that listen to subscriptions. */
  connectStreams(port: MessagePort): void
  /** Gives the number of requests that were given up at the limit; the thread ends then. */
  stop(limit_ms: number): Promise<number>
}

export const frontOperations: Operations<FrontOperations> = {
  opened: 'asked',
  connect: 'told',
  registrations: 'asked',
  useTls: 'told',
  useKeys: 'told',
  route: 'told',
  connectStreams: 'told',
  stop: 'asked',
}

/** What the thread of a front end has of the main thread. */
export interface FrontEvents {
  alarm(alarm: AlarmReport): void
  readonly subscriptions: SubscriptionService
  /** The index, and what confirms that it is up to date, are each thread's own. */
  readonly registry: Omit<RegistryService, 'index' | 'confirmed'>
  /** What other nodes have this one do, on a node of a cluster. */
  readonly coordinator?: SharingService | undefined
  readonly backups: BackupService
  /** On a node of a cluster. */
  readonly cluster?: ClusterService | undefined
  readonly copies: CopyService
}

export const frontEvents: Operations<FrontEvents> = {
  alarm: 'told',
  subscriptions: subscriptionServiceOperations,
  registry: registryServiceOperations,
  coordinator: coordinatorOperations,
  backups: backupOperations,
  cluster: clusterOperations,
  copies: copyOperations,
}

/** How long the main thread may take to answer: longer than any work that is asked of it. */
export const mainLimit_ms = 120_000
