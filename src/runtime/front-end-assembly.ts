import type { MessagePort } from 'node:worker_threads'
import type { Feeds } from '../api/console/feeds.js'
import { liveResources } from '../api/console/live-resources.js'
import type { LiveSources } from '../api/console/live-sampler.js'
import { consoleResources, PageFiles } from '../api/console/page-serving.js'
import { configResources, slowResources, viewResources } from '../api/console/resources.js'
import { processMetrics } from '../api/management/metric-text.js'
import { type Shared, sharedPartOf } from '../api/management/parts.js'
import { referenceResources } from '../api/management/reference.js'
import { managementResources } from '../api/management/resources.js'
import { ngsi1Format } from '../api/ngsi1/forward/ngsi1-format.js'
import { ngsi1Interface } from '../api/ngsi1/routes.js'
import { ngsi2Format } from '../api/ngsi2/forward/ngsi2-format.js'
import { ngsi2Interface } from '../api/ngsi2/routes.js'
import type { SubscriptionService } from '../broker/front-end/broker.js'
import type { ClusterService } from '../broker/front-end/cluster-status.js'
import { type ConfirmedPositions, ConfirmedReads } from '../broker/front-end/confirmed-reads.js'
import type { SharingService } from '../broker/front-end/coordinator-requests.js'
import { patientRegistry, patientSubscriptions } from '../broker/front-end/coordinator-requests.js'
import { CourierPort } from '../broker/front-end/courier-port.js'
import { EventStreams } from '../broker/front-end/event-stream.js'
import { FrontBroker, pageLimit_bytes } from '../broker/front-end/front-broker.js'
import { ClientStreams } from '../broker/front-end/listening.js'
import { MergedStreams } from '../broker/front-end/merged-streams.js'
import type { PartitionReaders } from '../broker/front-end/partition-readers.js'
import { Peers } from '../broker/front-end/peers.js'
import { PoolThreads } from '../broker/front-end/pool-threads.js'
import { QueryPool, scanPermits } from '../broker/front-end/query-pool.js'
import { ScanStops } from '../broker/front-end/scan-queue.js'
import type { BackupService, RegistryService, SnapshotTransferService } from '../broker/front-end/services.js'
import { ProviderCalls } from '../broker/providers/provider-request.js'
import { Providers } from '../broker/providers/providers.js'
import { type NodeAddress, RouteTable } from '../cluster/membership/route-table.js'
import { Destinations } from '../delivery/http-client/destinations.js'
import { ApiKeys } from '../flags/api-keys.js'
import type { ListenRefusal } from '../http/listen.js'
import { openPatterns } from '../http/management-access.js'
import { type HttpServer, type HttpServerParts, openHttpServer } from '../http/server.js'
import type { RegistrationId } from '../model/registration/registration.js'
import { numberOf } from '../number-of.js'
import { type ActiveAlarm, type AlarmCounts, type AlarmReport, AlarmReports } from '../observe/log/alarms.js'
import { FrequentEvent } from '../observe/log/frequent-event.js'
import { errorFacts, type Log } from '../observe/log/log.js'
import { traceArea } from '../observe/log/trace.js'
import { DamageLog } from '../observe/log/worker-log.js'
import { DeprecatedUses } from '../observe/measure/deprecated-uses.js'
import { Measures, rowOf } from '../observe/measure/measures.js'
import { nodeStatistics } from '../observe/measure/node-statistics.js'
import type { BoundedMailbox } from '../partition/mailbox/bounded-mailbox.js'
import { Mailbox } from '../partition/mailbox/mailbox.js'
import type { SweptReply } from '../partition/turn/commands.js'
import { err, ok, type Result } from '../result.js'
import type { Route } from '../storage/etcd/node-facts.js'
import { ConnectionLimit, ForwardLimit, MailboxCapacity } from '../threads/shared-memory/limits.js'
import { PartitionPosition } from '../threads/shared-memory/partition-position.js'
import { PermitLoans } from '../threads/shared-memory/permit-loans.js'
import { ProtectedEndpoints } from '../threads/shared-memory/protected-endpoints.js'
import { SharedSemaphore } from '../threads/shared-memory/semaphore.js'
import { SequenceCounter, transactions } from '../threads/shared-memory/sequences.js'
import { type Milliseconds, now } from '../time.js'
import { builtFile } from '../version.js'
import { matcherMaker, templateSettings } from './message-rendering.js'
import { NodeFront } from './node-front.js'
import { openReaders } from './readers.js'
import type { ReloadTarget } from './reload-files.js'
import { type FrontEndTask, numbered, type QueryThreadData } from './tasks.js'

