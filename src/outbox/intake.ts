import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NoticeNumber } from '../subscription/notice.js'
import type { NumberedNotice, Source, SourceNumber } from './source.js'

/** Notices that are read without letting others run. */
const slice = 128

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
      for (let more = true; more; ) {
        const found = this.#slice(number, source)
        more = found === slice
        taken += found
        if (taken < slice) continue
        taken = 0
        progress()
        await nextTurn()
      }
    }
    progress()
  }

  #slice(number: SourceNumber, source: Source): number {
    const last = source.last()
    const found = source.after(this.known(number), slice)
    for (const numbered of found) this.#parts.take(number, numbered)
    const reached = found.at(-1)?.number ?? 0
    // Numbers that are missing at the end belong to notices that have left.
    this.#known[number] = Math.max(this.known(number), found.length < slice ? Math.max(last, reached) : reached)
    return found.length
  }
}
