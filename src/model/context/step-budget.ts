/**
 * The most steps, of about 10 to 25 ns, for matching one entity: a query that would take longer for some entity is given up,
 * because a thread does nothing else while it matches one.
 */
export const maxSteps = 2_000_000

/** Counts the steps of matching one entity after another. */
export class StepBudget {
  readonly #limit: number
  readonly #mostParts: number
  #left: number
  #isSpent = false
  #isTooLarge = false

  /** @param mostParts the members and items of the largest value that may be materialised */
  constructor(limit: number, mostParts = Number.POSITIVE_INFINITY) {
    this.#limit = limit
    this.#mostParts = mostParts
    this.#left = limit
  }

  /** Whether more steps were asked for than there were, or a value was too large. Matches since then are meaningless. */
  get isSpent(): boolean {
    return this.#isSpent
  }

  /** The steps that are left; negative when more were asked for than there were. */
  get left(): number {
    return this.#left
  }

  /** The steps that were taken, at most as many as there were. */
  get spent(): number {
    return Math.min(this.#limit, this.#limit - this.#left)
  }

  /** Takes this many steps; false when fewer are left. */
  spend(steps: number): boolean {
    this.#left -= steps
    if (this.#left >= 0) return true
    this.#isSpent = true
    return false
  }

  /** Whether a value with so many members and items may be materialised, which cannot be interrupted. If not, the budget is spent. */
  mayMaterialise(parts: () => number): boolean {
    if (this.#mostParts === Number.POSITIVE_INFINITY || parts() <= this.#mostParts) return true
    this.#isTooLarge = true
    this.#isSpent = true
    return false
  }

  /** Whether it is spent because a value was too large. */
  get isTooLarge(): boolean {
    return this.#isTooLarge
  }

  /** Sets the steps for the next entity, to the initial limit by default. */
  renew(steps = this.#limit): void {
    this.#left = steps
    this.#isSpent = false
    this.#isTooLarge = false
  }
}

/** For matching that is bounded otherwise. */
export function unbounded(): StepBudget {
  return new StepBudget(Number.POSITIVE_INFINITY)
}
