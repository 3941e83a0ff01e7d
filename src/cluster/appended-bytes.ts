import type { LogSequence } from '../wal/record-log.js'

/** The bytes of a log are noted so often. */
const step_bytes = 2 ** 20

/** How much was appended to a log since this process owns it, and behind which record about how much of that stands. */
export class AppendedBytes {
  #total = 0
  /** Ascending: so much was appended up to a record. */
  readonly #marks: { readonly sequence: LogSequence; readonly total: number }[] = []

  appended(sequence: LogSequence, bytes: number): void {
    this.#total += bytes
    if (this.#total - (this.#marks.at(-1)?.total ?? 0) >= step_bytes) this.#marks.push({ sequence, total: this.#total })
  }

  /** What stands behind a record, but for less than a step too much. */
  behind_bytes(sequence: LogSequence): number {
    const mark = this.#marks.findLast((each) => each.sequence <= sequence)
    return this.#total - (mark?.total ?? 0)
  }

  /** Forgets everything up to a record, which was truncated. */
  truncated(upTo: LogSequence): void {
    while ((this.#marks[1]?.sequence ?? Number.POSITIVE_INFINITY) <= upTo) this.#marks.shift()
  }
}
