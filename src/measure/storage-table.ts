import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Nanoseconds } from '../time.js'
import { type BucketReading, durationBuckets, operationBuckets } from './buckets.js'
import type { StorageMeter } from './waits.js'

const states = ['entities', 'usedBytes', 'mapBytes', 'writing', 'full', 'restarts', 'expired', 'loggedBytes'] as const
type State = (typeof states)[number]

const commitDurations = states.length
const commitOperations = commitDurations + durationBuckets.width
const loopDelays = commitOperations + operationBuckets.width
const logDurations = loopDelays + durationBuckets.width
const checkpointDurations = logDurations + durationBuckets.width
const width = checkpointDurations + durationBuckets.width

/** Where a partition's thread records how late its event loop is. */
export interface DelayMeter {
  delayed(by: Nanoseconds): void
}

/** What a partition reported; sums are since the start of the process. */
export interface StorageReading {
  readonly entities: number
  readonly used_bytes: number
  readonly map_bytes: number
  readonly writing: boolean
  readonly full: boolean
  /** How often the partition's thread was replaced. */
  readonly restarts: number
  /** Entities that were removed because they had expired. */
  readonly expired: number
  /** In seconds; as many as there were commits. */
  readonly commitDurations: BucketReading
  readonly commitOperations: BucketReading
  /** In seconds; as many as there were records of turns. */
  readonly logDurations: BucketReading
  /** The records of turns, without what the log adds to them. */
  readonly logged_bytes: number
  /** In seconds. */
  readonly checkpointDurations: BucketReading
  /** In seconds. */
  readonly loopDelays: BucketReading
}

/** The state and the work of the partitions, a row for each [management 7]. */
export class StorageTable {
  readonly #table: CounterTable

  static make(partitions: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(partitions, width, 0, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  /** For the partition's own thread. Opening it ends what a thread that was replaced had begun. */
  meter(partition: number): StorageMeter {
    const put = (state: State, value: number) => this.#table.put(partition, states.indexOf(state), BigInt(value))
    put('writing', 0)
    put('full', 0)
    return {
      committed: (commands, duration) => {
        durationBuckets.record(this.#table, partition, commitDurations, duration)
        operationBuckets.record(this.#table, partition, commitOperations, BigInt(commands))
      },
      logged: (bytes, duration) => {
        durationBuckets.record(this.#table, partition, logDurations, duration)
        this.#table.add(partition, states.indexOf('loggedBytes'), BigInt(bytes))
      },
      checkpointed: (duration) => durationBuckets.record(this.#table, partition, checkpointDurations, duration),
      size: (entities, used_bytes, map_bytes) => {
        put('entities', entities)
        put('usedBytes', used_bytes)
        put('mapBytes', map_bytes)
      },
      writing: (open) => put('writing', open ? 1 : 0),
      full: (isFull) => put('full', isFull ? 1 : 0),
    }
  }

  /** For the partition's own thread. */
  delayMeter(partition: number): DelayMeter {
    return { delayed: (by) => durationBuckets.record(this.#table, partition, loopDelays, by > 0n ? by : 0n) }
  }

  /** For the thread that replaces partitions' threads, and no other. */
  restarted(partition: number): void {
    this.#table.add(partition, states.indexOf('restarts'), 1n)
  }

  /** For the thread that has partitions swept, and no other. */
  expired(partition: number, entities: number): void {
    this.#table.add(partition, states.indexOf('expired'), BigInt(entities))
  }

  reading(partition: number): StorageReading {
    const column = (index: number) => this.#table.cell(partition, index)
    const state = (name: State) => Number(column(states.indexOf(name)))
    return {
      entities: state('entities'),
      used_bytes: state('usedBytes'),
      map_bytes: state('mapBytes'),
      writing: state('writing') !== 0,
      full: state('full') !== 0,
      restarts: state('restarts'),
      expired: state('expired'),
      commitDurations: durationBuckets.reading(column, commitDurations),
      commitOperations: operationBuckets.reading(column, commitOperations),
      logDurations: durationBuckets.reading(column, logDurations),
      logged_bytes: state('loggedBytes'),
      checkpointDurations: durationBuckets.reading(column, checkpointDurations),
      loopDelays: durationBuckets.reading(column, loopDelays),
    }
  }
}

/** Measures how late the event loop of this thread is, ten times per second, until the function that it gives is called. */
export function watchLoop(meter: DelayMeter, interval_ms = 100): () => void {
  const interval = BigInt(interval_ms) * 1_000_000n
  let due = process.hrtime.bigint() + interval
  const timer = setInterval(() => {
    const at = process.hrtime.bigint()
    meter.delayed(at - due)
    due = at + interval
  }, interval_ms)
  timer.unref()
  return () => clearInterval(timer)
}
