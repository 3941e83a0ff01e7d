import type { Nanoseconds } from '../time.js'

/**
 * The resources that a request can wait for [management 5]. All but the first exist once per partition. Turns wait for the
 * `append` of their records in a cluster only.
 */
export const waitKinds = ['request', 'dbConnectionPool', 'transaction', 'mailbox', 'append'] as const
export type WaitKind = (typeof waitKinds)[number]

/**
 * Where one thread records its waits for one resource. Nothing reads a clock or counts while the measurement is off:
 * callers ask `on` first, take `process.hrtime.bigint()` themselves and hand over the difference.
 */
export interface WaitMeter {
  /** Whether waits are measured now: one load from shared memory. */
  readonly on: boolean
  /** The resource was free at once: counted, nothing added [management 5.1]. */
  free(): void
  /** Somebody waited this long. */
  waited(wait: Nanoseconds): void
}

/** The waits for one resource since the last reset. */
export interface WaitSums {
  /** How often the resource was asked for. */
  readonly count: bigint
  /** How often somebody had to wait. */
  readonly waited: bigint
  readonly total: Nanoseconds
  readonly max: Nanoseconds
}

/** The waits for one resource and their percentiles; those without a wait count as zero [management 5.5]. */
export interface WaitReading extends WaitSums {
  readonly p50: Nanoseconds
  readonly p90: Nanoseconds
  readonly p99: Nanoseconds
  readonly p999: Nanoseconds
}

/** What a partition reports of its storage. */
export interface StorageMeter {
  /** A turn was committed: how many commands it held, and how long it took to log and to apply it. */
  committed(commands: number, duration: Nanoseconds): void
  /** A record was appended to the log: its size, and how long it took until it was on disk. */
  logged(bytes: number, duration: Nanoseconds): void
  /** A checkpoint was taken. */
  checkpointed(duration: Nanoseconds): void
  /** The number of entities and the sizes of the files, after a turn. */
  size(entities: number, used_bytes: number, map_bytes: number): void
  /** Whether a write transaction is open now. */
  writing(open: boolean): void
  /** Whether the last commit failed because the disk or the map is full. */
  full(isFull: boolean): void
}
