import { err, ok, type Result } from '../../result.js'
import type { Client } from '../operations/api.js'

/** Why there is no result of a scan. */
export type ScanRefusal =
  /** As many scans wait as may. */
  | { readonly kind: 'queriesFull' }
  /** It was not done within its time, waiting included, or its client has gone. */
  | { readonly kind: 'queryLate' }

/** Memory by which a scan under way is told to end, a cell for each permit. */
export class ScanStops {
  readonly #cells: Int32Array

  static memory(permits: number): SharedArrayBuffer {
    return new SharedArrayBuffer(permits * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  clear(permit: number): void {
    Atomics.store(this.#cells, permit, 0)
  }

  stop(permit: number): void {
    Atomics.store(this.#cells, permit, 1)
  }

  isStopped(permit: number): boolean {
    return Atomics.load(this.#cells, permit) === 1
  }
}

/** Where and for how long a scan runs. */
export interface ScanRun {
  readonly permit: number
  /** Slices after which it ends without a result, to be run again from its beginning; none for one that may run on. */
  readonly slices: number | undefined
}

export interface ScanQueueSettings<Task, Found> {
  /** Permits for scans that may take long, and for those that are short or have not shown yet that they are not. */
  readonly long: number
  readonly short: number
  /** Scans that may wait for a permit. */
  readonly limit: number
  /** From asking to the result. */
  readonly limit_ms: number
  readonly stops: ScanStops
  /** Told whenever it changes how many scans wait for a permit and how many run. */
  readonly changed?: (waiting: number, running: number) => void
  /** Runs a scan; nothing when it was stopped or has used up its slices. */
  readonly run: (task: Task, run: ScanRun) => Promise<Found | undefined>
}

/** How long a scan may show that it is short: longer than nearly every page takes whose results are not rare. */
const trialSlices = 2

/** How long a scan that is expected to be short may take. */
const shortSlices = 20

/**
 * The order in which scans run. Permits are kept for short ones: those that can not take long, and the beginning of every
 * other one. Whatever is not done by then waits for a permit among the long ones and begins anew there, so that a page of
 * one waits for no more than the trials of those before it, however long they take in the end.
 */
export class ScanQueue<Task, Found> {
  readonly #settings: ScanQueueSettings<Task, Found>
  readonly #short = new Set<Scan<Task, Found>>()
  readonly #untried = new Set<Scan<Task, Found>>()
  /** Those that had their trial. */
  readonly #long = new Set<Scan<Task, Found>>()
  readonly #running = new Set<Scan<Task, Found>>()
  readonly #free: { readonly long: number[]; readonly short: number[] }
  #closed = false

  constructor(settings: ScanQueueSettings<Task, Found>) {
    this.#settings = settings
    const permits = (count: number, first: number) => Array.from({ length: count }, (_, at) => first + at)
    this.#free = { long: permits(settings.long, 0), short: permits(settings.short, settings.long) }
  }

  /** Runs a scan when it is its turn. One whose client has gone, or that is late, is ended wherever it is. */
  run(task: Task, isShort: boolean, client?: Client): Promise<Result<Found, ScanRefusal>> {
    if (client?.gone || this.#closed) return Promise.resolve(err({ kind: 'queryLate' }))
    if (this.#waiting >= this.#settings.limit) return Promise.resolve(err({ kind: 'queriesFull' }))
    return new Promise((resolve, reject) => {
      const end = () => this.#giveUp(scan)
      const timer = setTimeout(end, this.#settings.limit_ms)
      const scan: Scan<Task, Found> = {
        task,
        permit: undefined,
        over: false,
        resolve: (result) => {
          clearTimeout(timer)
          resolve(result)
        },
        fail: (fault) => {
          clearTimeout(timer)
          reject(fault)
        },
      }
      client?.whenGone(end)
      const queue = isShort ? this.#short : this.#untried
      queue.add(scan)
      this.#start()
      this.#tell()
    })
  }

  /** Ends everything, under way or not. */
  close(): void {
    this.#closed = true
    for (const scan of [...this.#short, ...this.#untried, ...this.#long, ...this.#running]) this.#giveUp(scan)
  }

  get #waiting(): number {
    return this.#short.size + this.#untried.size + this.#long.size
  }

  /** Nobody waits for its result any more. Its permit is free when its thread has noticed. */
  #giveUp(scan: Scan<Task, Found>): void {
    if (scan.over) return
    scan.over = true
    if (scan.permit !== undefined) this.#settings.stops.stop(scan.permit)
    for (const queue of [this.#short, this.#untried, this.#long]) queue.delete(scan)
    scan.resolve(err({ kind: 'queryLate' }))
    this.#tell()
  }

  #tell(): void {
    this.#settings.changed?.(this.#waiting, this.#running.size)
  }

  #start(): void {
    const { short, long } = this.#free
    for (;;) {
      if (short.length > 0 && this.#short.size > 0) this.#take(short, this.#short, shortSlices)
      else if (long.length > 0 && this.#long.size > 0) this.#take(long, this.#long)
      else if (long.length > 0 && this.#untried.size > 0) this.#take(long, this.#untried)
      else if (long.length > 0 && this.#short.size > 0) this.#take(long, this.#short)
      else if (short.length > 0 && this.#untried.size > 0) this.#take(short, this.#untried, trialSlices)
      else return
    }
  }

  #take(permits: number[], queue: Set<Scan<Task, Found>>, slices?: number): void {
    const [scan] = queue
    const permit = permits.pop()
    if (scan === undefined || permit === undefined) throw new Error('a scan needs somebody who waits, and a permit')
    queue.delete(scan)
    scan.permit = permit
    this.#running.add(scan)
    this.#settings.stops.clear(permit)
    const left = () => {
      scan.permit = undefined
      this.#running.delete(scan)
      permits.push(permit)
    }
    this.#settings.run(scan.task, { permit, slices }).then(
      (found) => {
        left()
        this.#ended(scan, found)
        this.#start()
        this.#tell()
      },
      (fault) => {
        left()
        if (!scan.over) scan.fail(fault)
        scan.over = true
        this.#start()
        this.#tell()
      },
    )
  }

  #ended(scan: Scan<Task, Found>, found: Found | undefined): void {
    if (scan.over) return
    if (found === undefined) this.#long.add(scan)
    else {
      scan.over = true
      scan.resolve(ok(found))
    }
  }
}

interface Scan<Task, Found> {
  readonly task: Task
  /** While it runs. */
  permit: number | undefined
  over: boolean
  readonly resolve: (result: Result<Found, ScanRefusal>) => void
  readonly fail: (fault: unknown) => void
}
