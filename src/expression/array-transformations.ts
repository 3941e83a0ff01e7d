import type { Value } from '../context/entity.js'
import { isArray, isObject } from '../context/value.js'
import { finite } from './apply-operator.js'
import { type ExpressionScope, resultSize } from './expression-scope.js'
import { textOf } from './text-of.js'
import type { Transformation, TransformationParts } from './transformation.js'

/** Transformations of arrays, of objects, and of values of any kind. */
export const arrayTransformations = {
  arrSum: ofNumbers(sum),
  arrAvg: ofNumbers((numbers) => sum(numbers) / numbers.length),
  arrMax: ofNumbers((numbers) => numbers.reduce((most, each) => Math.max(most, each))),
  arrMin: ofNumbers((numbers) => numbers.reduce((least, each) => Math.min(least, each))),
  arrMed: ofNumbers(median),
  arrSort: (input, _, { scope }) => (isArray(input) ? sorted(input, scope) : null),
  arrReverse: (input, _, { scope }) => (isArray(input) && scope.effort.spend(input.length) ? input.toReversed() : null),
  keys: (input, _, { scope }) => members(input, scope, ([name]) => name),
  values: (input, _, { scope }) => members(input, scope, ([, value]) => value),
  typeOf: (input) => (isArray(input) ? 'Array' : input === null ? 'null' : (kindNames[typeof input] ?? null)),
  toString: toText,
} satisfies Record<string, Transformation>

/** Named by itself, because every object has something else of this name. */
function toText(input: Value, _: readonly Value[], { scope }: TransformationParts): Value {
  return resultSize(input, scope) === undefined ? null : textOf(input)
}

const kindNames: Readonly<Record<string, string>> = {
  string: 'String',
  number: 'Number',
  boolean: 'Boolean',
  object: 'Object',
}

/** Of an array of numbers with something in it. */
function ofNumbers(transform: (numbers: readonly number[]) => number): Transformation {
  return (input, _, { scope }) => {
    const numbers = isArray(input) && scope.effort.spend(sortSteps(input)) ? numbersOf(input) : undefined
    return numbers === undefined || numbers.length === 0 ? null : finite(transform(numbers))
  }
}

function numbersOf(values: readonly Value[]): readonly number[] | undefined {
  const numbers = values.filter((value) => typeof value === 'number')
  return numbers.length === values.length ? numbers : undefined
}

function textsOf(values: readonly Value[]): readonly string[] | undefined {
  const texts = values.filter((value) => typeof value === 'string')
  return texts.length === values.length ? texts : undefined
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}

/** The one in the middle, or what is between the two in the middle. */
function median(numbers: readonly number[]): number {
  const inOrder = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(inOrder.length / 2)
  const upper = inOrder[middle] ?? Number.NaN
  return inOrder.length % 2 === 1 ? upper : ((inOrder[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Numbers or texts, ascending; null for what has no order. */
function sorted(values: readonly Value[], scope: ExpressionScope): Value {
  if (!scope.effort.spend(sortSteps(values))) return null
  const numbers = numbersOf(values)
  if (numbers !== undefined) return numbers.toSorted((a, b) => a - b)
  const texts = textsOf(values)
  // Texts may have long beginnings in common.
  const longest = texts?.reduce((most, text) => Math.max(most, text.length), 0) ?? 0
  return texts !== undefined && scope.effort.spend((sortSteps(texts) * longest) / 16) ? texts.toSorted() : null
}

/** What it takes to sort as many values at most. */
function sortSteps({ length }: readonly Value[]): number {
  return 1 + length * Math.ceil(Math.log2(length + 1))
}

function members(value: Value, { effort }: ExpressionScope, pick: (member: [string, Value]) => Value): Value {
  if (!isObject(value)) return null
  const all = Object.entries(value)
  return effort.spend(all.length) ? all.map(pick) : null
}
