/** What the monotonic clock of this machine shows, in whole ms: the same in all threads and processes. */
export function ownClock(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** A moment of `ownClock` by `performance.now()` of this thread; not later than that. */
export function fromClock(moment_ms: number): number {
  const now_ms = performance.now()
  return now_ms + moment_ms - ownClock() - 1
}

/** How much the rates of two clocks differ at most. */
const drift = 0.001

/**
 * The monotonic clock of another node, as its answers tell: it shows at least what an answer says when that has come. So a moment
 * that is said by it is not later than was meant, however long the answer, or what is sent with the moment, is on its way, or stands
 * in the buffers of a process that is paused.
 */
export class RemoteClock {
  /** By how much it is at least ahead of `performance.now()`, as it was found out at a time of that. */
  #known: { readonly ahead_ms: number; readonly at_ms: number } | undefined

  /** An answer that has come now says what the clock showed. */
  heard(clock_ms: number, now_ms = performance.now()): void {
    const ahead_ms = clock_ms - now_ms
    if (ahead_ms >= (this.#aheadAt(now_ms) ?? Number.NEGATIVE_INFINITY)) this.#known = { ahead_ms, at_ms: now_ms }
  }

  /** Whether an answer has told it. */
  get isKnown(): boolean {
    return this.#known !== undefined
  }

  /** What it shows at a moment by `performance.now()`, or earlier; nothing before the first answer. */
  at(moment_ms: number): number | undefined {
    const ahead_ms = this.#aheadAt(moment_ms)
    return ahead_ms === undefined ? undefined : Math.floor(moment_ms + ahead_ms)
  }

  #aheadAt(moment_ms: number): number | undefined {
    return this.#known && this.#known.ahead_ms - drift * Math.abs(moment_ms - this.#known.at_ms)
  }
}
