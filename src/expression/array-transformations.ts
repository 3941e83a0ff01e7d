import type { Value } from '../context/entity.js'
import { isArray, isObject } from '../context/value.js'
import { finite } from './apply-operator.js'
import { type ExpressionScope, resultSize } from './expression-scope.js'
import { listSteps } from './number-transformations.js'
import { textOf } from './text-of.js'
import type { Transformation, TransformationParts } from './transformation.js'

/** Transformations of arrays, of objects, and of values of any kind. */
export const arrayTransformations = {
  arrSum: ofNumbers(sum),
  arrAvg: ofNumbers((numbers) => sum(numbers) / numbers.length),
  arrMax: ofNumbers((numbers) => numbers.reduce((most, each) => Math.max(most, each))),
  arrMin: ofNumbers((numbers) => numbers.reduce((least, each) => Math.min(least, each))),
  arrMed: ofNumbers(median, sortSteps),
  arrSort: {
    cost: (input) => (isArray(input) ? sortSteps(input) : 1),
    run: (input, _, { scope }) => (isArray(input) ? sorted(input, scope) : null),
  },
  arrReverse: { cost: listSteps, run: (input) => (isArray(input) ? input.toReversed() : null) },
  keys: { cost: membersSteps, run: (input) => (isObject(input) ? Object.keys(input) : null) },
  values: { cost: membersSteps, run: (input) => (isObject(input) ? Object.values(input) : null) },
  typeOf: {
    cost: () => 1,
    run: (input) => (isArray(input) ? 'Array' : input === null ? 'null' : (kindNames[typeof input] ?? null)),
  },
  // What it takes to measure the value is taken while that is measured, before any of it is written.
  toString: { cost: () => 1, run: toText },
} satisfies Record<string, Transformation>

/** Named by itself, because every object has something else of this name. */
function toText(input: Value, _: readonly Value[], { scope }: TransformationParts): Value {
  return resultSize(input, scope) === undefined ? null : textOf(input)
}

/** To look up each member of an object. */
function membersSteps(input: Value, _: readonly Value[], { sizes }: ExpressionScope): number {
  return isObject(input) ? 1 + 20 * sizes.of(input) : 1
}

const kindNames: Readonly<Record<string, string>> = {
  string: 'String',
  number: 'Number',
  boolean: 'Boolean',
  object: 'Object',
}

/** Of an array of numbers with something in it. */
function ofNumbers(
  transform: (numbers: readonly number[]) => number,
  cost: (input: readonly Value[]) => number = listSteps,
): Transformation {
  return {
    cost: (input) => (isArray(input) ? cost(input) : 1),
    run: (input) => {
      const numbers = isArray(input) ? numbersOf(input) : undefined
      return numbers === undefined || numbers.length === 0 ? null : finite(transform(numbers))
    },
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
  const numbers = numbersOf(values)
  if (numbers !== undefined) return numbers.toSorted((a, b) => a - b)
  const texts = textsOf(values)
  // Texts may have long beginnings in common.
  const longest = texts?.reduce((most, text) => Math.max(most, text.length), 0) ?? 0
  return texts !== undefined && scope.effort.spend((sortSteps(texts) * longest) / 16) ? texts.toSorted() : null
}

/** What it takes to sort as many values at most. */
function sortSteps({ length }: readonly Value[]): number {
  return 1 + 2 * length + length * Math.ceil(Math.log2(length + 1))
}
