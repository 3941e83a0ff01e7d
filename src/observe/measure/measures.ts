import { CounterTable, type CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import { Switches, type SwitchMemory } from '../../threads/shared-memory/switches.js'
import { ThreadBeats } from '../../threads/shared-memory/thread-beats.js'
import { type Milliseconds, type Nanoseconds, now } from '../../time.js'
import type { Log } from '../log/log.js'
import { type Countable, Routes } from './counted-routes.js'
import { type CounterName, counterColumn, RequestCountTable } from './counters.js'
import { DeliveryFigures, type DeliveryMemory } from './delivery-figures.js'
import { FigureTable } from './figure-table.js'
import {
  backupFigures,
  engineFigures,
  type ForwardedResult,
  frontEndFigures,
  nodeFigures,
  partitionFigures,
  remoteFigures,
  replicaFigures,
  threadFigures,
} from './figures.js'
import { type StorageMeter, storageMeter, watchUtilization } from './meters.js'
import type { RequestMeter } from './request-counters.js'
import { RequestCounters } from './request-counters.js'
import { RouteTable } from './route-table.js'
import { ServiceMetrics } from './service-metrics.js'
import { SlowRequests } from './slow-requests.js'
import { LoopSteps, logLongSteps, StepTable, type StepTableMemory } from './steps.js'
import { TimingTable } from './timing-table.js'
import type { WaitKind, WaitMeter } from './waits.js'
import { type WaitMemory, WaitTable } from './waits.js'

/** The number of measured threads of each kind. */
export interface Threads {
  readonly frontEnds: number
  readonly partitions: number
  /** Those of all front ends. */
  readonly queryThreads: number
}

/** The memory of the measures, for threads that open them; it survives a structured clone. */
export interface MeasureMemory {
  readonly threads: Threads
  readonly switches: SwitchMemory
  readonly counts: CounterTableMemory
  readonly waits: WaitMemory
  readonly traffic: CounterTableMemory
  /** A row per front end. */
  readonly frontEnds: CounterTableMemory
  readonly timing: CounterTableMemory
  /** A row per partition. */
  readonly partitions: CounterTableMemory
  readonly delivery: DeliveryMemory
  /** A row per front end, a column per partition. */
  readonly mailboxes: CounterTableMemory
  readonly life: CounterTableMemory
  /** A row per thread. */
  readonly threadStates: CounterTableMemory
  /** A row per thread. */
  readonly steps: StepTableMemory
  /** A row per thread. */
  readonly damage: CounterTableMemory
  readonly backups: CounterTableMemory
  readonly engine: CounterTableMemory
  readonly node: CounterTableMemory
  /** A row per front end. */
  readonly remote: CounterTableMemory
  /** A row per partition. */
  readonly replicas: CounterTableMemory
  /** A row per thread, and one behind them for the thread with the connection to etcd. */
  readonly beats: SharedArrayBuffer
}

/** The parts of the statistics that can be switched [management 4.7]. */
export const statisticsParts = ['counters', 'semWait', 'timing', 'notifQueue'] as const
export type StatisticsPart = (typeof statisticsParts)[number]

const partSettings = {
  counters: 'statCounters',
  semWait: 'statSemWait',
  timing: 'statTiming',
  notifQueue: 'statNotifQueue',
} as const satisfies Record<StatisticsPart, string>

const startedColumn = 0
const endingColumn = 1
const certificateColumn = 2

/**
 * All measures, for one thread: its own rows to write, the rows of all threads to read. Rows are numbered through the front ends,
 * the partitions and the query threads; the courier has the last one (see `rowOf`).
 */
export class Measures {
  readonly memory: MeasureMemory
  readonly threads: Threads
  readonly switches: Switches
  readonly counts: RequestCountTable
  readonly waits: WaitTable
  readonly traffic: RouteTable
  /** What arrives at the front ends, and what they forward. */
  readonly frontEnds: FigureTable<typeof frontEndFigures.all>
  readonly timing: TimingTable
  readonly partitions: FigureTable<typeof partitionFigures.all>
  /** The utilisation and the heaps of the threads. */
  readonly threadTable: FigureTable<typeof threadFigures.all>
  readonly stepTable: StepTable
  readonly steps: LoopSteps
  /** The queue and the outcomes of notifications. */
  readonly delivery: DeliveryFigures
  readonly backups: FigureTable<typeof backupFigures.all>
  /** The connection to etcd. */
  readonly engine: FigureTable<typeof engineFigures.all>
  /** This broker as a node of a cluster. */
  readonly node: FigureTable<typeof nodeFigures.all>
  /** Batches that other nodes carry out for this one. */
  readonly remote: FigureTable<typeof remoteFigures.all>
  /** The replicas of partitions on this node. */
  readonly replicas: FigureTable<typeof replicaFigures.all>
  readonly beats: ThreadBeats
  /** The requests of this front end by service; those of other front ends are asked for by message. */
  readonly services = new ServiceMetrics()
  /** The last slow requests of this front end; those of other front ends are asked for by message. */
  readonly slow = new SlowRequests()
  /** The names that requests are counted under; complete once `requests` was called in this thread. */
  routes: Routes = new Routes([])
  readonly #row: number
  readonly #mailboxes: CounterTable
  readonly #life: CounterTable
  readonly #damage: CounterTable

  /** Makes the measures, in the main thread, which is the first front end; with the switches of its log. */
  static make(threads: Threads, switches: Switches = new Switches()): Measures {
    const { frontEnds, partitions } = threads
    const rows = rowsOf(threads)
    const at = process.hrtime.bigint()
    const life = CounterTable.make(1, 3, 0, at)
    life.put(0, startedColumn, at)
    const memory: MeasureMemory = {
      threads,
      switches: switches.memory,
      counts: RequestCountTable.make(rows, at),
      waits: WaitTable.make(rows, partitions, at),
      traffic: RouteTable.make(frontEnds, at),
      frontEnds: FigureTable.make(frontEndFigures, frontEnds, at),
      timing: TimingTable.make(frontEnds, at),
      partitions: FigureTable.make(partitionFigures, partitions, at),
      delivery: DeliveryFigures.make(partitions + 1, at),
      mailboxes: CounterTable.make(frontEnds, partitions, 0, at).memory,
      life: life.memory,
      threadStates: FigureTable.make(threadFigures, rows, at),
      steps: StepTable.make(rows, at),
      damage: CounterTable.make(rows, 1, 0, at).memory,
      backups: FigureTable.make(backupFigures, 1, at),
      engine: FigureTable.make(engineFigures, 1, at),
      node: FigureTable.make(nodeFigures, 1, at),
      remote: FigureTable.make(remoteFigures, frontEnds, at),
      replicas: FigureTable.make(replicaFigures, partitions, at),
      beats: ThreadBeats.memory(rows + 1),
    }
    return new Measures(memory, 0)
  }

  /** Opens the measures that the main thread made. */
  constructor(memory: MeasureMemory, row: number) {
    this.memory = memory
    this.threads = memory.threads
    this.#row = row
    this.switches = new Switches(memory.switches)
    this.counts = new RequestCountTable(memory.counts)
    this.waits = new WaitTable(memory.waits, this.switches)
    this.traffic = new RouteTable(memory.traffic)
    this.frontEnds = new FigureTable(frontEndFigures, memory.frontEnds)
    this.timing = new TimingTable(memory.timing)
    this.partitions = new FigureTable(partitionFigures, memory.partitions)
    this.threadTable = new FigureTable(threadFigures, memory.threadStates)
    this.stepTable = new StepTable(memory.steps)
    this.steps = new LoopSteps(this.stepTable, row, this.switches)
    this.delivery = new DeliveryFigures(memory.delivery)
    this.backups = new FigureTable(backupFigures, memory.backups)
    this.engine = new FigureTable(engineFigures, memory.engine)
    this.node = new FigureTable(nodeFigures, memory.node)
    this.remote = new FigureTable(remoteFigures, memory.remote)
    this.replicas = new FigureTable(replicaFigures, memory.replicas)
    this.beats = new ThreadBeats(memory.beats)
    this.#mailboxes = new CounterTable(memory.mailboxes)
    this.#life = new CounterTable(memory.life)
    this.#damage = new CounterTable(memory.damage)
  }

  /** The row of this thread, see `rowOf`. */
  get row(): number {
    return this.#row
  }

  /** Where this thread records its waits for a resource. */
  wait(kind: WaitKind, partition?: number): WaitMeter {
    return this.waits.meter(this.#row, kind, partition)
  }

  /** Where a partition's own thread records its work. */
  storage(partition: number): StorageMeter {
    return storageMeter(this.partitions.row(partition))
  }

  /** Where this front end counts its requests. Every front end has to pass the same resources in the same order. */
  requests(resources: readonly Countable[]): RequestMeter {
    this.routes = new Routes(resources)
    return new RequestCounters(this, this.#row, this.routes, resources)
  }

  /** Counts something other than a request, in this thread's row. */
  count(name: CounterName, amount = 1): void {
    this.counts.add(this.#row, counterColumn(name), BigInt(amount))
  }

  /** This thread has met a damaged record. */
  damaged(): void {
    this.#damage.add(this.#row, 0, 1n)
  }

  /** How often threads have met damaged records. */
  get damages(): number {
    return Number(this.#damage.total(0))
  }

  /** Makes this thread report its beats, its utilisation and its longest steps, until the function that it gives is called. */
  watchThread(): () => void {
    const ends = [this.watchWork(), this.beats.watch(this.#row)]
    return () => {
      for (const end of ends) end()
    }
  }

  /** Reports this thread's utilisation and its longest steps; call the returned function to stop. */
  watchWork(): () => void {
    const ends = [watchUtilization(this.threadTable.row(this.#row)), this.steps.watch()]
    return () => {
      for (const end of ends) end()
    }
  }

  /** Watches a thread when it is started, until what that gives is called: see `ThreadBeats`. */
  threadBegins(kind: ThreadKind, number: number): () => () => void {
    return () => this.beats.begins(rowOf(this.threads, kind, number))
  }

  /** All threads with beats, with their names in log lines. */
  get beating(): readonly { readonly row: number; readonly name: string }[] {
    const threads = threadsOf(this.threads).map(({ kind, number, row }) => ({ name: threadNames[kind](number), row }))
    return [...threads, { name: 'the thread of the cluster', row: rowsOf(this.threads) }]
  }

  /** Logs the long steps of all threads until the function that it gives is called; for the main thread only. */
  logLongSteps(log: Log): () => void {
    const threads = threadsOf(this.threads).map(({ kind, number, row }) => ({ name: threadNames[kind](number), row }))
    return logLongSteps(this.stepTable, threads, log)
  }

  /** Records a request of this front end to a context provider. */
  forwarded(result: ForwardedResult, duration: Nanoseconds): void {
    const row = this.frontEnds.row(this.#row)
    row.add(`forwards.${result}`)
    row.record('forwardDurations', duration)
  }

  /** The number of queries of this front end that wait for a query thread, and of those that run. */
  queries(waiting: number, running: number): void {
    const row = this.frontEnds.row(this.#row)
    row.put('queriesWaiting', waiting)
    row.put('queriesRunning', running)
  }

  /** How many permits of requests that wait for a silent node this front end has lent. */
  permitsLent(lent: number): void {
    this.frontEnds.row(this.#row).put('permitsLent', lent)
  }

  /** Takes the number of this front end's messages in a partition's mailbox: 0 at first, whatever a replaced thread left. */
  mailboxDepth(partition: number): { set(messages: number): void } {
    const set = (messages: number): void => this.#mailboxes.put(this.#row, partition, BigInt(messages))
    set(0)
    return { set }
  }

  /** The number of messages in a partition's mailbox, from all front ends. */
  mailboxDepthOf(partition: number): number {
    return Number(this.#mailboxes.total(partition))
  }

  /** A partition's thread was replaced; for the main thread only. */
  restarted(partition: number): void {
    const row = this.partitions.row(partition)
    row.add('restarts')
    row.put('restarted_ms', now())
  }

  /** Entities of a partition were removed because they had expired. */
  expired(partition: number, entities: number): void {
    this.partitions.row(partition).add('expired', entities)
  }

  /** When the process started, by the monotonic clock. */
  get startedAt(): Nanoseconds {
    return this.#life.value(0, startedColumn)
  }

  /** Whether the broker is ending [management 12.2]. */
  get ending(): boolean {
    return this.#life.value(0, endingColumn) !== 0n
  }

  /** The broker begins its orderly end; for the main thread only. */
  end(): void {
    this.#life.put(0, endingColumn, 1n)
  }

  /** The end of validity of the certificate for new connections; for the main thread only. */
  certified(until: Milliseconds): void {
    this.#life.put(0, certificateColumn, BigInt(until))
  }

  /** The end of validity of the certificate; undefined without one. */
  get certificateEnd(): Milliseconds | undefined {
    const until = Number(this.#life.value(0, certificateColumn))
    return until === 0 ? undefined : (until as Milliseconds)
  }

  /** Whether a part of the statistics is gathered [management 4.7]. */
  isOn(part: StatisticsPart): boolean {
    return this.switches.get(partSettings[part]) !== 0
  }

  /** Switches a part of the statistics; one that was off starts at zero [management 4.7]. */
  switchPart(part: StatisticsPart, on: boolean, at: Nanoseconds): void {
    if (on === this.isOn(part)) return
    if (on) this.#resetPart(part, at)
    this.switches.set(partSettings[part], on ? 1 : 0)
  }

  /** Begins a new measuring interval: all counts and measurements start at zero, for all threads [management 4.2]. */
  reset(at: Nanoseconds): void {
    this.counts.reset(at)
    this.waits.reset(at)
    this.timing.reset(at)
    this.delivery.reset(at)
  }

  #resetPart(part: StatisticsPart, at: Nanoseconds): void {
    if (part === 'counters') this.counts.resetNested(at)
    if (part === 'semWait') this.waits.reset(at)
    if (part === 'timing') this.timing.reset(at)
    if (part === 'notifQueue') this.delivery.reset(at)
  }
}

/** The kinds of threads that have rows, in the order of the rows. */
type ThreadKind = 'frontEnd' | 'partition' | 'queryThread' | 'courier'

/** The names of threads in log lines. */
const threadNames: Readonly<Record<ThreadKind, (number: number) => string>> = {
  frontEnd: (number) => `front end ${number}`,
  partition: (number) => `partition ${number}`,
  queryThread: (number) => `query thread ${number}`,
  courier: () => 'the courier',
}

/** Every thread that has a row: its kind, its number within the kind, and the row. */
export function threadsOf(
  threads: Threads,
): readonly { readonly kind: ThreadKind; readonly number: number; readonly row: number }[] {
  const { frontEnds: frontEnd, partitions: partition, queryThreads: queryThread } = threads
  const numbers = { frontEnd, partition, queryThread, courier: 1 }
  return (['frontEnd', 'partition', 'queryThread', 'courier'] as const).flatMap((kind) =>
    Array.from({ length: numbers[kind] }, (_, number) => ({ kind, number, row: rowOf(threads, kind, number) })),
  )
}

/** The number of rows: one for each thread. */
export function rowsOf(threads: Threads): number {
  return rowOf(threads, 'courier', 0) + 1
}

/** The row of a thread among those of all threads. */
export function rowOf({ frontEnds, partitions, queryThreads }: Threads, kind: ThreadKind, number: number): number {
  const first = {
    frontEnd: 0,
    partition: frontEnds,
    queryThread: frontEnds + partitions,
    courier: frontEnds + partitions + queryThreads,
  }
  return first[kind] + number
}
