import { maxSteps, StepBudget } from '../context/step-budget.js'
import type { IndexedSubscription } from './match-group.js'

/** The steps that the conditions and templates of all subscriptions may take for one change together: some 160 ms. */
const stepsOfChange = 4 * maxSteps

/** The steps that a body may take at least, however many there are: enough to show a text of 4 MB. Bodies that take long are rendered later. */
const leastOfBody = 2 ** 18

/**
 * Divides the steps of a change equally among its conditions and templates: whether a subscription is notified depends on how
 * many others the change triggers, but not on the cost of their conditions nor on their order.
 */
export class StepShare {
  /** The steps of one condition, or of the head of a message. */
  readonly steps: number
  /** The steps of one body. */
  readonly bodySteps: number
  #budget: StepBudget | undefined
  #isSpent = false
  #spent = 0

  constructor(triggered: readonly IndexedSubscription[]) {
    let parts = 0
    for (const { subscription } of triggered) {
      const { condition, notification } = subscription.terms ?? {}
      if (condition !== undefined && condition.scopes.length > 0) parts += 1
      if (condition?.jexl !== undefined) parts += 1
      if (notification?.target.custom !== undefined) parts += 1
    }
    this.steps = Math.floor(Math.min(maxSteps, stepsOfChange / Math.max(1, parts)))
    this.bodySteps = Math.max(this.steps, leastOfBody)
  }

  /** The budget of one condition or head, valid until the next call. */
  budget(): StepBudget {
    return this.#next(this.steps)
  }

  /** The budget of one body, valid until the next call. */
  bodyBudget(): StepBudget {
    return this.#next(this.bodySteps)
  }

  #next(steps: number): StepBudget {
    this.#isSpent ||= this.#budget?.isSpent ?? false
    this.#spent = this.spent
    this.#budget = new StepBudget(steps)
    return this.#budget
  }

  /** The steps that all of them together have taken so far. */
  get spent(): number {
    return this.#spent + (this.#budget?.spent ?? 0)
  }

  /** Whether one had too few steps only because there are so many of them. */
  get isTooSmall(): boolean {
    return this.steps < maxSteps && (this.#isSpent || this.#budget?.isSpent === true)
  }
}
