import { maxSteps, StepBudget } from '../context/step-budget.js'
import type { IndexedSubscription } from './match-group.js'

/** The steps that the conditions and templates of all subscriptions may take for one change together: some 160 ms. */
const stepsOfChange = 4 * maxSteps

/**
 * Divides the steps of a change equally among its conditions and templates: whether a subscription is notified depends on how
 * many others the change triggers, but not on the cost of their conditions nor on their order.
 */
export class StepShare {
  readonly steps: number
  readonly #budget: StepBudget
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
    this.#budget = new StepBudget(this.steps)
  }

  /** The budget of one condition or template, valid until the next call. */
  budget(): StepBudget {
    this.#isSpent ||= this.#budget.isSpent
    this.#spent = this.spent
    this.#budget.renew()
    return this.#budget
  }

  /** The steps that all of them together have taken so far. */
  get spent(): number {
    return this.#spent + Math.min(this.steps, this.steps - this.#budget.left)
  }

  /** Whether one had too few steps only because there are so many of them. */
  get isTooSmall(): boolean {
    return this.steps < maxSteps && (this.#isSpent || this.#budget.isSpent)
  }
}
