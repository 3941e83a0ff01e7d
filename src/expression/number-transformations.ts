import type { Value } from '../context/entity.js'
import { isArray, parseDecimal } from '../context/value.js'
import { finite } from './apply-operator.js'
import type { ExpressionScope } from './expression-scope.js'
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
  toFixed: ofNumber((number, [digits]) => (isDigits(digits) ? Number(number.toFixed(digits)) : null)),
  now: ofNumber((offset, [more = 0], { now }) =>
    typeof more === 'number' ? Math.floor(now / 1000) + offset + more : null,
  ),
  toIsoString: ofNumber(isoText),
  isNaN: (input) => typeof input !== 'number' && (typeof input !== 'string' || parseDecimal(input) === undefined),
  mapper: (input, [values, choices], { scope }) =>
    typeof input === 'string' ? mapped(values, choices, isText, (value) => value === input, scope) : null,
  nMapper: (input, [values, choices], { scope }) => {
    const number = typeof input === 'number' ? rounded(input) : undefined
    return number === undefined ? null : mapped(values, choices, isNumber, (value) => rounded(value) === number, scope)
  },
  thMapper: (input, [thresholds, choices], { scope }) =>
    typeof input === 'number' ? atThreshold(input, thresholds, choices, scope) : null,
} satisfies Record<string, Transformation>

function ofNumber(
  transform: (number: number, inputs: readonly Value[], scope: ExpressionScope) => number | string | null,
): Transformation {
  return (input, inputs, { scope }) => {
    if (typeof input !== 'number') return null
    const result = transform(input, inputs, scope)
    return typeof result === 'number' ? finite(result) : result
  }
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

/** The choice in the place of the first value that is meant; null when there is none or they are not as many. */
function mapped<Kind extends Value>(
  values: Value | undefined,
  choices: Value | undefined,
  isKind: (value: Value) => value is Kind,
  isMeant: (value: Kind) => boolean,
  { effort }: ExpressionScope,
): Value {
  if (values === undefined || choices === undefined || !isArray(values) || !isArray(choices)) return null
  if (values.length !== choices.length || !effort.spend(values.length) || !values.every(isKind)) return null
  return choices[values.findIndex(isMeant)] ?? null
}

/** The choice at the number of thresholds that are not above the input. */
function atThreshold(
  input: number,
  thresholds: Value | undefined,
  choices: Value | undefined,
  { effort }: ExpressionScope,
): Value {
  if (thresholds === undefined || choices === undefined || !isArray(thresholds) || !isArray(choices)) return null
  if (choices.length !== thresholds.length + 1 || !effort.spend(choices.length)) return null
  return thresholds.every(isNumber) ? (choices[thresholds.filter((each) => each <= input).length] ?? null) : null
}
