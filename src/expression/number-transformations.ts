import type { Value } from '../context/entity.js'
import { isArray, parseDecimal } from '../context/value.js'
import { finite, textSteps } from './apply-operator.js'
import type { ExpressionScope } from './expression-scope.js'
import { perCharacter } from './text-transformations.js'
import type { Transformation } from './transformation.js'

/** Transformations of numbers, and those that map numbers and texts to choices. */
export const numberTransformations = {
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

/** To look at each item of a list a few times. */
export function listSteps(list: Value | undefined): number {
  return list !== undefined && isArray(list) ? 1 + 2 * list.length : 1
}

/** Halves away from zero. */
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

/** Texts of one length may have a long beginning in common. */
function isEqual(value: string, input: string, { effort }: ExpressionScope): boolean {
  return value.length === input.length && effort.spend(textSteps(value)) && value === input
}

/** The choice in the place of the first value that is meant; null when there is none or they are not as many. */
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
