import { ok, type Result } from '../result.js'
import { BehindLog, DamagedRecord, DiskFault } from '../storage-fault.js'
import { type ClockStart, clockStart, type Milliseconds, type Nanoseconds } from '../time.js'
import type { Appended, LogRecord, LogSequence, NotedLog } from '../wal/record-log.js'
import {
  type ClusterRecord,
  type ClusterRecordKind,
  decodeClusterRecord,
  encodeClusterRecord,
} from './cluster-record.js'
import { forgotten, type ReadRefusal, recordMax_bytes } from './engine.js'
import { type LogAnswers, LogLink, type LogLinkEnd } from './log-link.js'

/**
 * The process ends before it is known whether a record stands in its log. The thread ends with it; the log decides at the
 * next start.
 */
class LogGivenUp extends DiskFault {
  override readonly name: string = 'LogGivenUp'
}

const noteBegins = 'cluster '

/** Whether a checkpoint notes a place in the log of a cluster. */
export function isClusterNote(note: string): boolean {
  return note.startsWith(noteBegins)
}

/** Who has written to a log that this process follows. */
export interface SeenWriter {
  readonly node: string
  /** Whether its last record is its claim: it has answered nothing since, as far as is known. */
  readonly isClaim: boolean
  /** When its last record came here, by the monotonic clock. */
  readonly received: Nanoseconds
  /** When that was written, by the clock of the day of the node. */
  readonly dated_ms: number
}

/** A record that changes nothing. */
type Mark = Exclude<ClusterRecordKind, 'claim' | 'turn'>

/** What was appended to a log by others. */
export interface Followed {
  readonly turns: readonly LogRecord[]
  /** Up to this record nothing else follows. */
  readonly last: LogSequence
}

/**
 * The log of one environment in the engine of a cluster. The connection belongs to another thread: the writer sleeps until
 * that has an answer, as it would sleep while a file is flushed, so a turn stays synchronous.
 */
export class ClusterLog implements NotedLog {
  readonly #link: LogLink
  readonly #end: LogLinkEnd
  /** That of this process, while it owns the log. */
  #epoch: LogSequence
  #last: LogSequence
  #seen: SeenWriter | undefined
  #proven = 0 as LogSequence
  #sent: ClockStart = { steady_ns: 0n, date: 0 as Milliseconds }
  /** See `ClusterRecord`: what this writer has in force, and the highest of any record of the log. */
  #control = 0 as LogSequence
  #controlNeeded = 0 as LogSequence

