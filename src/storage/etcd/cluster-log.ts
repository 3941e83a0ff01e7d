import { BehindLog, DamagedRecord, DiskFault, faultText, LogGivenUp } from '../../faults.js'
import { err } from '../../result.js'
import { type ClockStart, clockStart, type Milliseconds } from '../../time.js'
import type { Appended, LogRecord, LogSequence, NotedLog } from '../wal/record-log.js'
import {
  type ClusterRecord,
  type ClusterRecordKind,
  decodeClusterRecord,
  encodeClusterRecord,
} from './cluster-record.js'
import { forgotten, recordMax_bytes } from './engine.js'
import { LogLink, type LogLinkEnd, type LogResponses } from './log-link.js'
import { type LogView, type ReadRecord, turnsOf, viewBehind } from './log-view.js'

const noteBegins = 'cluster '

/** Whether the note of a checkpoint is a position in the log of a cluster. */
export function isClusterNote(note: string): boolean {
  return note.startsWith(noteBegins)
}

/** A record that changes nothing. */
type EmptyRecordKind = Exclude<ClusterRecordKind, 'election' | 'turn'>

/** The epoch of a process that does not own the log: it appends nothing. */
const notOwned = 0 as LogSequence

/**
 * The log of one environment in the engine of a cluster. The connection belongs to another thread: the writer sleeps until
 * that has a response, as it would sleep while a file is flushed, so a turn stays synchronous.
 */
export class ClusterLog implements NotedLog {
  readonly #link: LogLink
  readonly #end: LogLinkEnd
  /** The election under which this process owns the log. */
  #epoch = notOwned
  #last: LogSequence
  /** Up to this record a thread before this one, in the same process, may have shown the log. */
  readonly #shown: LogSequence
  /** The view of the log before any record was read. */
  readonly view: LogView
  #sent: ClockStart = { steady_ns: 0n, date: 0 as Milliseconds }
  /** The metadata version that this process writes in its records. */
  #metadataVersion = 0 as LogSequence
  #isGivenUp = false

  /**
   * Opens the log for an environment that has applied it up to a sequence, and follows it from there. Throws `DamagedRecord`, with a
   * text for the operator, when the log ends before it, and `BehindLog` where another node may have what is missing.
   * `sleeps` is called again and again while the thread sleeps until the log has a response. What a thread before it in this process
   * may have shown, up to the record `shown`, has to be recovered: `records` gives it.
   */
  constructor(end: LogLinkEnd, applied: LogSequence, sleeps?: () => void, shown = 0) {
    this.#end = end
    this.#shown = shown as LogSequence
    this.#link = new LogLink(end, undefined, sleeps)
    const { first, last } = this.#known(this.#link.askSync({ kind: 'extent' }))
    if (applied > last) throw lostRecords(end, `it ends at record ${last}, and this folder has applied ${applied}`)
    if (shown > last) throw lostRecords(end, `it ends at record ${last}, and this process has shown record ${shown}`)
    this.#last = Math.max(applied, shown) as LogSequence
    // The last applied record names the node that may own the log, unless it was truncated.
    this.view = viewBehind((first !== 0 && first <= applied ? applied - 1 : applied) as LogSequence)
    const lost = forgotten({ first, last })
    if (applied < lost) throw this.#behind((lost + 1) as LogSequence, applied)
    // The environment begins with a checkpoint, so nothing before it is needed.
    this.#link.tell({ kind: 'truncate', upTo: applied })
  }

