import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { type Baseline, CounterTable, type CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import type { Switches } from '../../threads/shared-memory/switches.js'
import type { Nanoseconds } from '../../time.js'
import { type BucketReading, durationBuckets } from './buckets.js'

/**
 * Columns of one resource: the number of uses, the longest wait, the number of the reset after which that was found, the waits.
 */
const count = 0
const longest = 1
const longestSince = 2
const buckets = 3
const width = buckets + durationBuckets.width
const reset = 0
const longestRecorded_ns = 3.6e12 // One hour; longer waits count as that in the percentiles, but not in sum and maximum.

export interface WaitMemory {
  readonly partitions: number
  readonly table: CounterTableMemory
  /** A cloned histogram shares its data with the original: percentiles need no messages and are never stale. */
  readonly histograms: readonly RecordableHistogram[]
}

/** The waits of all threads for all resources [management 5]. */
export class WaitTable {
  readonly memory: WaitMemory
  readonly #table: CounterTable
  readonly #switches: Switches

  static make(rows: number, partitions: number, at: Nanoseconds): WaitMemory {
    const resources = 1 + (waitKinds.length - 1) * partitions
    const histogram = () => createHistogram({ lowest: 1, highest: longestRecorded_ns, figures: 3 })
    return {
      partitions,
      table: CounterTable.make(rows, resources * width, 1, at).memory,
      histograms: Array.from({ length: resources }, histogram),
    }
  }

  constructor(memory: WaitMemory, switches: Switches) {
    this.memory = memory
    this.#table = new CounterTable(memory.table)
    this.#switches = switches
  }

  /** Where the thread of this row records its waits. */
  meter(row: number, kind: WaitKind, partition = 0): WaitMeter {
    const resource = this.#resource(kind, partition)
    return new TableWaitMeter(this.#table, row, resource * width, this.#histogram(resource), this.#switches)
  }

  /** The start of the measurement: the last reset, or when it was switched on. What is read from it belongs together. */
  get since(): Baseline {
    return this.#table.baseline(reset)
  }

  /** The sum of the waits for a resource, over all partitions. */
  total(kind: WaitKind, from = this.since): Nanoseconds {
    return this.#resources(kind).reduce((sum, resource) => sum + totalOf(resource, from), 0n)
  }

  /** The waits for a resource, in one partition or over all. */
  reading(kind: WaitKind, partition?: number, from = this.since): WaitReading {
    const resources = partition === undefined ? this.#resources(kind) : [this.#resource(kind, partition)]
    const sum = (part: (resource: number) => bigint) => resources.reduce((sofar, one) => sofar + part(one), 0n)
    // A use is counted after its wait, so every use that is counted here has its wait.
    const requested = sum((resource) => from.since(resource * width + count))
    const waited = least(
      sum((resource) => durationBuckets.count(from.since, resource * width + buckets)),
      requested,
    )
    const max = waited === 0n ? 0n : this.#longest(resources, from)
    const histogram = this.#merged(resources)
    const below = (perMille: number) => quantile(histogram, Number(requested), perMille, max)
    return {
      count: requested,
      waited,
      total: sum((resource) => totalOf(resource, from)),
      max,
      p50: below(500),
      p90: below(900),
      p99: below(990),
      p999: below(999),
    }
  }

  /** The waits for a resource in one partition and their distribution, uses without a wait excluded: cheaper than `reading`. */
  sums(kind: WaitKind, partition = 0, from = this.since): WaitSums & { readonly distribution: BucketReading } {
    const resource = this.#resource(kind, partition)
    // A wait is always counted by its own thread: the rows of threads that never use this resource are not read.
    const rows = this.#table.rowsWith(resource * width + count)
    const column = (at: number) => from.since(at, rows)
    const distribution = durationBuckets.reading(column, resource * width + buckets)
    const waited = BigInt(distribution.counts.at(-1) ?? 0)
    const requested = column(resource * width + count)
    return {
      // A wait may be recorded just before its use is counted.
      count: requested > waited ? requested : waited,
      waited,
      total: durationBuckets.sum(column, resource * width + buckets),
      max: waited === 0n ? 0n : this.#longest([resource], from, rows),
      distribution,
    }
  }

  /**
   * The number of waits by length, in one partition or over all: one number for each bound of `durationBuckets`, and one for
   * longer waits.
   */
  distribution(kind: WaitKind, partition?: number, from = this.since): readonly number[] {
    const resources = partition === undefined ? this.#resources(kind) : [this.#resource(kind, partition)]
    return Array.from({ length: durationBuckets.bounds.length + 1 }, (_, bucket) =>
      resources.reduce((sum, resource) => sum + Number(from.since(resource * width + buckets + bucket)), 0),
    )
  }

  /** The waits in one partition by length since the start of the process, cumulative: cheaper than `buckets`. */
  lengths(kind: WaitKind, partition = 0): readonly number[] {
    const first = this.#resource(kind, partition) * width
    // A wait is always counted by its own thread, see `sums`.
    const rows = this.#table.rowsWith(first + count)
    const column = (at: number) => rows.reduce((sum, row) => sum + this.#table.value(row, at), 0n)
    return durationBuckets.reading(column, first + buckets).counts
  }

  /** All waits since the start of the process, regardless of resets. */
  buckets(kind: WaitKind, partition = 0): BucketReading {
    const first = this.#resource(kind, partition) * width
    const all = (column: number) => this.#table.total(column)
    const zeros = all(first + count) - durationBuckets.count(all, first + buckets)
    return durationBuckets.reading(all, first + buckets, zeros > 0n ? zeros : 0n)
  }

  /** From now on everything counts from zero. */
  reset(at: Nanoseconds): void {
    this.#table.setBaseline(reset, at)
    // Writing to an empty histogram would only fetch its pages.
    for (const histogram of this.memory.histograms) if (histogram.count > 0) histogram.reset()
  }

  #longest(resources: readonly number[], from: Baseline, rows?: readonly number[]): Nanoseconds {
    let max = 0n
    for (const resource of resources) {
      for (const row of rows ?? this.#table.rowsWith(resource * width + count)) {
        if (this.#table.value(row, resource * width + longestSince) !== from.number) continue
        const found = this.#table.value(row, resource * width + longest)
        if (found > max) max = found
      }
    }
    return max
  }

  #merged(resources: readonly number[]): RecordableHistogram {
    const [only] = resources
    if (only !== undefined && resources.length === 1) return this.#histogram(only)
    const merged = createHistogram({ lowest: 1, highest: longestRecorded_ns, figures: 3 })
    for (const resource of resources) merged.add(this.#histogram(resource))
    return merged
  }

  #histogram(resource: number): RecordableHistogram {
    const histogram = this.memory.histograms[resource]
    if (histogram === undefined) throw new Error(`there is no resource ${resource} to wait for`)
    return histogram
  }

  #resource(kind: WaitKind, partition: number): number {
    const group = waitKinds.indexOf(kind)
    return group === 0 ? 0 : 1 + (group - 1) * this.memory.partitions + partition
  }

  #resources(kind: WaitKind): readonly number[] {
    const partitions = kind === 'request' ? 1 : this.memory.partitions
    return Array.from({ length: partitions }, (_, partition) => this.#resource(kind, partition))
  }
}

function totalOf(resource: number, from: Baseline): Nanoseconds {
  return durationBuckets.sum(from.since, resource * width + buckets)
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

/** The value that this many of a thousand uses do not exceed; uses that are not in the histogram had no wait. */
function quantile(histogram: RecordableHistogram, count: number, perMille: number, max: Nanoseconds): Nanoseconds {
  const waited = histogram.count
  const rank = Math.ceil((count * perMille) / 1000) - Math.max(0, count - waited)
  if (rank <= 0 || waited === 0) return 0n
  const value = BigInt(histogram.percentile(Math.min(100, (rank / waited) * 100)))
  return value < max ? value : max // A histogram of three digits rounds up, the maximum is exact.
}

class TableWaitMeter implements WaitMeter {
  readonly #table: CounterTable
  readonly #row: number
  readonly #first: number
  readonly #histogram: RecordableHistogram
  readonly #switches: Switches

  constructor(table: CounterTable, row: number, first: number, histogram: RecordableHistogram, switches: Switches) {
    this.#table = table
    this.#row = row
    this.#first = first
    this.#histogram = histogram
    this.#switches = switches
  }

  get on(): boolean {
    return this.#switches.get('statSemWait') !== 0
  }

  free(): void {
    if (this.on) this.#table.add(this.#row, this.#first + count, 1n)
  }

  waited(wait: Nanoseconds): void {
    if (!this.on) return
    if (wait > 0n) {
      durationBuckets.record(this.#table, this.#row, this.#first + buckets, wait)
      this.#histogram.record(Math.min(Number(wait), longestRecorded_ns))
    }
    const since = this.#table.begun(reset)
    if (wait > 0n) this.#keepLongest(wait, since)
    this.#table.add(this.#row, this.#first + count, 1n)
    // A concurrent reset may or may not have counted the wait: the wait then belongs to the time behind the reset.
    const now = this.#table.begun(reset)
    if (wait > 0n && now !== since) this.#keepLongest(wait, now)
  }

  /** A reset cannot write here, so a maximum from before the last reset is recognised by its number and replaced. */
  #keepLongest(wait: Nanoseconds, since: bigint): void {
    const current = this.#table.value(this.#row, this.#first + longestSince) === since
    if (current && wait <= this.#table.value(this.#row, this.#first + longest)) return
    this.#table.put(this.#row, this.#first + longest, wait)
    this.#table.put(this.#row, this.#first + longestSince, since)
  }
}

/**
 * The resources that a request can wait for [management 5]. All but the first exist once per partition. Turns wait for the
 * `append` of their records in a cluster only.
 */
export const waitKinds = ['request', 'dbConnectionPool', 'transaction', 'mailbox', 'append'] as const
export type WaitKind = (typeof waitKinds)[number]

/** What a wait is for, and what a long one says, as operators read it. */
export interface WaitMeaning {
  readonly waitsFor: string
  readonly whenHigh: string
}

export const waitMeanings: Readonly<Record<WaitKind, WaitMeaning>> = {
  request: {
    waitsFor:
      'one of the `-reqPoolSize` permits to work. A request gives its permit back while a query thread or a context provider works for it.',
    whenHigh: 'More arrives than is finished. The other waits say where it is stuck.',
  },
  dbConnectionPool: {
    waitsFor: 'one of the `-dbPoolSize` read handles of a partition',
    whenHigh: 'long scans, or a small pool',
  },
  transaction: {
    waitsFor: 'the write transaction of its partition, while the turn before is under way',
    whenHigh: 'a slow disk, or a partition with more updates than it can take',
  },
  mailbox: {
    waitsFor: 'its turn, from entering the mailbox of a partition until its thread takes it out',
    whenHigh:
      'If the wait for the transaction is low at the same time, the thread does not get to run: the processors are busy.',
  },
  append: {
    waitsFor: 'the record of its turn, until etcd has it; in a cluster only',
    whenHigh: 'slow disks of etcd, or a slow network',
  },
}

/**
 * Where one thread records its waits for one resource. While the measurement is off nothing reads a clock or counts: callers
 * check `on` first, take `process.hrtime.bigint()` themselves and hand over the difference.
 */
export interface WaitMeter {
  /** Whether waits are measured now: one load from shared memory. */
  readonly on: boolean
  /** The resource was free at once: counted without a wait [management 5.1]. */
  free(): void
  /** A use waited this long. */
  waited(wait: Nanoseconds): void
}

/** The waits for one resource since the last reset. */
export interface WaitSums {
  /** The number of uses. */
  readonly count: bigint
  /** The number of uses that had to wait. */
  readonly waited: bigint
  readonly total: Nanoseconds
  readonly max: Nanoseconds
}

/** The waits for one resource and their percentiles; uses without a wait count as zero [management 5.5]. */
export interface WaitReading extends WaitSums {
  readonly p50: Nanoseconds
  readonly p90: Nanoseconds
  readonly p99: Nanoseconds
  readonly p999: Nanoseconds
}
