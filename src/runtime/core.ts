import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { MessageChannel } from 'node:worker_threads'
import { mainFeeds } from '../api/console/feeds.js'
import { Backups } from '../broker/coordinator/backups.js'
import { Partitions } from '../broker/coordinator/partitions.js'
import { RegistryFeed } from '../broker/coordinator/registry-feed.js'
import { type FarPins, SnapshotTransfers } from '../broker/coordinator/snapshot-transfers.js'
import { Sweeper, watchStorage } from '../broker/coordinator/upkeep.js'
import type { SubscriptionService } from '../broker/front-end/broker.js'
import type { ClusterService } from '../broker/front-end/cluster-status.js'
import type { RegistryService } from '../broker/front-end/services.js'
import type { Setting } from '../flags/command-line.js'
import type { Options } from '../flags/settings.js'
import type { ListenRefusal } from '../http/listen.js'
import { maxAttributes, maxMetadata, maxValues } from '../model/context/entity-size.js'
import { type AlarmReport, Alarms, publishAlarms, startSummaries } from '../observe/log/alarms.js'
import type { MainLog } from '../observe/log/main-log.js'
import { Measures } from '../observe/measure/measures.js'
import { nodeStatistics } from '../observe/measure/node-statistics.js'
import { err, ok, type Result } from '../result.js'
import type { ClusterLog } from '../storage/etcd/cluster-log.js'
import type { LogName } from '../storage/etcd/engine.js'
import type { DataFolder } from '../storage/folder/data-folder.js'
import { formatVersion } from '../storage/folder/folder-format.js'
import { PartitionPosition } from '../threads/shared-memory/partition-position.js'
import { ProtectedEndpoints } from '../threads/shared-memory/protected-endpoints.js'
import { SequenceCounter } from '../threads/shared-memory/sequences.js'
import type { Switches } from '../threads/shared-memory/switches.js'
import type { WriteWatch } from '../threads/shared-memory/thread-beats.js'
import { brokerIdOf, newPlan } from './broker-plan.js'
import { RunningCluster } from './cluster.js'
import { Coordination, clusterStatistics } from './coordination.js'
import { RunningDelivery } from './delivery.js'
import { exitCodes } from './exit-codes.js'
import { appliedOf, type Connectable, type FeedParts, openFront, type RunningFrontEnd } from './front-end-assembly.js'
import { FrontEnds } from './front-ends.js'
import { GuardedEndpoints } from './guarded-endpoints.js'
import { templateSettings } from './message-rendering.js'
import { type Ending, endInOrder, endingParts, type GivenUp } from './orderly-end.js'
import { configuredKeys, reloadFiles } from './reload-files.js'
import { type ThreadHeaps, threadHeaps } from './resources/memory-needed.js'
import {
  type BrokerPlan,
  type FrontEndTask,
  type FrontEvents,
  numbered,
  type PartitionTask,
  type ThreadPorts,
} from './tasks.js'
import { watchThreads } from './watchdog.js'

/** How long other nodes may take to own what this node releases at its end; at most half of the time for the end. */
const handover_ms = 10_000

/**
 * How long the ending broker waits for etcd: longer than etcd takes to elect a leader; at most a quarter of the time
 * for the end.
 */
const etcdResponse_ms = 5000

/** How long work may take to notice that the time for an orderly end is over. */
const closing_ms = 250

/** Told what becomes of an orderly end while it goes on. */
interface EndReports {
  readonly ended: (part: Ending) => void
  /** The number of requests that were given up at the limit. */
  readonly gaveUp: (requests: number) => void
}

/**
 * All threads of the broker: the partitions, the courier, and the front ends beside the first, which runs in the main
 * thread.
 */
