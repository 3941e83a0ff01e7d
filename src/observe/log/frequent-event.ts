/** The least time between two lines about the same kind of event. */
const line_ms = 10_000

/** Something that may happen very often: its lines are limited, and each says how often it has happened since the one before. */
export class FrequentEvent {
  readonly #now_ms: () => number
  #since = 0
  #lastLine_ms = Number.NEGATIVE_INFINITY

  constructor(now_ms = () => performance.now()) {
    this.#now_ms = now_ms
  }

  /** It has happened again. If a line may be written, gives how often it has happened since the last one, this time included. */
  happened(): number | undefined {
    this.#since += 1
    const now_ms = this.#now_ms()
    if (now_ms - this.#lastLine_ms < line_ms) return undefined
    this.#lastLine_ms = now_ms
    const since = this.#since
    this.#since = 0
    return since
  }
}