/** A front end with its mailboxes, readers, query threads, interfaces and sockets. */
export interface RunningFrontEnd extends ReloadTarget {
  readonly fd: number
  readonly port: number
  /** The listener for other nodes; its descriptor is shared by the other front ends. */
  readonly nodeListener: { readonly fd: number; readonly port: number } | undefined
  readonly feeds: Feeds
  /** Stops accepting, and answers the requests under way. Gives the number of requests that were given up at the limit. */
  stop(limit_ms: number): Promise<number>
  /** After it has stopped: empties the mailboxes, and ends the rest. */
  close(): Promise<void>
  /** Hands over a port to the courier, for clients that listen to subscriptions. */
  connectStreams(port: MessagePort): void
  /** Takes the owners of the partitions and the addresses of the other members. */
  route(routes: readonly Route[], others: readonly NodeAddress[]): void
  state: FrontBroker['state']
  /** Has a partition remove its expired entities; undefined when the partition cannot do so now. */
  sweep(partition: number): Promise<SweptReply | undefined>
}

/** Takes ports to the partitions' threads, at the start and whenever a thread is replaced. */
export interface Connectable {
  connect(partition: number, port: MessagePort): void
  /** The process ends at once: resolves when no query thread runs any more. */
  halt(): Promise<void>
}

/**
 * Puts a front end together, in the main thread or in one of its own, and listens: on the socket of another front end
 * if the task has its descriptor. `connect` gets the function that takes the ports of the partitions; the front end
 * listens once it has all of them.
 */
export async function openFront(
  task: FrontEndTask,
  services: FrontEndServices,
  log: Log,
  connect: (front: Connectable) => void,
): Promise<Result<RunningFrontEnd, ListenRefusal>> {
  const { frontEnd, options, storage, memory } = task
  const measures = new Measures(memory.measures, frontEnd)
  const mailboxes = openMailboxes(task, measures)
  const readers = openReaders(storage, memory, measures, options.readCache_MiB * 2 ** 20, log)
  const queries = openQueryPool(task, log, readers, measures)
  const most = Math.ceil(options.requestPermits / options.httpThreads)
  const loans = openLoans(memory, most, measures, log)
  const stopWatching = measures.watchThread()
  const stopSteps = frontEnd === 0 ? measures.logLongSteps(log) : undefined
  const calls = new ProviderCalls()
  const ofProcess = {
    ...(services.alarms.counts && { alarms: services.alarms.counts }),
    ...(services.alarms.list && { activeAlarms: services.alarms.list }),
    calls: (ids: readonly RegistrationId[]) => calls.of(ids),
    ...(services.dropped && { process: processMetrics(services.dropped) }),
  }
  const peers = new Peers<Shared>(frontEnd, options.httpThreads + 1, sharedPartOf(measures, ofProcess), (fault) =>
    log.error('thread:peers', 'a request of another thread was not answered', errorFacts(fault)),
  )
  const reports = new AlarmReports(memory.alarms, services.alarms.tell)
  const providers = openProviders(task, log, measures, reports, calls)
  const close = async (): Promise<void> => {
    stopWatching()
    stopSteps?.()
    peers.close()
    loans.close()
    for (const mailbox of mailboxes) mailbox.close()
    await providers.close()
    await queries.close()
    await readers.close()
  }
  connect({
    connect: (partition, port) => numbered(mailboxes, partition).connect(port),
    halt: () => queries.close(),
  })
  await Promise.all(mailboxes.map((mailbox) => mailbox.connected()))
  const apiKeys = task.apiKeys && new ApiKeys(task.apiKeys)
  const patient = task.nodes === undefined ? services : patientServices(services, 3 * enginePatience_ms)
  const streams = new EventStreams()
  const courier = new CourierPort()
  const routes = new RouteTable(task.nodes?.routes ?? [], task.nodes?.others)
  const nodeFront = await openNodeFront(task, mailboxes, routes, { ...services, courier, loans }, measures, log)
  if (!nodeFront.ok) {
    await close()
    return nodeFront
  }
  const front = nodeFront.value
  const others = front && { names: () => routes.others, of: (node: string) => front.courierOf(node) }
  const listening = new ClientStreams(
    streams,
    others === undefined ? courier : new MergedStreams(courier, others),
    new ConnectionLimit(memory.connections),
  )
  const behind = {
    measures,
    apiKeys,
    mailboxes: nodeFront.value?.mailboxes ?? mailboxes,
    threads: mailboxes,
    readers,
    queries,
    peers,
    providers,
    reports,
    listening,
    streams,
    confirmed: confirmedReads(task.nodes, routes, nodeFront.value, loans),
    ...patient,
  }
  const { broker, feeds, parts } = interfaces(task, log, behind)
  const opened = await openHttpServer(parts)
  if (!opened.ok) {
    await nodeFront.value?.close()
    await close()
    return opened
  }
  const own = { broker, feeds, streams, listening, courier, mailboxes, apiKeys, routes, nodeFront: nodeFront.value }
  return ok(runningFront(opened.value, own, close))
}

