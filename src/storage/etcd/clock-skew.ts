/** The window over which the least difference is taken. */
const window_ms = 10_000

/**
 * How far the clock of this node is ahead of another one's, from records that the other one has dated: what lies between their date and
 * their arrival is the skew and the way. The least of some seconds has the shortest way, so where the skew is positive it is at most
 * that, and where it is negative at least.
 */
export class ClockSkew {
  #least_ms = Number.POSITIVE_INFINITY
  #began_ms: number | undefined

  /**
   * Notes when a record was dated and when it arrived, by the clocks of the two nodes. At the end of a window, returns its least
   * difference.
   */
  took(dated_ms: number, came_ms: number): number | undefined {
    this.#began_ms ??= came_ms
    this.#least_ms = Math.min(this.#least_ms, came_ms - dated_ms)
    const passed_ms = came_ms - this.#began_ms
    // A clock that was set back ends the window as well.
    if (passed_ms >= 0 && passed_ms < window_ms) return undefined
    const least_ms = this.#least_ms
    this.#began_ms = undefined
    this.#least_ms = Number.POSITIVE_INFINITY
    return least_ms
  }
}
