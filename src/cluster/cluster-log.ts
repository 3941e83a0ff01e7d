import { DamagedRecord, DiskFault } from '../storage-fault.js'
import type { Appended, LogRecord, LogSequence, NotedLog } from '../wal/record-log.js'
import { decodeClusterRecord, encodeClusterRecord } from './cluster-record.js'
import { type ReadRefusal, recordMax_bytes } from './engine.js'
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

/**
 * The log of one environment in the engine of a cluster. The connection belongs to another thread: the writer sleeps until
 * that has an answer, as it would sleep while a file is flushed, so a turn stays synchronous.
 */
export class ClusterLog implements NotedLog {
  readonly #link: LogLink
  readonly #end: LogLinkEnd
  readonly #epoch: LogSequence
  #last: LogSequence

  /**
   * Opens the log for an environment that has applied it up to a sequence. Throws `DamagedRecord`, in words for the operator,
   * when the log does not go on from there.
   */
  constructor(end: LogLinkEnd, applied: LogSequence) {
    this.#end = end
    this.#link = new LogLink(end)
    const { first, last, claim } = known(this.#link.askSync({ kind: 'extent' }), end)
    if (applied > last) throw lostRecords(end, `it ends at record ${last}, and this folder has applied ${applied}`)
    if (applied + 1 < first)
      throw lostRecords(end, `it begins at record ${first}, and this folder has applied ${applied}`)
    this.#epoch = claim
    this.#last = last
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
    return this.#noted(await this.#link.ask({ kind: 'append', expected, bytes: record }))
  }

  appendSync(expected: LogSequence, bytes: Uint8Array): Appended {
    const record = this.#encoded(bytes)
    if (record.length > recordMax_bytes) return tooLarge
    return this.#noted(this.#link.askSync({ kind: 'append', expected, bytes: record }))
  }

  /** A record of the cluster stays: it has happened, and is applied at the next start. */
  retract(sequence: LogSequence): void {
    throw new DiskFault(`record ${sequence} stands in ${nameOf(this.#end)} and cannot be applied`)
  }

  /** Those of turns; claims change nothing. */
  *records(after: LogSequence): Generator<LogRecord> {
    let at = after
    while (at < this.#last) {
      const read = known(this.#link.askSync({ kind: 'read', after: at }), this.#end)
      if (!read.ok) throw lostRecords(this.#end, readRefusalText(read.error))
      if (read.value.length === 0) throw lostRecords(this.#end, `record ${at + 1} is missing`)
      for (const { sequence, bytes } of read.value) {
        at = sequence
        if (sequence > this.#last) return
        const { kind, payload } = this.#decoded(sequence, bytes)
        if (kind === 'turn') yield { sequence, bytes: payload }
      }
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

  #encoded(payload: Uint8Array): Buffer {
    const { node } = this.#end
    return encodeClusterRecord({ kind: 'turn', epoch: this.#epoch, time_ms: Date.now(), node, payload })
  }

  #decoded(sequence: LogSequence, bytes: Uint8Array) {
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
    `${nameOf(end)} does not go on where this folder is: ${what}. See "When the folder and etcd do not belong together" in docs/cluster.md`,
  )
}

function readRefusalText(refusal: ReadRefusal): string {
  return refusal.kind === 'behind' ? `it begins at record ${refusal.first}` : refusal.reason
}
