import type { Log } from '../log/log.js'

/** The least time between two lines about refused requests. */
const line_ms = 10_000

/** Logs that requests are refused, at most one line in `line_ms`, which says how many there were. */
export class RefusalLines {
  readonly #log: Log
  readonly #type: string
  readonly #why: string
  #refused = 0
  #lastLine_ms = Number.NEGATIVE_INFINITY

  /** `why`: what the lines end with. */
  constructor(log: Log, type: string, why: string) {
    this.#log = log
    this.#type = type
    this.#why = why
  }

  /** A request was refused; `which` is said of the last one. */
  refused(which?: string): void {
    this.#refused += 1
    const now_ms = performance.now()
    if (now_ms - this.#lastLine_ms < line_ms) return
    this.#lastLine_ms = now_ms
    const since = this.#refused === 1 ? 'a request was' : `${this.#refused} requests were`
    const last = which === undefined ? '' : `, the last one ${which}`
    this.#log.warn(this.#type, `${since} refused${last}: ${this.#why}`)
    this.#refused = 0
  }
}
