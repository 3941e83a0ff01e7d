import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { DamagedRecord } from '../../faults.js'
import type { Tenant } from '../../model/context/entity.js'
import type { PathRange, Query, QueryRefusal } from '../../model/context/query.js'
import type { Log } from '../../observe/log/log.js'
import type { HandleWait } from '../../observe/measure/slow-requests.js'
import { err, type Result } from '../../result.js'
import type { RecordPage } from '../../storage/store/result-page.js'
import type { ViewName, Views, ViewTask } from '../../storage/store/views/views.js'
import type { Client } from '../operations/api.js'
import type { Unavailable } from './broker.js'
import type { StateRecords } from './partition-readers.js'
import type { PoolThreads } from './pool-threads.js'
import { ScanQueue, type ScanRun, type ScanStops } from './scan-queue.js'

/** A request to a query thread, and whether it reports how long it waited for read handles. */
export type QueryTask = { readonly isTimed?: boolean } & (
  | { readonly kind: 'page' | 'state'; readonly query: Query }
  | { readonly kind: 'view'; readonly view: ViewTask }
  | {
      readonly kind: 'types'
      readonly tenant: Tenant
      readonly paths: readonly PathRange[]
      /** Whether the types of attributes are asked for. */
      readonly isDetailed: boolean
    }
)

/** A task as it goes to a query thread. */
export type ScanTask = QueryTask & ScanRun

/** The result of a scan; undefined when it was stopped. A fault of the scan does not end the thread. */
export type Scanned =
  | (Result<unknown, QueryRefusal> & HandlesTaken)
  | { readonly fault: unknown }
  | { readonly damage: string }
  | undefined

/** Where the read handles of a scan were waited for. */
interface HandlesTaken {
  readonly handles?: readonly HandleWait[]
}

/** How many scans run at a time, of either kind. */
export interface ScanPermits {
  readonly long: number
  readonly short: number
}

export interface QueryPoolSettings {
  /** The threads' entry in `workers/`. */
  readonly entry: URL
  readonly threads: number
  /** How large the heap of each may grow, in MiB: beyond it the thread dies. As large as Node allows unless it is given. */
  readonly heap_MiB?: number
  readonly permits: ScanPermits
  /** Queries that may wait for a thread. */
  readonly queueLimit: number
  /** How long a query may take, waiting included. */
  readonly limit_ms: number
  /** The threads take their numbers here, and report that they have started. */
  readonly members: PoolThreads
  /** The thread of a number has ended before its time: gives back what it held in shared memory. */
  readonly ended: (number: number) => void
  /** The threads read here whether a scan is to end. */
  readonly stops: ScanStops
  /** For the threads to open the partitions. */
  readonly workerData: unknown
  /** See `ScanQueueSettings`. */
  readonly changed?: (waiting: number, running: number) => void
  readonly log: Pick<Log, 'error'>
}

/** Scans that a thread has under way at one time: a long one gives way to short ones. */
const scansPerThread = 4

/** A plain page that ends within this many entities is short. */
const shortPage = 2000

/**
 * The permits for scans of one front end: a quarter of them are kept for short ones. All long scans of all front ends
 * leave read handles to others as far as there are enough of them.
 */
export function scanPermits(threads: number, frontEnds: number, readHandles: number): ScanPermits {
  const handles = Math.max(1, Math.floor((readHandles * 2) / 3 / frontEnds))
  const long = Math.min(threads * (scansPerThread - 1), handles)
  return { long, short: threads }
}

/** The threads that scan, so that a scan delays neither updates nor other requests. */
export class QueryPool {
  readonly #pool: Piscina
  readonly #queue: ScanQueue<QueryTask, QueryThreadResponse>
  readonly #stops: ScanStops
  readonly #log: Pick<Log, 'error'>
  #closing = false
  #closed: Promise<void> | undefined
  readonly #members: PoolThreads
  readonly #ended: (number: number) => void
  readonly #watched = new Set<Worker>()

