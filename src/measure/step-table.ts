import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Nanoseconds } from '../time.js'

/** What is handed to a thread so that it can open the same table. */
export interface StepTableMemory {
  readonly cells: CounterTableMemory
  readonly texts: SharedArrayBuffer
}

/** A step of an event loop that has lasted too long. */
export interface LongStep {
  readonly length: Nanoseconds
  /** What was worked on, in words for the log. */
  readonly text: string
}

const columns = ['window', 'longest', 'longestBefore', 'warned', 'length', 'told'] as const
type Column = (typeof columns)[number]

const text_bytes = 512
/** How long a step counts as the longest one at least; twice as long at most. */
const window: Nanoseconds = 60_000_000_000n

/**
 * The longest steps of the event loop of each thread, a row for each, which the thread writes itself. A step is what runs
 * without giving way to anything else. Of the steps that were too long and have not been logged, the longest is here in
 * words: the main thread logs it, also for threads that have no log and for one that has ended since.
 */
export class StepTable {
  readonly #cells: CounterTable
  readonly #texts: Uint8Array

  static make(rows: number, at: Nanoseconds): StepTableMemory {
    return {
      cells: CounterTable.make(rows, columns.length, 0, at).memory,
      texts: new SharedArrayBuffer(rows * text_bytes),
    }
  }

  constructor({ cells, texts }: StepTableMemory) {
    this.#cells = new CounterTable(cells)
    this.#texts = new Uint8Array(texts)
  }

  get rows(): number {
    return this.#cells.rows
  }

  /** The longest step of a thread within the last minute or two. */
  longest(row: number, now: Nanoseconds): Nanoseconds {
    const age = now / window - this.#cell(row, 'window')
    const [longest, before] = [this.#cell(row, 'longest'), this.#cell(row, 'longestBefore')]
    if (age > 1n) return 0n
    return age === 1n || longest > before ? longest : before
  }

  /** A step has ended; for its own thread only. */
  ended(row: number, length: Nanoseconds, now: Nanoseconds): void {
    const at = now / window
    const passed = at - this.#cell(row, 'window')
    if (passed > 0n) {
      this.#put(row, 'longestBefore', passed === 1n ? this.#cell(row, 'longest') : 0n)
      this.#put(row, 'longest', 0n)
      this.#put(row, 'window', at)
    }
    if (length > this.#cell(row, 'longest')) this.#put(row, 'longest', length)
  }

  /** A step was too long; for its own thread only. */
  warn(row: number, { length, text }: LongStep): void {
    const isFirst = this.#cell(row, 'told') === this.#cell(row, 'warned')
    if (isFirst || length > this.#cell(row, 'length')) this.#write(row, { length, text })
    this.#put(row, 'warned', this.#cell(row, 'warned') + 1n)
  }

  #write(row: number, { length, text }: LongStep): void {
    const bytes = Buffer.from(text).subarray(0, text_bytes)
    this.#texts.fill(0, row * text_bytes, (row + 1) * text_bytes)
    this.#texts.set(bytes, row * text_bytes)
    this.#put(row, 'length', length)
  }

  /** The longest of the steps that were too long and have not been taken, and how many they are; for the main thread only. */
  takeLong(row: number): (LongStep & { readonly count: number }) | undefined {
    const warned = this.#cell(row, 'warned')
    const count = Number(warned - this.#cell(row, 'told'))
    if (count === 0) return undefined
    const long = this.#long(row)
    this.#put(row, 'told', warned)
    return { ...long, count }
  }

  #long(row: number): LongStep {
    const bytes = Buffer.from(this.#texts.slice(row * text_bytes, (row + 1) * text_bytes))
    const end = bytes.indexOf(0)
    return { length: this.#cell(row, 'length'), text: bytes.toString('utf8', 0, end === -1 ? text_bytes : end) }
  }

  #cell(row: number, column: Column): bigint {
    return this.#cells.cell(row, columns.indexOf(column))
  }

  #put(row: number, column: Column, value: bigint): void {
    this.#cells.put(row, columns.indexOf(column), value)
  }
}
