import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NoticeNumber, NumberedNotice } from '../subscription/notice.js'
import { age_ms, type ClockStart } from '../time.js'
import type { Source, SourceNumber } from './source.js'

/** Notices that are read without letting others run, and their bytes. */
const slice = 128
const slice_bytes = 2 ** 20

interface IntakeParts {
  readonly sources: readonly Source[]
  /** `since_ms` is when it was made, by the steady clock of this thread. */
  readonly take: (source: SourceNumber, numbered: NumberedNotice, since_ms: number) => void
  /** When the process was started. */
  readonly clock: ClockStart
  /** More is known: called after every slice. */
  readonly progress: () => void
}

/** Reads what is new in the outboxes, each from where it was read to. */
export class Intake {
  readonly #parts: IntakeParts
  readonly #known: NoticeNumber[]
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  /** When the pass under way has begun, and the one before it. */
  #begun_ms = Number.NEGATIVE_INFINITY
  #before_ms = Number.NEGATIVE_INFINITY

  constructor(parts: IntakeParts) {
    this.#parts = parts
    this.#known = parts.sources.map(() => 0)
  }

  /** All notices of an outbox up to this number were taken. */
  known(source: SourceNumber): NoticeNumber {
    return this.#known[source] ?? 0
  }

  /** Resolves when everything was taken that was on disk when this was called. */
  read(): Promise<void> {
    // A pass that runs may have begun too early; all who ask meanwhile share the one after it.
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      this.#running = this.#pass()
      return this.#running
    })
    return this.#next
  }

  async #pass(): Promise<void> {
    const { sources, progress } = this.#parts
    this.#before_ms = this.#begun_ms
    this.#begun_ms = performance.now()
    for (const source of sources) source.refresh()
    let taken = 0
    for (const [number, source] of sources.entries()) {
      const last = source.last()
      while (this.known(number) < last) {
        const { found, bytes } = this.#slice(number, source, last)
        taken += found
        if (taken < slice && bytes < slice_bytes) continue
        taken = 0
        progress()
        await nextTurn()
      }
    }
    progress()
  }

  #slice(number: SourceNumber, source: Source, last: NoticeNumber): { readonly found: number; readonly bytes: number } {
    const found = source.after(this.known(number), slice)
    let bytes = 0
    for (const numbered of found) {
      bytes += numbered.size_bytes
      this.#parts.take(number, numbered, this.#made_ms(numbered))
    }
    // Numbers that are missing at the end belong to notices that have left.
    this.#known[number] = found.at(-1)?.number ?? last
    return { found: found.length, bytes }
  }

  /** What the pass before did not find was not there yet, whatever the clock of the day says of its age. */
  #made_ms({ notice }: NumberedNotice): number {
    return Math.max(this.#before_ms, performance.now() - age_ms(notice.made, this.#parts.clock))
  }
}