  constructor(settings: QueryPoolSettings) {
    const { entry, threads, permits, queueLimit, limit_ms, members, ended, stops, workerData, heap_MiB, log, changed } =
      settings
    this.#pool = new Piscina({
      filename: entry.href,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: scansPerThread,
      atomics: 'disabled', // A thread that sleeps between tasks would not go on with the slices of its scans.
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      workerData,
      ...(heap_MiB !== undefined && { resourceLimits: { maxOldGenerationSizeMb: heap_MiB } }),
    })
    this.#stops = stops
    this.#log = log
    this.#queue = new ScanQueue<QueryTask, QueryThreadResponse>({
      ...permits,
      limit: queueLimit,
      limit_ms,
      stops,
      ...(changed && { changed }),
      run: (task, run) => this.#scan({ ...task, ...run }),
    })
    // A thread that ends without a task is also reported here; `#watch` handles every end.
    this.#pool.on('error', () => {})
    this.#members = members
    this.#ended = ended
    // The pool reports an ended thread before it replaces it.
    this.#pool.on('workerDestroy', () => setImmediate(() => this.#watch()))
    this.#watch()
  }

  page(query: Query, client?: Client): Promise<Result<RecordPage, Unavailable>> {
    return this.#run<RecordPage>({ kind: 'page', query }, isShort(query), client)
  }

  state(query: Query): Promise<Result<StateRecords, Unavailable>> {
    return this.#run<StateRecords>({ kind: 'state', query }, isShort(query))
  }

  /** Types as texts, of which `summariesIn` makes them. */
  types(
    tenant: Tenant,
    paths: readonly PathRange[],
    isDetailed = false,
    client?: Client,
  ): Promise<Result<readonly string[], Unavailable>> {
    return this.#run<readonly string[]>({ kind: 'types', tenant, paths, isDetailed }, true, client)
  }

  /** A view of the console, which ends soon whatever it is asked. */
  view<Name extends ViewName>(
    name: Name,
    request: Views[Name]['request'],
    client: Client,
  ): Promise<Result<Views[Name]['found'], Unavailable>> {
    // The name and what is asked go together.
    const view = { name, request } as ViewTask
    return this.#run<Views[Name]['found']>({ kind: 'view', view }, true, client)
  }

  /** Ends all scans. Node aborts the process when a thread is ended that still loads its program. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#closing = true
    this.#queue.close()
    await this.#members.allLoaded()
    await this.#pool.close()
  }

  /**
   * Pages cross as the texts of their records: cloning a graph of objects costs several times as much. The request has no
   * permit while it is scanned for, so that scans take nothing of what updates need.
   */
  async #run<Response>(task: QueryTask, short: boolean, client?: Client): Promise<Result<Response, Unavailable>> {
    const times = client?.times
    const scan = () => this.#queue.run(times ? { ...task, isTimed: true } : task, short, client)
    const found = client === undefined ? await scan() : await client.aside(scan)
    if (times && found.ok) for (const wait of found.value.handles ?? []) times.handle(wait)
    // A thread answers what its task asks for.
    return found.ok ? (found.value as Result<Response, Unavailable>) : found
  }

  /** A scan only reads: what dies with its thread is done again, once. */
  async #scan(task: ScanTask): Promise<QueryThreadResponse | undefined> {
    const first = await this.#tried(task)
    const found = first === threadLost ? await this.#tried(task) : first
    if (found === threadLost) return err({ kind: 'scanLost' })
    if (found !== undefined && 'fault' in found) throw found.fault
    if (found !== undefined && 'damage' in found) throw new DamagedRecord(found.damage)
    return found
  }

  /** Whatever a task has to say is its result: when there is none its thread has died. */
  async #tried(task: ScanTask): Promise<Scanned | typeof threadLost> {
    if (this.#stops.isStopped(task.permit)) return undefined
    const scanned: Promise<Scanned> = this.#pool.run(task)
    this.#watch() // A pool that had lost its threads while they started has made one for this.
    try {
      return await scanned
    } catch {
      return threadLost
    }
  }

  /**
   * Hears of the end of every thread that there is: a pool replaces those that die, and says of none
   * what it held.
   */
  #watch(): void {
    for (const thread of this.#pool.threads) {
      if (this.#watched.has(thread)) continue
      this.#watched.add(thread)
      const { threadId } = thread // Once it has ended it has none.
      let reason: unknown
      thread.once('error', (fault) => {
        reason = fault
      })
      thread.once('exit', (code) => {
        this.#watched.delete(thread)
        const number = this.#members.numberOf(threadId)
        if (!this.#closing)
          this.#log.error('worker:died', `a query thread failed: ${String(reason ?? `exit code ${code}`)}`)
        if (number === undefined) return
        this.#ended(number)
        this.#members.leave(number)
      })
    }
  }
}

const threadLost = 'threadLost'

/** Beside what a scan finds or refuses: it died with two threads. */
type QueryThreadResponse = Result<unknown, QueryRefusal | { readonly kind: 'scanLost' }> & HandlesTaken

/** Whether every entity that a scan meets in its paths is a result of it, and it ends with the page. */
function isShort({ selectors, attributes, scopes, order, offset, limit }: Query): boolean {
  if (order.length > 0 || offset + limit > shortPage) return false
  const isAnyId = selectors.every(({ id, typePattern }) => id.kind === 'any' && typePattern === undefined)
  return attributes.length === 0 && scopes.length === 0 && isAnyId
}
