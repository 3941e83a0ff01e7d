import type { MessagePort } from 'node:worker_threads'
import { type SubscriptionService, subscriptionServiceOperations } from '../broker/front-end/broker.js'
import { type ClusterService, clusterOperations } from '../broker/front-end/cluster-status.js'
import { coordinatorOperations, type SharingService } from '../broker/front-end/coordinator-requests.js'
import {
  type BackupService,
  backupOperations,
  type RegistryService,
  registryServiceOperations,
  type SnapshotTransferService,
  snapshotTransferOperations,
} from '../broker/front-end/services.js'
import type { LinkSecurity } from '../cluster/link/link-security.js'
import type { LinkSelf } from '../cluster/link/node-listener.js'
import type { NodeAddress } from '../cluster/membership/route-table.js'
import type { CourierStart } from '../delivery/queue/courier-protocol.js'
import type { PackedRecipients } from '../delivery/queue/packed-recipients.js'
import type { ApiKey } from '../flags/api-keys.js'
import type { Setting } from '../flags/command-line.js'
import type { NotificationOptions, Options } from '../flags/settings.js'
import type { ListenAddress, Tls } from '../http/listen.js'
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

/** The start values of the threads in `workers/`: plain data, shared memory, ports. */

/** Where the partitions lie on disk and how they are opened, the same in every thread. */
export interface StoragePlan {
  /** By partition number. */
  readonly paths: readonly string[]
  readonly sizeMax_bytes: number
  readonly keepFree_bytes: number
  /** How many environments may be written at one moment: the partitions, and that of the metadata. */
  readonly writers: number
  readonly durable: boolean
  readonly maxReaders: number
}

/** Memory that threads share. */
export interface SharedMemory extends HttpMemory {
  readonly measures: MeasureMemory
  /** Per partition, a `Versions`. */
  readonly versions: readonly SharedArrayBuffer[]
  /** Per partition, a `Memtable`. */
  readonly memtables: readonly SharedArrayBuffer[]
  /** Per partition, a pool of read handles. */
  readonly pools: readonly SharedArrayBuffer[]
  /** A `Bell`, rung when an outbox has new notices. */
  readonly bell: SharedArrayBuffer
  /** A `ProtectedEndpoints`. */
  readonly endpoints: SharedArrayBuffer
  /** A `ForwardLimit`. */
  readonly forwards: SharedArrayBuffer
  /** An `AlarmReports`. */
  readonly alarms: SharedArrayBuffer
  /** A `ViewerLimit`. */
  readonly viewers: SharedArrayBuffer
  /** Per partition, a `MailboxCapacity`. */
  readonly rooms: readonly SharedArrayBuffer[]
}

export interface BrokerPlan {
  readonly storage: StoragePlan
  readonly memory: SharedMemory
  readonly transactions: TransactionMemory
  /** Names this broker in what it sends [subscriptions 8.4]. */
  readonly brokerId: string
  /** How long a thread may stand still; 0: for ever. */
  readonly threadSilence_s: number
}

export interface PartitionTask extends Pick<BrokerPlan, 'storage' | 'memory'> {
  readonly partition: number
  /** The size of the record cache. */
  readonly entityCache_bytes: number
  readonly limits: EntityLimits
  readonly templates: TemplateSettings
  /** The subscriptions in force at the start. */
  readonly subscriptions: PackedWithClocks<Subscription>
  /** In a cluster: the connection to the partition's log. */
  readonly logLink?: LogLinkEnd | undefined
  /** In a cluster: a `PartitionPosition` of this partition. */
  readonly position?: SharedArrayBuffer | undefined
  /** In a cluster: the replica waits for an owner before it shows anything, see `ReplicaState`. */
  readonly awaitsOwner?: boolean
}

export interface QueryThreadData extends Pick<BrokerPlan, 'storage' | 'memory'> {
  /** The row of this front end's first query thread in the measures. */
  readonly row: number
  /** The most bytes in a page of results. */
  readonly page_bytes: number
  /** A table of `PoolThreads`. */
  readonly members: SharedArrayBuffer
  /** A `ScanStops`. */
  readonly stops: SharedArrayBuffer
}

export interface FrontEndTask extends BrokerPlan {
  /** The first one, number 0, runs in the main thread. */
  readonly frontEnd: number
  readonly options: Options
  /** The settings that made the options, for the console and the log. */
  readonly settings: readonly Setting[]
  /** Undefined where no key is needed. */
  readonly apiKeys: readonly ApiKey[] | undefined
  /** The most requests to context providers at a time. */
  readonly forwards: number
  /** The heap limit of its query threads. */
  readonly queryHeap_MiB: number
  readonly sequences: SharedArrayBuffer
  /** In a cluster only. */
  readonly nodes?: FrontNodes | undefined
  /** The listening socket of the first front end, for the others. */
  readonly fd?: number | undefined
}

