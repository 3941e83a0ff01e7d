import type { LogSequence } from '../wal/record-log.js'

/** The bytes between two samples. */
const step_bytes = 2 ** 20

/** The bytes that were appended to a log since this process owns it, and about how many of them are behind a record. */
export class AppendedBytes {
  #total = 0
  /** Ascending: the total that was appended up to a record. */
  readonly #samples: { readonly sequence: LogSequence; readonly total: number }[] = []

  appended(sequence: LogSequence, bytes: number): void {
    this.#total += bytes
    if (this.#total - (this.#samples.at(-1)?.total ?? 0) >= step_bytes)
      this.#samples.push({ sequence, total: this.#total })
  }

  /** The bytes behind a record, overestimated by less than a step. */
  behind_bytes(sequence: LogSequence): number {
    const sample = this.#samples.findLast((each) => each.sequence <= sequence)
    return this.#total - (sample?.total ?? 0)
  }

  /** Forgets everything up to a record, which was truncated. */
  truncated(upTo: LogSequence): void {
    while ((this.#samples[1]?.sequence ?? Number.POSITIVE_INFINITY) <= upTo) this.#samples.shift()
  }
}
