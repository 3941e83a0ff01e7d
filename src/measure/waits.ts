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