/** The owners of shared state (registry, subscriptions, cluster), in this thread or in another one. */
interface FrontEndServices {
  readonly subscriptions: SubscriptionService
  readonly registry: RegistryService
  /** What other nodes ask of this one. */
  readonly coordinator?: SharingService | undefined
  readonly backups: BackupService
  /** Undefined without a cluster. */
  readonly cluster?: ClusterService | undefined
  readonly transfers: SnapshotTransferService
  readonly alarms: AlarmService
  readonly feeds: (parts: FeedParts) => Feeds
  /** The number of dropped log lines; in the main thread only. */
  readonly dropped?: () => number
}

/** Services that wait a limited time for the metadata log, which in a cluster waits for etcd. */
function patientServices(services: FrontEndServices, limit_ms: number): FrontEndServices {
  const { subscriptions, registry, coordinator } = services
  const confirmed = coordinator && (() => coordinator.confirmed())
  return {
    ...services,
    subscriptions: patientSubscriptions(subscriptions, limit_ms),
    registry: { ...patientRegistry(registry, limit_ms), confirmed },
  }
}

export type FeedParts = Pick<LiveSources, 'measures' | 'resources' | 'disk' | 'backlogs'>

/** The alarms of the process, which its main thread keeps [management 10.7]. */
interface AlarmService {
  /** In the main thread only. */
  readonly counts?: () => AlarmCounts
  /** The active alarms, at most this many; in the main thread only. */
  readonly list?: (most: number) => readonly ActiveAlarm[]
  readonly tell: (report: AlarmReport) => void
}

interface Behind extends FrontEndServices {
  readonly measures: Measures
  readonly mailboxes: readonly BoundedMailbox[]
  readonly threads: readonly Mailbox[]
  readonly readers: PartitionReaders
  readonly queries: QueryPool
  readonly providers: Providers
  readonly reports: AlarmReports
  readonly apiKeys: ApiKeys | undefined
  readonly peers: Peers<Shared>
  readonly listening: ClientStreams
  readonly streams: EventStreams
  readonly confirmed: ConfirmedReads | undefined
}

function interfaces(
  task: FrontEndTask,
  log: Log,
  behind: Behind,
): { readonly broker: FrontBroker; readonly feeds: Feeds; readonly parts: HttpServerParts } {
  const { frontEnd, options, memory, storage } = task
  const { measures, peers } = behind
  const broker = new FrontBroker({
    ...behind,
    log,
    sequences: new SequenceCounter(task.sequences),
    storageFull: () => memory.versions.some((_, partition) => measures.partitions.value('isFull', partition) === 1),
    // The meter counts by the resources, which need the broker; the broker is set before the first request.
    timing: {
      get timingOn() {
        return meter.timingOn
      },
      stage: (stage, duration, request) => meter.stage(stage, duration, request),
    },
  })
  const { forwardLimit, forwardsMax, forwardsEach } = options.notifications
  const waiting = new ForwardLimit(forwardsMax, forwardsEach, memory.forwards)
  const formats = { ngsi1: ngsi1Format, ngsi2: ngsi2Format }
  const { brokerId } = task
  const deprecated = new DeprecatedUses(measures, log)
  const forwarding = { providers: behind.providers, formats, brokerId, limit: forwardLimit, waiting, deprecated }
  const ngsi1 = ngsi1Interface({ broker, options, log, forwarding })
  const ngsi2 = ngsi2Interface({ broker, options, log, forwarding, brokerId, deprecated })
  const freeHandles = (partition: number): number => behind.readers.freeHandles(partition)
  const { backups, cluster } = behind
  const applied = appliedOf(task.nodes?.positions ?? [])
  const disk = { path: storage.paths[0] ?? '.', keepFree_bytes: storage.keepFree_bytes }
  const backlogs = async (limit: number) =>
    (await broker.subscriptions.receivers({ onlyWaiting: true, offset: 0, limit })).receivers
  const feeds = behind.feeds({ measures, resources: () => resources, disk, backlogs })
  const reads = [
    ...managementResources({ measures, log, broker, freeHandles, cluster, applied, peers, backups, disk }),
    ...viewResources({
      ...{ broker, log, peers, queueMax: options.notifications.queueMax },
      newMatcher: matcherMaker(templateSettings(options.notifications), log),
    }),
    ...configResources({ settings: task.settings, options, measures }),
    ...slowResources({ measures, peers, log }),
    ...liveResources({ feeds, streams: behind.streams, viewers: memory.viewers }),
    ...referenceResources(),
  ]
  const management = [
    ...reads,
    ...(options.noConsole
      ? []
      : consoleResources(new PageFiles(builtFile('console')), {
          needsToken: options.adminToken !== undefined,
          ofCluster: options.cluster !== undefined,
          openReads: openPatterns(reads),
        })),
  ]
  const resources = [...ngsi1.resources, ...ngsi2.resources, ...management]
  const meter = measures.requests(resources)
  const parts = {
    interfaces: { ngsi1, ngsi2 },
    management,
    options,
    meter,
    requestWait: measures.wait('request'),
    apiKeys: behind.apiKeys,
    log,
    damages: new DamageLog(log, () => measures.damaged()),
    switches: measures.switches,
    transaction: transactions(task.transactions),
    alarms: behind.reports,
    takeReplies: () => {
      for (const mailbox of behind.mailboxes) mailbox.catchUp()
    },
    // Only the main thread writes facts about the life of the process.
    ...(frontEnd === 0 && { certified: (until: Milliseconds) => measures.certified(until) }),
    memory,
    steps: measures.steps,
    index: frontEnd,
    fd: task.fd,
  }
  return { broker, feeds, parts }
}

