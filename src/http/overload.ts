import type { Nanoseconds } from '../time.js'

/** How long waits may exceed the target before requests are refused: a burst is over by then. */
const burst: Nanoseconds = 100_000_000n

/** Overload is over when nothing has been refused for this long. */
const calm: Nanoseconds = 1_000_000_000n

/**
 * Decides who is refused a permit, by how long requests wait for one: as CoDel decides which packets to drop. A burst
 * waits. Where waits stay long more arrives than can be done: from then on nobody is let in behind a request that has
 * waited longer than what is aimed at, so that who is let in waits that long at most.
 */
export class Overload {
  readonly #most: Nanoseconds
  readonly #aim: Nanoseconds
  /** Since when nobody has waited for less than what is aimed at. */
  #longSince: Nanoseconds | undefined
  #refusing = false
  #lastRefusal: Nanoseconds = 0n

  /** `most` is the longest wait of all, 0 for none; a hundredth of it is aimed at while there is overload. */
  constructor(most: Nanoseconds) {
    this.#most = most
    this.#aim = most / 100n
  }

  /** The longest wait of all; 0 for none. */
  get most(): Nanoseconds {
    return this.#most
  }

  /** Whether a request that comes now is refused; `waited` is how long the first in the queue has waited. */
  refuses(waited: Nanoseconds, now: Nanoseconds): boolean {
    if (this.#most === 0n) return false
    if (waited < this.#aim) {
      this.#longSince = undefined
      if (this.#refusing && now - this.#lastRefusal > calm) this.#refusing = false
      return false
    }
    this.#longSince ??= now
    if (waited >= this.#most || now - this.#longSince >= burst) this.#refusing = true
    if (this.#refusing) this.#lastRefusal = now
    return this.#refusing
  }

  /** Whether a request in the queue has waited so long that it is refused yet. */
  isTooLong(waited: Nanoseconds): boolean {
    return this.#most > 0n && waited >= this.#most
  }
}
