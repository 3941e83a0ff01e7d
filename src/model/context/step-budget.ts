/**
 * What matching one entity may cost, in steps of about 10 to 25 ns: a query whose expressions and filters would take
 * longer for some entity is given up, because nothing else runs in a thread while it matches one.
 */
export const maxSteps = 2_000_000

/** Counts the steps of matching one entity after another. */
export class StepBudget {
  readonly #limit: number
  #left: number
  #isSpent = false

  constructor(limit: number) {
    this.#limit = limit
    this.#left = limit
  }

  /** Whether more was asked for than there was. What was matched since then does not count. */
  get isSpent(): boolean {
    return this.#isSpent
  }

  /** How many steps are left; less than none when more was asked for than there was. */
  get left(): number {
    return this.#left
  }

  /** Takes this many steps; false when fewer are left. */
  spend(steps: number): boolean {
    this.#left -= steps
    if (this.#left >= 0) return true
    this.#isSpent = true
    return false
  }

  /** As many as at first, or this many, for the next entity. */
  renew(steps = this.#limit): void {
    this.#left = steps
    this.#isSpent = false
  }
}

/** For matching that is bounded otherwise. */
export function unbounded(): StepBudget {
  return new StepBudget(Number.POSITIVE_INFINITY)
}
