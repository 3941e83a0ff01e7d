import { EngineFull, LogFenced, RecordTooLarge, StorageFull } from '../../faults.js'
import type { Brand, Result } from '../../result.js'

/** The number of a record in its log: 1, 2, 3 and so on without gaps. 0 stands before the first one. */
export type LogSequence = Brand<number, 'LogSequence'>

/** A record of a log: bytes whose meaning only their writer knows. */
export interface LogRecord {
  readonly sequence: LogSequence
  readonly bytes: Uint8Array
}

/** Why a record was not appended: no part of it is in the log. */
export type AppendRefusal =
  /** The disk of the log has no space for it. */
  | { readonly kind: 'diskFull' }
  /** The engine of the cluster has no space for it: no record of any node is taken, and the disks of the nodes have nothing to do with it. */
  | { readonly kind: 'etcdFull' }
  | { readonly kind: 'tooLarge'; readonly limit_bytes: number }
  /** Another record already has the sequence. */
  | { readonly kind: 'fenced'; readonly last: LogSequence }
  /** The log rejects the request as invalid and would do so again: a fault of this program. */
  | { readonly kind: 'invalid'; readonly reason: string }

/** The sequence of the appended record. */
export type Appended = Result<LogSequence, AppendRefusal>

/**
 * The log before a store: what stands in it has happened. It knows nothing of what its records mean, and one writer appends
 * to it. A failure after which nobody knows what the log holds is thrown as a `DiskFault`.
 */
export interface RecordLog {
  /** The sequence of the last record. */
  readonly last: LogSequence
  /**
   * Puts a record right behind the one that is expected to be the last. Resolves when the record is as
   * durable as `-writeConcern` says; the next one is appended after that.
   */
  append(expected: LogSequence, bytes: Uint8Array): Promise<Appended>
  /** Takes the last record back, which nobody has been told of, so that its sequence is given again. */
  retract(sequence: LogSequence): void
  /** The records after a sequence, in order. */
  records(after: LogSequence): Iterable<LogRecord>
  /** Forgets the records up to this one, or as many of them as can be forgotten cheaply; the last one always stays. */
  truncate(upTo: LogSequence): void
  /** Makes everything durable and closes the log. */
  close(): void
}

/** When a record is flushed: before the append returns, as far as `-writeConcern` wants that, or soon after, or with a later record. */
export type FlushTime = 'now' | 'soon'

/** A log near enough for its writer to wait: a turn that appends to it is synchronous. */
export interface SynchronousRecordLog extends RecordLog {
  /** Appends in this thread, before it returns. A loss of power may take the last records that are flushed soon. */
  appendSync(expected: LogSequence, bytes: Uint8Array, flush?: FlushTime): Appended
}

/** The log of an environment whose checkpoints contain a position in it. */
export interface NotedLog extends SynchronousRecordLog {
  /** The text of the position behind the last record. */
  readonly note: string
  /** Returns when everything that was appended is on disk. */
  flush(): void
  /** Everything up to a record is in the last checkpoint, or changes nothing, so no start has to apply it again. */
  covered(upTo: LogSequence): void
}

/** The error that a writer throws when its record was refused. */
export function appendFault(refusal: AppendRefusal): Error {
  if (refusal.kind === 'diskFull') return new StorageFull('no space for the log')
  if (refusal.kind === 'etcdFull') return new EngineFull('etcd has no space for the log')
  if (refusal.kind === 'fenced')
    return new LogFenced(`record ${refusal.last} of the log is not that of its only writer`)
  if (refusal.kind === 'invalid') return new Error(`the log does not take the record: ${refusal.reason}`)
  return new RecordTooLarge(`the record is larger than ${refusal.limit_bytes} bytes`)
}
