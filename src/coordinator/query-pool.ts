import { Piscina } from 'piscina'
import type { Tenant } from '../context/entity.js'
import type { PathRange, Query } from '../context/query.js'
import type { RecordPage } from '../lmdb/result-page.js'
import type { Outcome } from '../outcome.js'
import { refused } from '../outcome.js'
import type { TypeSummary, Unavailable } from './broker.js'
import type { StateRecords } from './partition-readers.js'
import type { ThreadsStarted } from './threads-started.js'

/** What a query thread is asked. */
export type QueryTask =
  | { readonly kind: 'page' | 'state'; readonly query: Query }
  | { readonly kind: 'types'; readonly tenant: Tenant; readonly paths: readonly PathRange[] }

export interface QueryPoolSettings {
  /** The threads' entry in `workers/`. */
  readonly entry: URL
  readonly threads: number
  /** Queries that may wait for a thread. */
  readonly queueLimit: number
  /** Where the threads say that they have started. */
  readonly started: ThreadsStarted
  /** What the threads need to open the partitions. */
  readonly workerData: unknown
}

/** Scans that a thread has under way at one time: a long one gives way to short ones. */
const scansPerThread = 4

/** The threads that scan, so that a scan delays neither updates nor other requests. */
export class QueryPool {
  readonly #pool: Piscina
  readonly #queueLimit: number
  readonly #threads: number
  readonly #started: ThreadsStarted

  constructor({ entry, threads, queueLimit, started, workerData }: QueryPoolSettings) {
    this.#queueLimit = queueLimit
    this.#pool = new Piscina({
      filename: entry.href,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: scansPerThread,
      maxQueue: queueLimit,
      stricterFIFO: true,
      atomics: 'disabled', // A thread that sleeps between tasks would not go on with the slices of its scans.
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      workerData,
    })
    this.#threads = threads
    this.#started = started
  }

  page(query: Query): Promise<Outcome<RecordPage, Unavailable>> {
    return this.#run<RecordPage>({ kind: 'page', query })
  }

  state(query: Query): Promise<Outcome<StateRecords, Unavailable>> {
    return this.#run<StateRecords>({ kind: 'state', query })
  }

  types(tenant: Tenant, paths: readonly PathRange[]): Promise<Outcome<readonly TypeSummary[], Unavailable>> {
    return this.#run<readonly TypeSummary[]>({ kind: 'types', tenant, paths })
  }

  /** Node aborts the process when a thread is ended that still loads its program. */
  async close(): Promise<void> {
    await this.#started.all(this.#threads)
    await this.#pool.close()
  }

  /** Pages cross as the texts of their records: cloning a graph of objects costs several times as much. */
  async #run<Result>(task: QueryTask): Promise<Outcome<Result, Unavailable>> {
    if (this.#pool.queueSize >= this.#queueLimit) return refused({ kind: 'queriesFull' })
    return this.#pool.run(task)
  }
}
