/**
 * What matching one entity may cost, in steps of about 10 to 25 ns: a query whose expressions and filters would take
 * longer for some entity is given up, because nothing else runs in a thread while it matches one.
 */
export const maxSteps = 2_000_000

/** Counts the steps of matching one entity after another. */
export class Effort {
  readonly #limit: number
  #left: number

  constructor(limit: number) {
    this.#limit = limit
    this.#left = limit
  }

  /** Whether more was asked for than there was. What was matched since then does not count. */
  get isSpent(): boolean {
    return this.#left < 0
  }

  /** Takes this many steps; false when fewer are left. */
  spend(steps: number): boolean {
    this.#left -= steps
    return this.#left >= 0
  }

  /** As many as at first, for the next entity. */
  renew(): void {
    this.#left = this.#limit
  }
}

/** For matching that is bounded otherwise. */
export function unbounded(): Effort {
  return new Effort(Number.POSITIVE_INFINITY)
}
