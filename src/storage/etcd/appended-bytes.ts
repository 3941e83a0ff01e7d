import type { LogSequence } from '../wal/record-log.js'

/** The distance of two marks. */
const step_bytes = 2 ** 20

/** The bytes that were appended to a log since this process owns it, and about how many of them are behind a record. */
export class AppendedBytes {
  #total = 0
  /** Ascending: the total that was appended up to a record. */
  readonly #marks: { readonly sequence: LogSequence; readonly total: number }[] = []

  appended(sequence: LogSequence, bytes: number): void {
    this.#total += bytes
    if (this.#total - (this.#marks.at(-1)?.total ?? 0) >= step_bytes) this.#marks.push({ sequence, total: this.#total })
  }

  /** The bytes behind a record, overestimated by less than a step. */
  behind_bytes(sequence: LogSequence): number {
    const mark = this.#marks.findLast((each) => each.sequence <= sequence)
    return this.#total - (mark?.total ?? 0)
  }

  /** Forgets everything up to a record, which was truncated. */
  truncated(upTo: LogSequence): void {
    while ((this.#marks[1]?.sequence ?? Number.POSITIVE_INFINITY) <= upTo) this.#marks.shift()
  }
}
