import type { Value } from '../context/entity.js'
import { isArray, isObject, sameValue } from '../context/value.js'
import { type ExpressionScope, resultSize } from './scope.js'
import type { Operator } from './syntax.js'

/**
 * The result of an operator; undefined for operands of kinds that it does not take, null when the result is not a finite number
 * or is longer than a result may be [NGSIv2 subscriptions 6.3].
 */
export function applied(
  operator: Exclude<Operator, '&&' | '||'>,
  left: Value,
  right: Value,
  scope: ExpressionScope,
): Value | undefined {
  switch (operator) {
    case '==':
    case '!=': {
      const same = isSame(left, right, scope)
      return same === undefined ? undefined : same === (operator === '==')
    }
    case 'in':
      return isIn(left, right, scope)
    case '+':
      if (typeof left === 'string' && typeof right === 'string') return joined(left, right, scope)
      break
    case '<':
    case '<=':
    case '>':
    case '>=':
      return ordered(operator, left, right, scope)
  }
  return typeof left === 'number' && typeof right === 'number' ? finite(calculated(operator, left, right)) : undefined
}

/** A number as a result: null if it is not finite [NGSIv2 subscriptions 6.3]. */
export function finite(number: number): number | null {
  return Number.isFinite(number) ? number : null
}

function calculated(operator: '+' | '-' | '*' | '/' | '//' | '%' | '^', left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return left / right
    case '//':
      return Math.floor(left / right)
    case '%':
      return left % right
    case '^':
      return left ** right
  }
}

function ordered(
  operator: '<' | '<=' | '>' | '>=',
  left: Value,
  right: Value,
  { budget }: ExpressionScope,
): boolean | undefined {
  if (typeof left === 'string' && typeof right === 'string') {
    return budget.spend(textSteps(left)) ? compared(operator, left, right) : undefined
  }
  return typeof left === 'number' && typeof right === 'number' ? compared(operator, left, right) : undefined
}

function compared<Kind extends number | string>(operator: '<' | '<=' | '>' | '>=', left: Kind, right: Kind): boolean {
  switch (operator) {
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    case '>=':
      return left >= right
  }
}

function joined(left: string, right: string, { budget, max_bytes }: ExpressionScope): string | null | undefined {
  const length = left.length + right.length
  if (length > max_bytes) return null
  return budget.spend(length / charactersPerStep) ? left + right : undefined
}

/** Compares by structure. The values are measured first, because a value may contain another one many times. */
function isSame(left: Value, right: Value, scope: ExpressionScope): boolean | undefined {
  if (!isCompound(left) || !isCompound(right)) {
    const compares = typeof left !== 'string' || scope.budget.spend(textSteps(left))
    return compares ? left === right : undefined
  }
  if (resultSize(left, scope) === undefined || resultSize(right, scope) === undefined) return undefined
  return sameValue(left, right)
}

function isCompound(value: Value): boolean {
  return isArray(value) || isObject(value)
}

/** Whether a text contains a text, an array a value, or an object a name. */
function isIn(part: Value, whole: Value, scope: ExpressionScope): boolean | undefined {
  if (isArray(whole)) return isAmong(part, whole, scope)
  if (typeof part !== 'string') return undefined
  if (typeof whole === 'string') return scope.budget.spend(searchSteps(whole, part)) ? whole.includes(part) : undefined
  return isObject(whole) ? Object.hasOwn(whole, part) : undefined
}

function isAmong(part: Value, items: readonly Value[], scope: ExpressionScope): boolean | undefined {
  for (const item of items) {
    const same = scope.budget.spend(1) ? isSame(part, item, scope) : undefined
    if (same !== false) return same
  }
  return false
}

/** The characters of a text that one step compares or copies. */
const charactersPerStep = 16

/** The steps to read a text once. */
export function textSteps(text: string): number {
  return 1 + text.length / charactersPerStep
}

/** The most steps to search a text for another one, whatever both contain. */
export function searchSteps(text: string, part: string): number {
  return 1 + (text.length * (part.length + 1)) / charactersPerStep
}
