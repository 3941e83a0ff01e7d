import type { Value } from '../context/entity.js'
import { isArray, valueAt } from '../context/value.js'
import { applied } from './apply-operator.js'
import type { ExpressionScope, Regexes } from './scope.js'
import type { Expression, Link, Prefix, Step } from './syntax.js'
import { transformed } from './transformations.js'

/** A value; undefined for an expression in error, which also makes those around it fail [NGSIv2 subscriptions 6.3]. */
type Outcome = Value | undefined

/** The value of an expression; undefined on an error, or when it needs more steps than the budget has. */
export function evaluate(expression: Expression, scope: ExpressionScope, regexes: Regexes): Outcome {
  return new Evaluation(scope, regexes).of(expression)
}

/** One evaluation. Errors pass upwards as undefined, except where they count as false. */
class Evaluation {
  readonly #scope: ExpressionScope
  readonly #regexes: Regexes
  /** The current element of a filter. */
  #element: Value = null

  constructor(scope: ExpressionScope, regexes: Regexes) {
    this.#scope = scope
    this.#regexes = regexes
  }

  of(expression: Expression): Outcome {
    if (!this.#scope.budget.spend(1)) return undefined
    switch (expression.kind) {
      case 'literal':
        return expression.value
      case 'name':
        return this.#scope.lookUp(expression.name)
      case 'elementMember':
        return valueAt(this.#element, [expression.name]) ?? null
      case 'array':
        return this.#all(expression.items)
      case 'object':
        return this.#object(expression.members)
      case 'prefixed':
        return prefixed(expression.prefixes, this.of(expression.operand))
      case 'chain':
        return this.#chain(expression.first, expression.rest)
      case 'choice':
        return this.#choice(expression)
      case 'path':
        return this.#path(expression.base, expression.steps)
    }
  }

  #all(expressions: readonly Expression[]): readonly Value[] | undefined {
    const values: Value[] = []
    for (const expression of expressions) {
      const value = this.of(expression)
      if (value === undefined) return undefined
      values.push(value)
    }
    return values
  }

  #object(members: Extract<Expression, { kind: 'object' }>['members']): Outcome {
    const values = this.#all(members.map(({ value }) => value))
    return values && Object.fromEntries(members.map(({ name }, at) => [name, values[at] ?? null]))
  }

  #chain(first: Expression, rest: readonly Link[]): Outcome {
    let left = this.of(first)
    for (const { operator, operand } of rest) {
      if (operator === '||') {
        if (!isTrue(left)) left = this.of(operand)
      } else if (operator === '&&') {
        if (isTrue(left)) left = this.of(operand)
      } else {
        const right = left === undefined ? undefined : this.of(operand)
        left = left === undefined || right === undefined ? undefined : applied(operator, left, right, this.#scope)
      }
    }
    return left
  }

  #choice({ cases, otherwise }: Extract<Expression, { kind: 'choice' }>): Outcome {
    const chosen = cases.find(({ condition }) => isTrue(this.of(condition)))
    return this.of(chosen === undefined ? otherwise : chosen.then)
  }

  #path(base: Expression, steps: readonly Step[]): Outcome {
    let value = this.of(base)
    for (const step of steps) {
      if (value === undefined || !this.#scope.budget.spend(1)) return undefined
      value = this.#step(value, step)
    }
    return value
  }

  #step(value: Value, step: Step): Outcome {
    switch (step.kind) {
      case 'member':
        return valueAt(value, [step.name]) ?? null
      case 'index': {
        const at = this.of(step.at)
        return at === undefined ? undefined : partAt(value, at)
      }
      case 'filter':
        return isArray(value) ? this.#filtered(value, step.condition) : null
      case 'transformation': {
        const inputs = this.#all(step.inputs)
        return inputs && transformed(step.name, value, inputs, { scope: this.#scope, regexes: this.#regexes })
      }
    }
  }

  #filtered(elements: readonly Value[], condition: Expression): Outcome {
    const outer = this.#element
    const taken: Value[] = []
    for (const element of elements) {
      this.#element = element
      if (isTrue(this.of(condition))) taken.push(element)
      if (this.#scope.budget.isSpent) return undefined
    }
    this.#element = outer
    return taken
  }
}

/** Everything is true but `false`, `0`, the empty text, null and errors; an empty array or object is true. */
function isTrue(value: Outcome): boolean {
  return Boolean(value)
}

/** A missing member of an object or array is null, and so is a member of any other kind of value. */
function partAt(value: Value, at: Value): Value {
  if (typeof at === 'string') return valueAt(value, [at]) ?? null
  return isArray(value) && typeof at === 'number' ? (value[at] ?? null) : null
}

function prefixed(prefixes: readonly Prefix[], operand: Outcome): Outcome {
  return prefixes.reduceRight<Outcome>((value, prefix) => {
    if (value === undefined) return undefined
    if (prefix === '!') return !isTrue(value)
    return typeof value === 'number' ? -value : undefined
  }, operand)
}