/** A front end's first knowledge of the other nodes. */
export interface FrontNodes {
  /** Per partition, a `PartitionPosition`. */
  readonly positions: readonly SharedArrayBuffer[]
  /** The `PartitionPosition` of the metadata log. */
  readonly metadataPosition: SharedArrayBuffer
  readonly reads: ReadMode
  readonly routes: readonly Route[]
  /** Where the other members listen. */
  readonly others: readonly NodeAddress[]
  readonly link: FrontLink
}

/** How a front end reaches other nodes, and is reached by them. */
export interface FrontLink {
  readonly self: LinkSelf
  /** The number of this node in the cluster. */
  readonly slot: number
  readonly security: LinkSecurity
  /** A `SenderTable`, shared by all front ends. */
  readonly senders: SharedArrayBuffer
  /** The address to listen on, or the socket that the first front end has opened. */
  readonly where: ListenAddress
}

/** The ports and the first state of a front end in a thread of its own. */
export interface FrontPorts {
  /** For the feeds of the console. */
  readonly feeds: MessagePort
  /** The registrations at the start of the thread. */
  readonly registrations: Packed<Registration>
}

export interface CourierTask extends BrokerPlan {
  /** The folder of the coordinator's environment, which has an outbox as well. */
  readonly metadataPath: string
  /** The receivers of subscriptions of both kinds. */
  readonly recipients: PackedRecipients
  readonly begun: CourierStart
  readonly options: NotificationOptions
  /** When the process was started. */
  readonly clock: ClockStart
  /**
   * In a cluster: per partition, a `PartitionPosition` that says whether it is this node's; the metadata log comes
   * last.
   */
  readonly positions?: readonly SharedArrayBuffer[] | undefined
}

/** The ports that every thread has: to the main thread, for log lines, and for parking. */
export interface ThreadPorts {
  /** See `parkWhenTold`. */
  readonly parking: MessagePort
  readonly control: MessagePort
  readonly log: MessagePort
}

/** The element of a number that a task names; throws if there is none. */
export function numbered<Thing>(things: readonly Thing[], number: number): Thing {
  const thing = things[number]
  if (thing === undefined) throw new Error(`nothing has the number ${number}`)
  return thing
}

/** What the main thread asks of a front end's thread, mostly once that accepts requests. */
export interface FrontOperations {
  /** Resolves when the front end accepts. */
  opened(): Promise<void>
  connect(partition: number, port: MessagePort): void
  /** Brings changes into force in the index of the registry, also before the front end accepts. */
  registrations(changes: readonly RegistrationChange[]): Promise<void>
  useTls(tls: Tls): void
  useKeys(keys: readonly ApiKey[]): void
  /** Takes the owners of the partitions and where the other members listen. */
  route(routes: readonly Route[], others: readonly NodeAddress[]): void
  /** Hands over a port to the courier, for clients that listen to subscriptions. */
  connectStreams(port: MessagePort): void
  /** Ends the requests of the front end; gives the number of those that were given up at the limit. */
  stop(limit_ms: number): Promise<number>
  /** After it has stopped: ends the front end and its thread. */
  close(): Promise<void>
}

export const frontOperations: Operations<FrontOperations> = {
  opened: 'ask',
  connect: 'tell',
  registrations: 'ask',
  useTls: 'tell',
  useKeys: 'tell',
  route: 'tell',
  connectStreams: 'tell',
  stop: 'ask',
  close: 'ask',
}

/** What a front end's thread asks of the main thread. */
export interface FrontEvents {
  alarm(alarm: AlarmReport): void
  readonly subscriptions: SubscriptionService
  /** Without the index and its confirmation, which each thread has itself. */
  readonly registry: Omit<RegistryService, 'index' | 'confirmed'>
  /** In a cluster: what other nodes ask of this one. */
  readonly coordinator?: SharingService | undefined
  readonly backups: BackupService
  /** In a cluster only. */
  readonly cluster?: ClusterService | undefined
  readonly transfers: SnapshotTransferService
}

export const frontEvents: Operations<FrontEvents> = {
  alarm: 'tell',
  subscriptions: subscriptionServiceOperations,
  registry: registryServiceOperations,
  coordinator: coordinatorOperations,
  backups: backupOperations,
  cluster: clusterOperations,
  transfers: snapshotTransferOperations,
}

/** How long the main thread may take to answer: longer than any work that is asked of it. */
export const mainLimit_ms = 120_000
