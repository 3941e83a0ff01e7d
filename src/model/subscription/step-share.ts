import { maxSteps, StepBudget } from '../context/step-budget.js'
import type { IndexedSubscription } from './match-group.js'

/**
 * The steps that the conditions of all subscriptions, and the heads of their messages, may take for one change together: some 20 ms, for
 * which all other updates of the partition wait.
 */
const stepsOfChange = maxSteps / 2

/** The steps that each of them may take at least, up to the sum that bodies have: short conditions hold however many there are. */
const leastOfCondition = 1000

/** The steps of all bodies of a change. Those that take long are rendered when they are sent, where only notifications wait for them. */
const stepsOfBodies = 4 * maxSteps

/** The steps that a body may take at least, however many there are: enough to show a text of 4 MB. */
const leastOfBody = 2 ** 18

/** The steps that a turn takes for the bodies of a change: some 10 ms. */
const stepsInTurn = 2 ** 19

/** The members and items of the largest value that is materialised in a turn to be shown: more of them take 10 to 30 ms. */
const partsInTurn = 2 ** 14

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
  /** Whether the present budget is all that there is for its purpose. */
  #isWhole = true
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
    const share = Math.max(1, parts)
    this.steps = Math.floor(Math.max(stepsOfChange / share, Math.min(leastOfCondition, stepsOfBodies / share)))
    this.bodySteps = Math.floor(Math.min(maxSteps, Math.max(stepsOfBodies / share, leastOfBody)))
  }

  /** The budget of one condition or head, valid until the next call. */
  budget(): StepBudget {
    return this.#next(this.steps)
  }

  /** The budget of one body, valid until the next call. */
  bodyBudget(): StepBudget {
    return this.#next(this.bodySteps)
  }

  /**
   * The budget of one body in the turn, valid until the next call: at most what is left there of `stepsInTurn`. A body that needs more of
   * its steps, or shows a value of more than `partsInTurn`, is rendered later.
   */
  bodyBudgetInTurn(): StepBudget {
    const left = Math.max(0, stepsInTurn - this.spent)
    return left < this.bodySteps ? this.#next(left, false, partsInTurn) : this.#next(this.bodySteps, true, partsInTurn)
  }

  /** Whether the turn has no steps left for bodies. */
  get isTurnOver(): boolean {
    return this.spent >= stepsInTurn
  }

  /** Whether the budget that was given last is spent, and is not all that there is outside of the turn. */
  get needsMore(): boolean {
    return this.#budget?.isTooLarge === true || (!this.#isWhole && this.#budget?.isSpent === true)
  }

  #next(steps: number, isWhole = true, mostParts?: number): StepBudget {
    this.#isSpent = this.#isAnySpent
    this.#spent = this.spent
    this.#budget = new StepBudget(steps, mostParts)
    this.#isWhole = isWhole
    return this.#budget
  }

  get #isAnySpent(): boolean {
    return this.#isSpent || (this.#budget?.isSpent === true && !this.needsMore)
  }

  /** The steps that all of them together have taken so far. */
  get spent(): number {
    return this.#spent + (this.#budget?.spent ?? 0)
  }

  /** Whether one had too few steps, though an entity may take as many in a query, or though it would have had enough alone. */
  get isTooSmall(): boolean {
    return this.#isAnySpent
  }
}