export class Core {
  readonly #options: Options
  readonly #settings: readonly Setting[]
  readonly #forwards: number
  readonly #log: MainLog
  readonly #fatal: (reason: string, code?: number) => void
  readonly #standsStill: (reason: string) => void
  readonly #goesOn: () => void
  readonly #heaps: ThreadHeaps
  #plan: BrokerPlan
  readonly #measures: Measures
  readonly #partitions: Partitions<PartitionTask & Pick<ThreadPorts, 'log'>>
  readonly #frontEnds = new FrontEnds()
  readonly #folder: DataFolder
  readonly #alarms: Alarms
  readonly #guarded: GuardedEndpoints
  readonly #registryFeed = new RegistryFeed()
  readonly #backups: Backups
  /** Commits that other nodes are fetching, kept until they have them. */
  readonly #transfers = new SnapshotTransfers((log) => this.#pinsOf(log))
  #cluster: RunningCluster | undefined
  #delivery: RunningDelivery | undefined
  #coordination: Coordination | undefined
  #front: RunningFrontEnd | undefined
  /** The first front end, as soon as it has query threads. */
  #connectable: Connectable | undefined
  #sweeper: Sweeper | undefined
  #sequences = SequenceCounter.after(0)

  /**
   * `fatal` gets the reason why the broker cannot go on, and the exit code unless it is that of an internal error.
   * `standsStill` gets the reason why the process cannot even end itself. `goesOn` is called with each step of a start
   * that keeps this thread from its event loop.
   */
  constructor(
    { options, settings, forwards }: Pick<FrontEndTask, 'options' | 'settings' | 'forwards'>,
    folder: DataFolder,
    log: MainLog,
    switches: Switches,
    fatal: (reason: string, code?: number) => void,
    standsStill: (reason: string) => void,
    goesOn: () => void,
  ) {
    this.#goesOn = goesOn
    this.#standsStill = standsStill
    this.#options = options
    this.#settings = settings
    this.#forwards = forwards
    this.#log = log
    this.#fatal = fatal
    this.#folder = folder
    const { httpThreads, queryThreads } = options
    const { partitions } = folder
    this.#measures = Measures.make(
      { frontEnds: httpThreads, partitions, queryThreads: httpThreads * queryThreads },
      switches,
    )
    this.#heaps = threadHeaps(options, Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20))
    this.#plan = newPlan(options, folder, this.#measures)
    const { memory } = this.#plan
    this.#alarms = new Alarms(log, {
      relog: options.relogAlarms,
      changed: (counts) => publishAlarms(memory.alarms, counts),
    })
    this.#guarded = new GuardedEndpoints(new ProtectedEndpoints(memory.endpoints), options)
    this.#partitions = new Partitions({
      entry: new URL('../../workers/partition.js', import.meta.url),
      count: partitions,
      launch: (partition) => this.#partitionLaunch(partition),
      log,
      restarted: (partition) => this.#measures.restarted(partition),
      behind: (reason) => fatal(reason, exitCodes.behind),
      owns: (partition, epoch) => this.#cluster?.nodes.owns(partition, epoch),
      isWriting: (partition) => this.#measures.partitions.value('isWriting', partition) === 1,
      fatal,
    })
    this.#backups = new Backups({
      confirm: async () => this.#coordination?.caughtUp() ?? ok(undefined),
      folder: { folder: folder.id, format: formatVersion },
      partitions: this.#partitions,
      metadata: () => this.#delivered.pins,
      log,
      measures: this.#measures.backups.row(0),
    })
  }

  /** Joins the cluster if the options name one. Call it before `open`. */
  async join(): Promise<Result<undefined, string>> {
    const { cluster } = this.#options
    if (cluster === undefined) return ok(undefined)
    const started = await RunningCluster.start({
      options: cluster,
      folder: this.#folder,
      storage: this.#plan.storage,
      measures: this.#measures,
      guarded: this.#guarded,
      log: this.#log,
      fatal: this.#fatal,
      instruct: (partition, kind) => this.#partitions.instruct(partition, kind),
      coordinate: (what) => this.#coordination?.instruct(what),
      drain: (log, limit_ms) => this.#delivered.release(log, limit_ms),
      goesOn: this.#goesOn,
      routed: (routes, others) => this.#frontEnds.route(routes, others),
    })
    if (!started.ok) return started
    this.#cluster = started.value
    this.#plan = { ...this.#plan, brokerId: brokerIdOf(started.value.folderId) }
    return ok(undefined)
  }

  /** Opens and recovers all stores. */
  async open(): Promise<void> {
    this.#watchThreads()
    const cluster = this.#cluster
    let wal: ClusterLog | undefined
    const opened = (log: ClusterLog): ClusterLog => {
      wal = log
      return log
    }
    this.#delivery = new RunningDelivery({
      plan: this.#plan,
      options: this.#options.notifications,
      folder: this.#folder,
      openLog: cluster && ((applied) => opened(cluster.openMetadata(applied))),
      writing: this.#ownWriting(),
      positions: this.#cluster?.nodes.outboxes,
      courierHeap_MiB: this.#heaps.courier_MiB,
      courierBegins: this.#measures.threadBegins('courier', 0),
      partitions: this.#partitions,
      state: (query) => this.#frontEnd.state(query),
      everywhere: cluster && (() => this.#coordinated.everywhere()),
      queryTimeout_ms: this.#options.queryTimeout_ms,
      publish: (changes) => this.#registryFeed.publish(changes),
      notStored: () => this.#measures.count('registrationUpdateErrors'),
      alarms: this.#alarms,
      log: this.#log,
      fatal: this.#fatal,
    })
    if (cluster !== undefined && wal !== undefined) {
      const { nodes, caller } = cluster
      const [delivery, log, fatal] = [this.#delivery, this.#log, this.#fatal]
      const partitions = { all: this.#partitions, number: this.#plan.storage.paths.length }
      this.#coordination = new Coordination({ nodes, delivery, partitions, wal, caller, log, fatal })
    }
    // The threads open their stores while this one reads the registry.
    const [highest] = await Promise.all([this.#partitions.start(), this.#delivery.load()])
    this.#sequences = SequenceCounter.after(highest, this.#cluster?.nodes.slot)
    await this.#delivery.start()
  }

  /** Opens the sockets and lets all front ends accept; gives the port. */
  async listen(): Promise<Result<number, ListenRefusal>> {
    const keys = configuredKeys(this.#options)
    if (!keys.ok) return err({ kind: 'keysUnusable', reason: keys.error })
    const sequences = this.#sequences.memory
    const task = {
      ...this.#plan,
      options: this.#options,
      settings: this.#settings,
      forwards: this.#forwards,
      apiKeys: keys.value,
      queryHeap_MiB: this.#heaps.query_MiB,
      sequences,
      nodes: this.#cluster?.forFronts,
    }
    this.#watch()
    const { subscriptions, registry } = this.#services
    const events: FrontEvents = {
      subscriptions,
      registry,
      alarm: (report) => this.#alarm(report),
      coordinator: this.#coordination,
      cluster: this.#cluster && this.#clusterService(this.#cluster),
      backups: this.#backups,
      transfers: this.#transfers,
    }
    const opened = await this.#openFirst({ ...task, frontEnd: 0 }, events)
    if (!opened.ok) return opened
    const { fd } = opened.value
    const others = Array.from({ length: this.#options.httpThreads - 1 }, (_, at) => at + 1)
    const nodes = withSocket(task.nodes, opened.value.nodeListener?.fd)
    await Promise.all(others.map((frontEnd) => this.#startFrontEnd({ ...task, nodes, frontEnd, fd }, events)))
    if (this.#coordination === undefined) this.#delivered.begin()
    else this.#coordination.begin()
    this.#sweeper = this.#newSweeper(opened.value)
    if (opened.value.nodeListener !== undefined) this.#cluster?.begin(opened.value.nodeListener.port)
    return ok(opened.value.port)
  }

  /** Opens the front end of this thread, which accepts at once. */
  async #openFirst(task: FrontEndTask, events: FrontEvents): Promise<Result<RunningFrontEnd, ListenRefusal>> {
    const alarms = {
      counts: () => this.#alarms.counts,
      list: (most: number) => this.#alarms.list(most),
      tell: events.alarm,
    }
    const dropped = () => this.#log.dropped
    const feeds = (parts: FeedParts) =>
      mainFeeds({ ...parts, options: this.#options, alarms: this.#alarms, dropped }, this.#log)
    const services = { ...events, registry: this.#services.registry, alarms, feeds, dropped }
    const opened = await openFront(task, services, this.#log, (front) => this.#connected(front))
    if (!opened.ok) return opened
    this.#front = opened.value
    this.#frontEnds.addRunning(opened.value)
    this.#delivered.addStreams(opened.value.connectStreams)
    return opened
  }

  /** Reads the TLS files and the API keys again. */
  reload(): Promise<void> {
    return reloadFiles(this.#options, this.#log, this.#frontEnds)
  }

  #connected(front: Connectable): void {
    this.#connectable = front
    this.#partitions.add(front)
  }

  #newSweeper({ sweep }: RunningFrontEnd): Sweeper {
    return new Sweeper({
      partitions: this.#plan.storage.paths.length,
      isOwner: (partition) => isConfirmed(this.#cluster?.nodes.positions[partition]),
      interval_ms: this.#options.expirationSweep_s * 1000,
      sweep,
      expired: (partition, entities) => this.#measures.expired(partition, entities),
      log: this.#log,
    })
  }

  #watch(): void {
    const { storage, transactions: memory } = this.#plan
    const partitions = storage.paths.length
    watchStorage(partitions, (partition) => this.#measures.partitions.value('isFull', partition) === 1, this.#alarms)
    const transactions = new BigInt64Array(memory.last)
    const counts = () => ({ transactions: Atomics.load(transactions, 0), alarms: this.#alarms.counts })
    startSummaries(this.#options.logSummary_s, counts, this.#log)
  }

  /** Has threads that still recover logs stop, so that `open` fails by that. */
  giveUpStart(): void {
    this.#measures.beats.giveUpStart()
  }

  /**
   * Watches threads as soon as the first of them opens its store: recovery may take long, and a thread that recovers
   * shows beats.
   */
  #watchThreads(): void {
    // Another thread watches this one.
    watchThreads({
      beats: this.#measures.beats,
      threads: this.#measures.beating.filter(({ row }) => row !== 0),
      silence_s: this.#options.threadSilence_s,
      standsStill: this.#standsStill,
    })
  }

  /** The write transactions of this thread. The metadata log is recovered before the courier watches this thread. */
  #ownWriting(): WriteWatch {
    const writing = this.#measures.beats.writing(this.#measures.row)
    const goesOn = (): void => {
      writing.goesOn()
      this.#goesOn()
    }
    // No signal is heard while this thread recovers.
    return { ...writing, goesOn, recovers: goesOn }
  }

  /**
   * Ends in order, or as far as that is possible in the time: within a moment after the limit. Gives what was given up [management
   * 12.2].
   */
  async drain(limit_ms: number): Promise<GivenUp> {
    this.#measures.end()
    const ended = new Set<Ending>()
    let requests = 0
    const drained = this.#drained(limit_ms, {
      ended: (part) => {
        ended.add(part)
        this.#log.trace('shutdown', `ended: ${part}`)
      },
      gaveUp: (count) => {
        requests = count
      },
    })
    await Promise.race([drained, sleep(limit_ms + closing_ms)])
    return { requests, parts: endingParts(ended) }
  }

  /** All parts share one time limit. */
  async #drained(limit_ms: number, { ended, gaveUp }: EndReports): Promise<void> {
    const until = performance.now() + limit_ms
    const left_ms = (): number => Math.max(0, until - performance.now())
    this.#cluster?.ending(Math.min(limit_ms / 4, etcdResponse_ms))
    const steps = {
      sweeper: () => this.#sweeper?.stop(),
      // All listeners still answer: they send on to the next owner what comes meanwhile.
      handover: () => this.#cluster?.nodes.handOver(Math.min(limit_ms / 2, handover_ms)),
      frontEnds: async () => {
        // Before the threads end, which may take longer than the time that is left.
        gaveUp(await this.#frontEnds.stop(left_ms()))
        await this.#frontEnds.close()
      },
      clocks: () => this.#delivery?.stopClocks(),
      courier: () => this.#delivery?.drainCourier(left_ms()),
      coordinatorStore: () => this.#delivery?.close(),
      nodeLinks: () => this.#coordination?.end(),
      partitions: () => this.#partitions.drain(),
      membership: () => this.#cluster?.leave(),
      engine: () => this.#cluster?.end(),
    }
    await endInOrder(steps, ended)
  }

  /**
   * Lets the turns under way end, and no others, for at most this long, and brings all threads that use LMDB to rest;
   * says whether they are. A process cannot exit while one of its threads is inside a write transaction: the exit waits
   * for the thread. A process that exits while a thread is inside LMDB is aborted.
   */
  halt(limit_ms: number): Promise<boolean> {
    this.#cluster?.end()
    const halted = Promise.allSettled([
      this.#partitions.halt(), // A thread that has died is in no transaction.
      this.#delivery?.halt(),
      this.#connectable?.halt(),
      this.#frontEnds.park(),
    ])
    return Promise.race([halted.then(() => true), sleep(limit_ms, false)])
  }

  get #coordinated(): Coordination {
    if (!this.#coordination) throw new Error('this broker is of no cluster')
    return this.#coordination
  }

  /** The services for subscriptions and registrations; in a cluster those of the coordinating node. */
  get #services(): { readonly subscriptions: SubscriptionService; readonly registry: RegistryService } {
    return this.#coordination ?? this.#delivered
  }

  /** The services that front ends use of the cluster. */
  #clusterService(cluster: RunningCluster): ClusterService {
    const { nodes } = cluster
    return {
      shown: () => cluster.shown(),
      statistics: () =>
        clusterStatistics({
          self: nodes.name,
          nodes: nodes.nodeNames,
          own: () => nodeStatistics(this.#measures, appliedOf(nodes.positions)),
          statisticsOf: (node) => this.#coordinated.statistics(node),
        }),
    }
  }

  #pinsOf(log: LogName): FarPins | undefined {
    if (log !== 'control') return this.#partitions.pinsOf(log)
    const { pins } = this.#delivered
    return { pin: async (purpose) => pins.pin(purpose), unpin: async (purpose) => pins.unpin(purpose) }
  }

  get #delivered(): RunningDelivery {
    if (!this.#delivery) throw new Error('nothing is open yet')
    return this.#delivery
  }

  /** The first front end, which runs in this thread. */
  get #frontEnd(): RunningFrontEnd {
    if (!this.#front) throw new Error('there is no front end yet')
    return this.#front
  }

  #alarm({ alarm, subject, reason }: AlarmReport): void {
    if (reason === undefined) this.#alarms.release(alarm, subject)
    else this.#alarms.raise(alarm, subject, reason)
  }

  async #startFrontEnd(task: FrontEndTask, events: FrontEvents): Promise<void> {
    const far = await this.#frontEnds.start(task, {
      log: this.#log,
      events,
      feeds: this.#frontEnd.feeds,
      registrations: this.#services.registry.index,
      begins: this.#measures.threadBegins('frontEnd', task.frontEnd),
      started: (far, ended) => {
        this.#registryFeed.add(far.registrations, ended)
        this.#partitions.add(far)
      },
      fatal: this.#fatal,
    })
    this.#delivered.addStreams(far.connectStreams)
  }

  #partitionLaunch(partition: number) {
    const { port1, port2 } = new MessageChannel()
    this.#log.take(port1)
    const { storage, memory } = this.#plan
    const task = {
      ...{ partition, storage, memory },
      entityCache_bytes: this.#options.entityCache_MiB * 2 ** 20,
      limits: {
        size: this.#options.entityMaxSize,
        attributes: maxAttributes,
        values: maxValues,
        metadata: maxMetadata,
        types: this.#options.typesPerId,
      },
      templates: templateSettings(this.#options.notifications),
      subscriptions: this.#delivered.subscriptions.packed(),
      log: port2,
    }
    const logLink = this.#cluster?.link(partition)
    const transfer = logLink === undefined ? [port2] : [port2, logLink.port]
    const nodes = this.#cluster?.nodes
    const position = nodes && numbered(nodes.positions, partition)
    const awaitsOwner = nodes?.reads === 'confirmed'
    return {
      task: { ...task, logLink, position, awaitsOwner },
      transfer,
      heap_MiB: this.#heaps.partition_MiB,
      begins: this.#measures.threadBegins('partition', partition),
    }
  }
}

/** Whether a partition is this node's; always true without a cluster. */
function isConfirmed(position: SharedArrayBuffer | undefined): boolean {
  return position === undefined || new PartitionPosition(position).isConfirmed()
}

/** The task of a front end that shares the socket for other nodes. */
function withSocket(nodes: FrontEndTask['nodes'], fd: number | undefined): FrontEndTask['nodes'] {
  if (nodes === undefined || fd === undefined) return nodes
  return { ...nodes, link: { ...nodes.link, where: { fd } } }
}
