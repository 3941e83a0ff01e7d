import type { NoticeNumber } from '../subscription/notice.js'
import type { Milliseconds } from '../time.js'
import type { Fifo } from './fifo.js'
import type { SourceNumber } from './source.js'

/** What is kept in memory of a notice that waits or is under way; its body stays on disk. */
export interface Entry {
  readonly source: SourceNumber
  readonly number: NoticeNumber
  readonly size_bytes: number
  /** What it may take in memory while it is sent. */
  readonly sent_bytes: number
  readonly made: Milliseconds
  /** The same by the steady clock of this thread, `performance.now()`: for how long it has waited. */
  readonly since_ms: number
  readonly line: EntryLine
  /** For each outbox the number of the last notice that has to be gone before this one is sent. */
  readonly barrier: readonly NoticeNumber[] | undefined
  /** Whether an attempt was made. */
  tried: boolean
  underWay: boolean
  /** To be dropped unless the attempt that is under way succeeds. */
  doomed: boolean
  gone: boolean
  volley: number
  before: Entry | undefined
  next: Entry | undefined
}

/** The notices of one line in their order; the one under way is none of those that wait. */
export interface EntryLine {
  readonly key: string
  /** Whether a newer one makes those pointless that wait. */
  readonly onlyNewest: boolean
  readonly waiting: Fifo<Entry>
  underWay: Entry | undefined
  /** Refusals in a row. */
  failures: number
  pause: NodeJS.Timeout | undefined
  /** Whether it stands among the lines that may have something to send. */
  offered: boolean
}

/** The entries of one subscription from one outbox by their numbers; any of them can be taken out at no cost. */
export class EntryList {
  #first: Entry | undefined
  #last: Entry | undefined

  get first(): Entry | undefined {
    return this.#first
  }

  append(entry: Entry): void {
    entry.before = this.#last
    if (this.#last === undefined) this.#first = entry
    else this.#last.next = entry
    this.#last = entry
  }

  remove(entry: Entry): void {
    if (entry.before === undefined) this.#first = entry.next
    else entry.before.next = entry.next
    if (entry.next === undefined) this.#last = entry.before
    else entry.next.before = entry.before
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (let entry = this.#first; entry !== undefined; entry = entry.next) yield entry
  }
}
