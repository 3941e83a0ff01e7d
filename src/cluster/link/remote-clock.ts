/** This machine's monotonic clock in whole ms, the same in all threads and processes. */
export function ownClock(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** Converts a moment of `ownClock` to `performance.now()` of this thread; the result is never later than the moment. */
export function fromClock(moment_ms: number): number {
  const now_ms = performance.now()
  return now_ms + moment_ms - ownClock() - 1
}

/** By how much the rates of two clocks may differ. */
const drift = 0.001

/**
 * The monotonic clock of another node, as far as its responses tell: when a response arrives, that clock shows at least the time in
 * it. So a moment that is sent in its time is never later than meant, however long the message is under way or waits in the
 * buffers of a paused process.
 */
export class RemoteClock {
  /** The least lead of that clock over `performance.now()`, as found at a time of the latter. */
  #known: { readonly ahead_ms: number; readonly at_ms: number } | undefined

  /** A response has arrived with the time of the clock. */
  heard(clock_ms: number, now_ms = performance.now()): void {
    const ahead_ms = clock_ms - now_ms
    if (ahead_ms >= (this.#aheadAt(now_ms) ?? Number.NEGATIVE_INFINITY)) this.#known = { ahead_ms, at_ms: now_ms }
  }

  get isKnown(): boolean {
    return this.#known !== undefined
  }

  /** A lower bound of that clock at a moment of `performance.now()`; undefined before the first response. */
  at(moment_ms: number): number | undefined {
    const ahead_ms = this.#aheadAt(moment_ms)
    return ahead_ms === undefined ? undefined : Math.floor(moment_ms + ahead_ms)
  }

  #aheadAt(moment_ms: number): number | undefined {
    return this.#known && this.#known.ahead_ms - drift * Math.abs(moment_ms - this.#known.at_ms)
  }
}