  /** Sets the metadata version that is in force for the writer: its records name it from now on. */
  metadataInForce(metadataVersion: LogSequence): void {
    if (metadataVersion > this.#metadataVersion) this.#metadataVersion = metadataVersion
  }

  /** When the last record that was appended here was sent to the engine, by the monotonic clock and by that of the day. */
  get sent(): ClockStart {
    return this.#sent
  }

  /** Records that other nodes have appended behind a record, as soon as there are any. Rejects with `BehindLog` if they were truncated. */
  async next(after: LogSequence): Promise<readonly ReadRecord[]> {
    const read = this.#known(await this.#link.ask({ kind: 'next', after }))
    if (read.ok) return this.#decoded(read.value)
    if (read.error.kind === 'unavailable') throw new Error(read.error.reason)
    const { first } = read.error
    // The truncated records are applied here.
    if (first <= this.#last + 1) return this.next((first - 1) as LogSequence)
    throw this.#behind(first, after)
  }

  /** Notes the records of others up to this one as applied; an election record of this process may follow it. */
  advance(last: LogSequence): void {
    if (last > this.#last) this.#last = last
  }

  /** Makes this process the owner, unless the log has records that it has not read. */
  async campaign(expected: LogSequence, metadataVersion: LogSequence): Promise<Appended> {
    const sent = clockStart()
    const elected = this.#noted(await this.#link.ask({ kind: 'campaign', expected, metadataVersion }), sent)
    if (elected.ok) this.#epoch = elected.value
    return elected
  }

  /** Appends a record that changes nothing, and blocks until its outcome is known. */
  appendEmptySync(kind: EmptyRecordKind): Appended {
    return this.#appendedEmpty(kind, this.#appendedSync(this.#encoded(new Uint8Array(), kind)))
  }

  /** Appends a record that changes nothing, while the thread does other work. */
  async appendEmpty(kind: EmptyRecordKind): Promise<Appended> {
    return this.#appendedEmpty(kind, await this.#appended(this.#encoded(new Uint8Array(), kind), this.#last))
  }

  get last(): LogSequence {
    return this.#last
  }

  get note(): string {
    return `${noteBegins}${this.#last}`
  }

  async append(expected: LogSequence, bytes: Uint8Array): Promise<Appended> {
    const record = this.#encoded(bytes)
    if (record.length > recordMax_bytes) return tooLarge
    return this.#appended(record, expected)
  }

  appendSync(expected: LogSequence, bytes: Uint8Array): Appended {
    const record = this.#encoded(bytes)
    if (record.length > recordMax_bytes) return tooLarge
    return this.#appendedSync(record, expected)
  }

  /** A record of the cluster stays: it has happened, and is applied at the next start. */
  retract(sequence: LogSequence): void {
    throw new DiskFault(`record ${sequence} stands in ${nameOf(this.#end)} and cannot be applied`)
  }

  /**
   * The turns that a thread before this one may have shown in this process; none in a new process. The memtable of that thread is emptied
   * when they are applied. `next` reads the records behind them.
   */
  *records(after: LogSequence): Iterable<LogRecord> {
    for (let last = after; last < this.#shown; ) {
      const read = this.#readSync(last)
      yield* turnsOf(read.filter(({ sequence }) => sequence <= this.#shown))
      last = read.at(-1)?.sequence ?? this.#shown
    }
  }

  truncate(upTo: LogSequence): void {
    this.#link.tell({ kind: 'truncate', upTo })
  }

  covered(upTo: LogSequence): void {
    this.#link.tell({ kind: 'covered', upTo })
  }

  /** No-op: every appended record is on the disks of the engine. */
  flush(): void {}

  close(): void {
    this.#link.close()
  }

  #behind(first: LogSequence, applied: LogSequence): BehindLog {
    return new BehindLog(
      `${nameOf(this.#end)} begins at record ${first}, and this folder has applied ${applied}: the next start fetches a snapshot from another node`,
    )
  }

  /** Some of the records behind one, before the last that stands there. */
  #readSync(after: LogSequence): readonly ReadRecord[] {
    const read = this.#known(this.#link.askSync({ kind: 'read', after }))
    if (!read.ok) {
      if (read.error.kind === 'unavailable') throw new Error(read.error.reason)
      throw this.#behind(read.error.first, after)
    }
    // The thread of the log is being closed.
    if (read.value.length === 0) throw this.#givenUp()
    return this.#decoded(read.value)
  }

  #encoded(payload: Uint8Array, kind: ClusterRecordKind = 'turn'): Buffer {
    const { node } = this.#end
    const [epoch, metadataVersion] = [this.#epoch, this.#metadataVersion]
    return encodeClusterRecord({ kind, epoch, time_ms: Date.now(), metadataVersion, node, payload })
  }

  async #appended(bytes: Uint8Array, expected: LogSequence): Promise<Appended> {
    if (!this.#isOwned) return this.#fenced
    const sent = clockStart()
    return this.#noted(await this.#link.ask({ kind: 'append', expected, bytes }), sent)
  }

  #appendedSync(bytes: Uint8Array, expected = this.#last): Appended {
    if (!this.#isOwned) return this.#fenced
    const sent = clockStart()
    return this.#noted(this.#link.askSync({ kind: 'append', expected, bytes }), sent)
  }

  /** Whether this process owns the log. Throws after a record whose outcome is unknown: nothing can be appended behind it. */
  get #isOwned(): boolean {
    if (this.#isGivenUp) throw this.#givenUp()
    return this.#epoch !== notOwned
  }

  get #fenced(): Appended {
    return err({ kind: 'fenced', last: this.#last })
  }

  #appendedEmpty(kind: EmptyRecordKind, appended: Appended): Appended {
    if (kind === 'release' && appended.ok) this.#epoch = notOwned
    return appended
  }

  #noted(response: LogResponses['append'], sent: ClockStart): Appended {
    const appended = this.#known(response)
    if (appended.ok) {
      this.#last = appended.value
      this.#sent = sent
    } else if (appended.error.kind === 'fenced') this.#epoch = notOwned
    return appended
  }

  #decoded(records: readonly LogRecord[]): readonly ReadRecord[] {
    return records.map(({ sequence, bytes }) => ({ ...this.#decodedRecord(sequence, bytes), sequence }))
  }

  #decodedRecord(sequence: LogSequence, bytes: Uint8Array): ClusterRecord {
    try {
      return decodeClusterRecord(bytes)
    } catch (fault) {
      const reason = faultText(fault)
      throw new DamagedRecord(`record ${sequence} of ${nameOf(this.#end)} cannot be read: ${reason}`, { cause: fault })
    }
  }

  #known<Response>(response: Response | 'givenUp'): Response {
    if (response !== 'givenUp') return response
    this.#isGivenUp = true
    throw this.#givenUp()
  }

  #givenUp(): LogGivenUp {
    return new LogGivenUp(`${nameOf(this.#end)} has not answered before the end of the process`)
  }
}

const tooLarge: Appended = { ok: false, error: { kind: 'tooLarge', limit_bytes: recordMax_bytes } }

function nameOf({ log }: LogLinkEnd): string {
  return `the cluster's log ${log}`
}

function lostRecords(end: LogLinkEnd, what: string): DamagedRecord {
  return new DamagedRecord(
    `${nameOf(end)} does not go on where this folder is: ${what}. See "etcd has lost its data" in docs/cluster.md`,
  )
}
