import { test } from 'tap'
import type { Value } from '../../src/model/context/entity.js'
import { StepBudget } from '../../src/model/context/step-budget.js'
import { Expressions } from '../../src/model/expression/expressions.js'
import { type ExpressionScope, ObjectSizes } from '../../src/model/expression/scope.js'
import type { Milliseconds } from '../../src/time.js'

export type Names = Readonly<Record<string, Value>>

/** Wednesday, 10 July 2024, 10:22:29 and a half. */
export const givenNow = 1_720_606_949_500 as Milliseconds

/** A scope with these names, one that is bounded as a client would find it. */
export function scopeOf(
  names: Names,
  limits: { readonly steps?: number; readonly max_bytes?: number } = {},
): ExpressionScope {
  const { steps = 2_000_000, max_bytes = 1_000_000 } = limits
  const lookUp = (name: string) => (Object.hasOwn(names, name) ? names[name] : undefined)
  return { lookUp, now: givenNow, budget: new StepBudget(steps), sizes: new ObjectSizes(), max_bytes }
}

/** The result of an expression with these names. */
export function resultOf(text: string, names: Names = {}): Value {
  return new Expressions(100_000).evaluate(text, scopeOf(names))
}

/** Makes tests of rows: each expression has its result where attributes have these values. */
export function tableWith(names: Names) {
  return (title: string, rows: readonly (readonly [expression: string, result: Value])[]): void => {
    test(title, async (t) => {
      for (const [expression, result] of rows) t.strictSame(resultOf(expression, names), result, expression)
    })
  }
}
