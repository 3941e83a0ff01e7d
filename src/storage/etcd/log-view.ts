import type { Nanoseconds } from '../../time.js'
import type { LogRecord, LogSequence } from '../wal/record-log.js'
import type { ClusterRecord } from './cluster-record.js'

export interface ReadRecord extends ClusterRecord {
  readonly sequence: LogSequence
}

/** Who has written the last record of a log, if it may still write: nothing is known of it once it has released the log. */
export interface LogWriter {
  readonly node: string
  /** Whether its last record is its election record, so that it is not known to have decided anything since. */
  readonly isElection: boolean
  /** When its last record was read here, by the monotonic clock. */
  readonly received: Nanoseconds
  /** When its last record was written, by the clock of that node. */
  readonly dated_ms: number
}

/** What the records of a log that were read say about it. */
export interface LogView {
  /** The last record that was read. */
  readonly last: LogSequence
  readonly writer: LogWriter | undefined
  /**
   * The last record which some owner of the log is known to have applied, by what stands behind it: an owner appends one record
   * after the other. An election record proves nothing, since its writer does not own the log yet.
   */
  readonly proven: LogSequence
  /** The highest metadata version of any record: an owner must have it in force before it decides a turn. */
  readonly metadataNeeded: LogSequence
}

/** The view of a log behind a record, without knowledge of the records up to there. */
export function viewBehind(last: LogSequence): LogView {
  return { last, writer: undefined, proven: 0 as LogSequence, metadataNeeded: 0 as LogSequence }
}

/** The view of a log after some more of its records were read, in order. */
export function viewAfter(view: LogView, records: readonly ReadRecord[], received: Nanoseconds): LogView {
  let { last, writer, proven, metadataNeeded } = view
  for (const { sequence, kind, node, time_ms: dated_ms, metadataVersion } of records) {
    if (metadataVersion > metadataNeeded) metadataNeeded = metadataVersion
    const before = (sequence - 1) as LogSequence
    if (kind === 'turn') proven = before
    else if (kind !== 'election' || proven === before) proven = sequence
    writer = kind === 'release' ? undefined : { node, isElection: kind === 'election', received, dated_ms }
    last = sequence
  }
  return { last, writer, proven, metadataNeeded }
}

/** The turns among some records, with their payloads. */
export function turnsOf(records: readonly ReadRecord[]): readonly LogRecord[] {
  return records.flatMap(({ kind, sequence, payload: bytes }) => (kind === 'turn' ? [{ sequence, bytes }] : []))
}