/** For each partition, a function that gives the last record of the log that is applied here. */
export function appliedOf(positions: readonly SharedArrayBuffer[]): readonly (() => number)[] {
  return positions.map((memory) => {
    const position = new PartitionPosition(memory)
    return () => position.appliedIndex
  })
}

/** Where requests wait for another node that does not answer, others have their permits. */
function openLoans({ permits }: FrontEndTask['memory'], most: number, measures: Measures, log: Log): PermitLoans {
  const begun = new FrequentEvent()
  return new PermitLoans(new SharedSemaphore(permits), most, (lent) => {
    measures.permitsLent(lent)
    if (lent > 0 && begun.happened() !== undefined)
      log.warn(
        'cluster:link',
        `a node has answered nothing for 1 s: others have ${numberOf(lent, 'permit')} of the requests that wait for it`,
      )
  })
}

/** Where nodes have no links to each other, nothing can be confirmed that another node owns. */
function confirmedReads(
  nodes: FrontEndTask['nodes'],
  routes: RouteTable,
  nodeFront: NodeFront | undefined,
  loans: PermitLoans,
): ConfirmedReads | undefined {
  if (nodes === undefined || nodes.reads === 'local') return undefined
  const positionsOf = async (node: string, partitions: readonly number[]): Promise<ConfirmedPositions> =>
    nodeFront === undefined ? err('nodes do not ask each other') : nodeFront.positionsOf(node, partitions)
  return new ConfirmedReads({
    positions: nodes.positions,
    ownerOf: (partition) => routes.ownerOf(partition),
    positionsOf,
    newWaits: () => loans.newWaits(),
  })
}

function openProviders(
  { options, memory, forwards, transactions: memoryOfTransactions }: FrontEndTask,
  log: Log,
  measures: Measures,
  reports: AlarmReports,
  calls: ProviderCalls,
): Providers {
  const { httpTimeout_ms, forwardMaxSize, forwardResponseMaxSize, insecure, destinations } = options.notifications
  return new Providers({
    limit_ms: httpTimeout_ms,
    waitLimit_ms: options.queryTimeout_ms,
    requestLimit_bytes: forwardMaxSize,
    responseLimit_bytes: forwardResponseMaxSize,
    insecure,
    permits: { total: forwards },
    destinations: new Destinations(destinations, new ProtectedEndpoints(memory.endpoints)),
    log,
    shownPayload_bytes: () => measures.switches.get('infoPayloadMaxSize'),
    transaction: transactions(memoryOfTransactions),
    count: (name) => measures.count(name),
    attempted: (url, reason) => {
      if (reason === undefined) reports.over('ForwardingError', url)
      else reports.occurred('ForwardingError', url, reason)
    },
    called: (registration, reason) => calls.ended(registration, reason, now()),
    ended: (request) => measures.services.sent(request),
    measured: (result, duration) => measures.forwarded(result, duration),
  })
}

/** How long an update waits for etcd. It may still be carried out after that. */
const enginePatience_ms = 5000

const waitAreas = [traceArea['wait.mailbox'], traceArea['wait.transaction']]

