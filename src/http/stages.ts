import type { Facts } from '../log/log.js'

/** How long the stages of one request took, for its line in the log [management 3.1]. */
export class Stages {
  readonly #facts: Record<string, string> = {}
  #since = process.hrtime.bigint()

  /** The stage with this name is over. */
  over(stage: string): void {
    const now = process.hrtime.bigint()
    this.#facts[`${stage}_ns`] = String(now - this.#since)
    this.#since = now
  }

  get facts(): Facts {
    return this.#facts
  }
}
