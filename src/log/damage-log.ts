import type { LineContext, Log } from './log.js'

/** Damaged records that are remembered as named; of more, those that were met longest ago are named again. */
const mostNamed = 1000

/** Names each damaged record that this thread meets in one line, however often it is met, and counts every time. */
export class DamageLog {
  readonly #log: Pick<Log, 'error'>
  readonly #count: () => void
  readonly #named = new Set<string>()

  constructor(log: Pick<Log, 'error'>, count: () => void) {
    this.#log = log
    this.#count = count
  }

  /** A record was met that is damaged; the message names its file, its key and the way out. */
  met({ message }: Error, context?: LineContext): void {
    this.#count()
    const isNew = !this.#named.delete(message)
    this.#named.add(message)
    if (isNew) this.#log.error('storage:damage', message, undefined, context)
    if (this.#named.size <= mostNamed) return
    for (const oldest of this.#named) return void this.#named.delete(oldest)
  }
}