/** Traces and slow requests need the waits also while their statistics are off. */
function areWaitsMeasured(measures: Measures): boolean {
  const { switches } = measures
  if (measures.isOn('semWait') || switches.get('slowAbove_ms') > 0) return true
  return waitAreas.some((area) => switches.traces[area] === 1)
}

function openMailboxes({ options, memory }: FrontEndTask, measures: Measures): readonly Mailbox[] {
  return memory.rooms.map((room, partition) => {
    const depth = measures.mailboxDepth(partition)
    return new Mailbox({
      room: new MailboxCapacity(options.mailboxSize, room),
      measured: () => areWaitsMeasured(measures),
      patience_ms: options.cluster && enginePatience_ms,
      depth: (commands) => depth.set(commands),
    })
  })
}

/** Undefined for a front end without other nodes. */
async function openNodeFront(
  { nodes, frontEnd, options }: FrontEndTask,
  mailboxes: readonly Mailbox[],
  routes: RouteTable,
  services: Pick<FrontEndServices, 'coordinator' | 'transfers'> & {
    readonly courier: CourierPort
    readonly loans: PermitLoans
  },
  measures: Measures,
  log: Log,
): Promise<Result<NodeFront | undefined, ListenRefusal>> {
  const { coordinator, transfers, courier, loans } = services
  if (nodes === undefined || coordinator === undefined) return ok(undefined)
  const { link, positions, metadataPosition } = nodes
  const { mailboxSize } = options
  const remote = measures.remote.row(frontEnd)
  return NodeFront.open({
    ...{
      link,
      frontEnd,
      routes,
      mailboxes,
      positions,
      metadataPosition,
      coordinator,
      transfers,
      courier,
      mailboxSize,
      loans,
      log,
    },
    patience_ms: enginePatience_ms,
    listeners: options.notifications.streams.listeners,
    statistics: () => nodeStatistics(measures, appliedOf(positions)),
    answered: (duration) => remote.record('batchDurations', duration),
  })
}

function openQueryPool(
  { frontEnd, options, queryHeap_MiB, storage, memory }: FrontEndTask,
  log: Log,
  readers: PartitionReaders,
  measures: Measures,
): QueryPool {
  const { threads } = memory.measures
  const permits = scanPermits(options.queryThreads, options.httpThreads, options.dbPoolSize)
  const workerData: QueryThreadData = {
    storage,
    memory,
    row: rowOf(threads, 'queryThread', frontEnd * options.queryThreads),
    page_bytes: pageLimit_bytes(options),
    members: PoolThreads.memory(options.queryThreads),
    stops: ScanStops.memory(permits.long + permits.short),
  }
  return new QueryPool({
    entry: new URL('../../workers/query.js', import.meta.url),
    threads: options.queryThreads,
    heap_MiB: queryHeap_MiB,
    permits,
    queueLimit: options.queryQueueSize,
    limit_ms: options.queryTimeout_ms,
    stops: new ScanStops(workerData.stops),
    members: new PoolThreads(workerData.members),
    ended: (number) => readers.giveBackOf(workerData.row + number),
    workerData,
    changed: (waiting, running) => measures.queries(waiting, running),
    log,
  })
}

interface FrontParts extends Pick<Behind, 'listening' | 'streams' | 'apiKeys'> {
  readonly broker: FrontBroker
  readonly feeds: Feeds
  readonly courier: CourierPort
  /** The mailboxes of the partitions' threads in this process. */
  readonly mailboxes: readonly Mailbox[]
  readonly routes: RouteTable
  readonly nodeFront: NodeFront | undefined
}

function runningFront(
  { fd, port, useTls, stop }: HttpServer,
  { broker, feeds, streams, listening, courier, mailboxes, apiKeys, routes, nodeFront }: FrontParts,
  close: () => Promise<void>,
): RunningFrontEnd {
  return {
    fd,
    port,
    feeds,
    nodeListener: nodeFront && { fd: nodeFront.fd, port: nodeFront.port },
    useTls,
    useKeys: (keys) => apiKeys?.use(keys),
    connectStreams: (port) => courier.connect(port),
    route: (known, others) => routes.put(known, others),
    state: (query) => broker.state(query),
    sweep: async (partition) => {
      const posted = await numbered(mailboxes, partition).ask({ kind: 'sweep', time: now() })
      return posted.ok && posted.value.reply.kind === 'swept' ? posted.value.reply : undefined
    },
    stop: (limit_ms) => {
      listening.end()
      streams.end()
      return stop(limit_ms)
    },
    close: async () => {
      courier.close()
      await Promise.all([...mailboxes, ...(nodeFront?.mailboxes ?? [])].map((mailbox) => mailbox.empty()))
      await nodeFront?.close()
      await close()
    },
  }
}
