import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NoticeNumber } from '../subscription/notice.js'
import type { NumberedNotice, Source, SourceNumber } from './source.js'

/** Notices that are read without letting others run, and their bytes. */
const slice = 128
const slice_bytes = 2 ** 20

export interface IntakeParts {
  readonly sources: readonly Source[]
  readonly take: (source: SourceNumber, numbered: NumberedNotice) => void
  /** More is known: called after every slice. */
  readonly progress: () => void
}

/** Reads what is new in the outboxes, each from where it was read to. */
export class Intake {
  readonly #parts: IntakeParts
  readonly #known: NoticeNumber[]
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

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
      this.#parts.take(number, numbered)
    }
    // Numbers that are missing at the end belong to notices that have left.
    this.#known[number] = found.at(-1)?.number ?? last
    return { found: found.length, bytes }
  }
}
