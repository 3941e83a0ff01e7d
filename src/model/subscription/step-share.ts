import { maxSteps, StepBudget } from '../context/step-budget.js'
import type { IndexedSubscription } from './match-group.js'

/** What the conditions and the templates of all subscriptions may take of one change together, in steps: some 160 ms. */
const stepsOfChange = 4 * maxSteps

/**
 * How many steps each condition and each template of a change may take: an equal part of what all may take together, so that
 * what is notified to one depends on how many others hear of the change, but neither on what theirs take nor on their order.
 */
export class StepShare {
  readonly steps: number
  readonly #budget: StepBudget
  #isSpent = false

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

  /** For one condition or template, until it is asked for that of the next one. */
  budget(): StepBudget {
    this.#isSpent ||= this.#budget.isSpent
    this.#budget.renew()
    return this.#budget
  }

  /** Whether one had too few steps because there are so many of them. */
  get isTooSmall(): boolean {
    return this.steps < maxSteps && (this.#isSpent || this.#budget.isSpent)
  }
}