  /**
   * Opens the log for an environment that has applied it up to a sequence. Throws `DamagedRecord`, in words for the operator,
   * when the log does not go on from there, and `BehindLog` where another node may have what is missing.
   */
  constructor(end: LogLinkEnd, applied: LogSequence) {
    this.#end = end
    this.#link = new LogLink(end)
    const { first, last, claim } = known(this.#link.askSync({ kind: 'extent' }), end)
    if (applied > last) throw lostRecords(end, `it ends at record ${last}, and this folder has applied ${applied}`)
    this.#epoch = claim
    this.#last = last
    // Who owns a log when it is opened is its only node.
    const lost = forgotten({ first, last })
    if (claim === 0 && applied < lost) throw this.#behind((lost + 1) as LogSequence, applied)
    if (applied + 1 < first)
      throw lostRecords(end, `it begins at record ${first}, and this folder has applied ${applied}`)
    // A checkpoint has what this environment begins with.
    if (claim === 0) this.#link.tell({ kind: 'truncate', upTo: applied })
  }

  /** Who has written the last record that was read, if it may still write; nothing when it has said that it does not. */
  get seen(): SeenWriter | undefined {
    return this.#seen
  }

  /**
   * The last record of those that were read which some owner of the log is known to have applied, by what stands behind it: an owner
   * appends one record after the other. A claim proves nothing, since its writer does not own the log yet.
   */
  get proven(): LogSequence {
    return this.#proven
  }

  /** What the coordinator's log says up to this record is in force for the writer: its records say so from now on. */
  controlled(control: LogSequence): void {
    this.#control = control
  }

  /** Whether the writer has in force all that those before it had: nothing may be decided here otherwise. */
  get isControlled(): boolean {
    return this.#control >= this.#controlNeeded
  }

  /** When the last record that was appended here was sent to the engine, by the monotonic clock and by that of the day. */
  get sent(): ClockStart {
    return this.#sent
  }

  /** What follows a record, when there is something; nothing of it when it was woken before. Of the records of others. */
  async next(after: LogSequence = this.#last): Promise<Result<Followed, ReadRefusal>> {
    const read = known(await this.#link.ask({ kind: 'next', after }), this.#end)
    if (!read.ok) return read
    return ok({ turns: this.#turnsOf(read.value), last: read.value.at(-1)?.sequence ?? after })
  }

  /** What a refusal to say what follows means for who follows. */
  behind(refusal: ReadRefusal): Error {
    return refusal.kind === 'behind' ? this.#behind(refusal.first, this.#last) : new Error(refusal.reason)
  }

  /** What was followed is applied up to there. */
  advance(last: LogSequence): void {
    this.#last = last
  }

  /** Has a question for what follows be answered at once. */
  wake(): void {
    this.#link.tell({ kind: 'wake' })
  }

  /** Makes this process the owner, unless there is more in the log than was read. */
  async claim(): Promise<Appended> {
    const sent = clockStart()
    const control = this.#controlNeeded > this.#control ? this.#controlNeeded : this.#control
    const claimed = this.#noted(await this.#link.ask({ kind: 'claim', expected: this.#last, control }))
    if (!claimed.ok) return claimed
    this.#epoch = claimed.value
    this.#sent = sent
    return claimed
  }

  /** Appends a record that changes nothing. */
  appendMarkSync(kind: Mark): Appended {
    return this.#appendedSync(this.#encoded(new Uint8Array(), kind))
  }

  /** The same while the thread does other work. */
  appendMark(kind: Mark): Promise<Appended> {
    return this.#appended(this.#encoded(new Uint8Array(), kind), this.#last)
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

  /** Those of turns; others change nothing. */
  *records(after: LogSequence): Generator<LogRecord> {
    // The last one says who has written it, whether it is applied or not.
    let at = Math.max(0, Math.min(after, this.#last - 1)) as LogSequence
    while (at < this.#last) {
      const read = known(this.#link.askSync({ kind: 'read', after: at }), this.#end)
      if (!read.ok) throw lostRecords(this.#end, readRefusalText(read.error))
      // A log that was begun behind a record does not have it.
      if (read.value.length === 0 && at < after) return
      if (read.value.length === 0) throw lostRecords(this.#end, `record ${at + 1} is missing`)
      at = read.value.at(-1)?.sequence ?? at
      const upToLast = read.value.filter(({ sequence }) => sequence <= this.#last)
      for (const turn of this.#turnsOf(upToLast)) if (turn.sequence > after) yield turn
    }
  }

  truncate(upTo: LogSequence): void {
    this.#link.tell({ kind: 'truncate', upTo })
  }

  /** What was appended is on disk. */
  flush(): void {}

  close(): void {
    this.#link.close()
  }

  #behind(first: LogSequence, applied: LogSequence): BehindLog {
    return new BehindLog(
      `${nameOf(this.#end)} begins at record ${first}, and this folder has applied ${applied}: the next start fetches a copy from another node`,
    )
  }

  #encoded(payload: Uint8Array, kind: ClusterRecordKind = 'turn'): Buffer {
    const { node } = this.#end
    const [epoch, control] = [this.#epoch, this.#control]
    return encodeClusterRecord({ kind, epoch, time_ms: Date.now(), control, node, payload })
  }

  async #appended(bytes: Uint8Array, expected: LogSequence): Promise<Appended> {
    const sent = clockStart()
    const appended = this.#noted(await this.#link.ask({ kind: 'append', expected, bytes }))
    if (appended.ok) this.#sent = sent
    return appended
  }

  #appendedSync(bytes: Uint8Array, expected = this.#last): Appended {
    const sent = clockStart()
    const appended = this.#noted(this.#link.askSync({ kind: 'append', expected, bytes }))
    if (appended.ok) this.#sent = sent
    return appended
  }

  #turnsOf(records: readonly LogRecord[]): readonly LogRecord[] {
    const turns: LogRecord[] = []
    for (const { sequence, bytes } of records) {
      const { kind, node, time_ms: dated_ms, control, payload } = this.#decoded(sequence, bytes)
      if (control > this.#controlNeeded) this.#controlNeeded = control
      if (kind === 'turn') turns.push({ sequence, bytes: payload })
      const before = (sequence - 1) as LogSequence
      if (kind === 'turn') this.#proven = before
      else if (kind !== 'claim' || this.#proven === before) this.#proven = sequence
      const isClaim = kind === 'claim'
      this.#seen = kind === 'release' ? undefined : { node, isClaim, received: process.hrtime.bigint(), dated_ms }
    }
    return turns
  }

  #decoded(sequence: LogSequence, bytes: Uint8Array): ClusterRecord {
    try {
      return decodeClusterRecord(bytes)
    } catch (fault) {
      const reason = fault instanceof Error ? fault.message : String(fault)
      throw new DamagedRecord(`record ${sequence} of ${nameOf(this.#end)} cannot be read: ${reason}`, { cause: fault })
    }
  }

  #noted(answer: LogAnswers['append']): Appended {
    const appended = known(answer, this.#end)
    if (appended.ok) this.#last = appended.value
    return appended
  }
}

const tooLarge: Appended = { ok: false, error: { kind: 'tooLarge', limit_bytes: recordMax_bytes } }

function known<Answer>(answer: Answer | 'givenUp', end: LogLinkEnd): Answer {
  if (answer === 'givenUp') throw new LogGivenUp(`${nameOf(end)} was given up`)
  return answer
}

function nameOf({ log }: LogLinkEnd): string {
  return `the cluster's log ${log}`
}

function lostRecords(end: LogLinkEnd, what: string): DamagedRecord {
  return new DamagedRecord(
    `${nameOf(end)} does not go on where this folder is: ${what}. See "etcd has lost its data" in docs/cluster.md`,
  )
}

function readRefusalText(refusal: ReadRefusal): string {
  return refusal.kind === 'behind' ? `it begins at record ${refusal.first}` : refusal.reason
}
