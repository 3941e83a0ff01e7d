import type { Value } from '../context/entity.js'
import { isArray, isObject, parseDecimal } from '../context/value.js'
import { finite, textSteps } from './apply-operator.js'
import { type ExpressionScope, resultSize, type Transformation, type TransformationParts, textOf } from './scope.js'
import { patternTransformations, perCharacter, textTransformations } from './text-transformations.js'

/** Transformations of numbers, and those that map numbers and texts to choices. */
const numberTransformations = {
  floor: ofNumber(Math.floor),
  ceil: ofNumber(Math.ceil),
  round: ofNumber(rounded),
  log: ofNumber(Math.log),
  log10: ofNumber(Math.log10),
  log2: ofNumber(Math.log2),
  sqrt: ofNumber(Math.sqrt),
  toFixed: ofNumber(
    (number, [digits]) => (isDigits(digits) ? Number(number.toFixed(digits)) : null),
    ([digits]) => 10 + (isDigits(digits) ? digits : 0),
  ),
  now: ofNumber((offset, [more = 0], { now }) =>
    typeof more === 'number' ? Math.floor(now / 1000) + offset + more : null,
  ),
  toIsoString: ofNumber(isoText, () => isoText_steps),
  isNaN: {
    cost: (input, inputs) => (typeof input === 'string' ? perCharacter(4)(input, inputs) : 1),
    run: (input) => typeof input !== 'number' && (typeof input !== 'string' || parseDecimal(input) === undefined),
  },
  mapper: {
    cost: (_, [values]) => listSteps(values),
    run: (input, [values, choices], { scope }) =>
      typeof input === 'string' ? mapped(values, choices, isText, (value) => isEqual(value, input, scope)) : null,
  },
  nMapper: {
    cost: (_, [values]) => listSteps(values),
    run: (input, [values, choices]) => {
      const number = typeof input === 'number' ? rounded(input) : undefined
      return number === undefined ? null : mapped(values, choices, isNumber, (value) => rounded(value) === number)
    },
  },
  thMapper: {
    cost: (_, [thresholds]) => listSteps(thresholds),
    run: (input, [thresholds, choices]) => (typeof input === 'number' ? atThreshold(input, thresholds, choices) : null),
  },
} satisfies Record<string, Transformation>

const number_steps = 4
const isoText_steps = 50

function ofNumber(
  transform: (number: number, inputs: readonly Value[], scope: ExpressionScope) => number | string | null,
  cost: (inputs: readonly Value[]) => number = () => number_steps,
): Transformation {
  return {
    cost: (_, inputs) => cost(inputs),
    run: (input, inputs, { scope }) => {
      if (typeof input !== 'number') return null
      const result = transform(input, inputs, scope)
      return typeof result === 'number' ? finite(result) : result
    },
  }
}

/** The steps to look at each item of a list a few times. */
function listSteps(list: Value | undefined): number {
  return list !== undefined && isArray(list) ? 1 + 2 * list.length : 1
}

/** Rounds halves away from zero. */
function rounded(number: number): number {
  return Math.sign(number) * Math.round(Math.abs(number))
}

function isDigits(digits: Value | undefined): digits is number {
  return typeof digits === 'number' && Number.isInteger(digits) && digits >= 0 && digits <= 100
}

/** Whole seconds as a date with a zone; null for a year that does not have four digits. */
function isoText(seconds: number): string | null {
  const date = new Date(Math.floor(seconds) * 1000)
  if (Number.isNaN(date.getTime())) return null
  const text = date.toISOString()
  return /^\d{4}-/.test(text) ? text.replace(/\.\d+Z$/, '+00:00') : null
}

const isText = (value: Value): value is string => typeof value === 'string'
const isNumber = (value: Value): value is number => typeof value === 'number'

/** Texts of equal length may have a long common beginning. */
function isEqual(value: string, input: string, { budget }: ExpressionScope): boolean {
  return value.length === input.length && budget.spend(textSteps(value)) && value === input
}

/** The choice at the position of the first matching value; null when there is none, or values and choices differ in number. */
function mapped<Kind extends Value>(
  values: Value | undefined,
  choices: Value | undefined,
  isKind: (value: Value) => value is Kind,
  isMeant: (value: Kind) => boolean,
): Value {
  if (values === undefined || choices === undefined || !isArray(values) || !isArray(choices)) return null
  if (values.length !== choices.length || !values.every(isKind)) return null
  return choices[values.findIndex(isMeant)] ?? null
}

/** The choice at the number of thresholds that are not above the input. */
function atThreshold(input: number, thresholds: Value | undefined, choices: Value | undefined): Value {
  if (thresholds === undefined || choices === undefined || !isArray(thresholds) || !isArray(choices)) return null
  if (choices.length !== thresholds.length + 1) return null
  return thresholds.every(isNumber) ? (choices[thresholds.filter((each) => each <= input).length] ?? null) : null
}

/** Transformations of arrays, of objects, and of values of any kind. */
const arrayTransformations = {
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
  // The steps are taken while the value is measured, before any of it is written.
  toString: { cost: () => 1, run: toText },
} satisfies Record<string, Transformation>

/** A named function, because every object inherits a `toString`. */
function toText(input: Value, _: readonly Value[], { scope }: TransformationParts): Value {
  return resultSize(input, scope) === undefined ? null : textOf(input)
}

/** The steps to look up each member of an object. */
function membersSteps(input: Value, _: readonly Value[], { sizes }: ExpressionScope): number {
  return isObject(input) ? 1 + 20 * sizes.of(input) : 1
}

const kindNames: Readonly<Record<string, string>> = {
  string: 'String',
  number: 'Number',
  boolean: 'Boolean',
  object: 'Object',
}

/** A transformation of an array of numbers that is not empty. */
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

/** The middle one, or the mean of the two in the middle. */
function median(numbers: readonly number[]): number {
  const inOrder = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(inOrder.length / 2)
  const upper = inOrder[middle] ?? Number.NaN
  return inOrder.length % 2 === 1 ? upper : ((inOrder[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Sorts numbers or texts, ascending; null for values without an order. */
function sorted(values: readonly Value[], scope: ExpressionScope): Value {
  const numbers = numbersOf(values)
  if (numbers !== undefined) return numbers.toSorted((a, b) => a - b)
  const texts = textsOf(values)
  // Texts may have long common beginnings.
  const longest = texts?.reduce((most, text) => Math.max(most, text.length), 0) ?? 0
  return texts !== undefined && scope.budget.spend((sortSteps(texts) * longest) / 16) ? texts.toSorted() : null
}

/** The most steps to sort this many values. */
function sortSteps({ length }: readonly Value[]): number {
  return 1 + 2 * length + length * Math.ceil(Math.log2(length + 1))
}

/** All transformations, by name [NGSIv2 subscriptions 6.3]. */
export const transformations: ReadonlyMap<string, Transformation> = new Map(
  Object.entries<Transformation>({
    ...textTransformations,
    ...patternTransformations,
    ...numberTransformations,
    ...arrayTransformations,
  }),
)

/**
 * Applies a transformation: null when it does not take its input or arguments, or takes more steps than the budget has; undefined
 * for an unknown name [NGSIv2 subscriptions 6.3].
 */
export function transformed(
  name: string,
  input: Value,
  inputs: readonly Value[],
  parts: TransformationParts,
): Value | undefined {
  const transformation = transformations.get(name)
  if (transformation === undefined) return undefined
  const { cost, run } = transformation
  return parts.scope.budget.spend(cost(input, inputs, parts.scope)) ? run(input, inputs, parts) : null
}
