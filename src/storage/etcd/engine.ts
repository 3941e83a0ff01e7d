import type { Result } from '../../result.js'
import type { Appended, LogRecord, LogSequence } from '../wal/record-log.js'

/** The log of a partition, by its number, or that of the coordinator. */
export type LogName = number | 'control'

/** The largest record: a request to etcd may have 1.5 MiB by default. */
export const recordMax_bytes = 2 ** 20

/** The engine did not answer in time: the request may have been carried out or not. */
export interface EngineUnavailable {
  readonly kind: 'unavailable'
  /** A sentence for the operator. */
  readonly reason: string
}

/** A record to be put right behind another one. */
export interface Offer {
  readonly log: LogName
  readonly expected: LogSequence
  readonly bytes: Uint8Array
  /**
   * Whether bytes that stand where these were to stand are these: an offer that was not answered may have been taken, and
   * is fenced by itself when it is made again.
   */
  readonly isOwn: (standing: Uint8Array) => boolean
}

export interface Extent {
  /** The first record that is kept; 0 of an empty log. */
  readonly first: LogSequence
  readonly last: LogSequence
}

/** The record up to which a replica needs a snapshot before it can continue with the log. */
export function forgotten({ first, last }: Extent): LogSequence {
  return first === 0 ? last : ((first - 1) as LogSequence)
}

/** Why records can not be read. */
export type ReadRefusal =
  /** The records before this one were truncated. */
  { readonly kind: 'behind'; readonly first: LogSequence } | EngineUnavailable

/**
 * The logs of a cluster. What is appended can not be lost any more, with the disks of less than half of the engine's members.
 * It knows nothing of what records mean.
 */
export interface Engine {
  /**
   * Offers records in one request, of each log one at most: more are refused as `invalid`. An outcome for each, in their order, or for
   * none of them.
   */
  append(offers: readonly Offer[]): Promise<Result<readonly Appended[], EngineUnavailable>>
  /** Some of the records after a sequence, in order: at least one if there is any. */
  read(log: LogName, after: LogSequence): Promise<Result<readonly LogRecord[], ReadRefusal>>
  /** The extent of a log; undefined if it was never begun. */
  extent(log: LogName): Promise<Result<Extent | undefined, EngineUnavailable>>
  /** Forgets records of several logs up to each one's sequence. The caller keeps the last of each. */
  truncate(upTo: ReadonlyMap<LogName, LogSequence>): Promise<Result<undefined, EngineUnavailable>>
  /** Frees the space of truncated records. */
  compact(): Promise<Result<undefined, EngineUnavailable>>
  /**
   * Begins all logs, each behind a sequence, and says what the cluster is and which nodes it has, unless that was said before: gives
   * whether it was not.
   */
  begin(
    description: string,
    after: ReadonlyMap<LogName, LogSequence>,
    nodes: string,
  ): Promise<Result<boolean, EngineUnavailable>>
  /** Calls back with the last record of each log, at first and after each change: a hint, which may be late. */
  watchHeads(changed: (last: ReadonlyMap<LogName, LogSequence>) => void): { stop(): void }
  close(): void
}
