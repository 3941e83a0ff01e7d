import { parseDate } from '../context/date.js'
import type { Value } from '../context/entity.js'
import { isArray, parseDecimal } from '../context/value.js'
import { searchSteps, textSteps } from './apply-operator.js'
import { type ExpressionScope, resultSize } from './expression-scope.js'
import type { Transformation } from './transformation.js'

/** Transformations of texts. Lengths and places are counted in characters, so that none is ever cut in two. */
export const textTransformations = {
  uppercase: ofText((text) => text.toUpperCase()),
  lowercase: ofText((text) => text.toLowerCase()),
  trim: ofText((text) => text.trim()),
  len: (input, inputs, parts) => (isArray(input) ? input.length : textLength(input, inputs, parts)),
  substring: ofText((text, [from, to]) => substring(text, from, to)),
  split: ofTexts((text, separator, scope) => pieces(text, separator, scope)),
  indexOf: ofTexts((text, part, { effort }) => {
    const at = effort.spend(searchSteps(text, part)) ? text.indexOf(part) : -1
    return at === -1 ? null : lengthOf(text.slice(0, at))
  }),
  includes: ofTexts((text, part, { effort }) => (effort.spend(searchSteps(text, part)) ? text.includes(part) : null)),
  replaceStr: ofText((text, [part, replacement], scope) =>
    typeof part === 'string' && typeof replacement === 'string' ? replaced(text, part, replacement, scope) : null,
  ),
  parseInt: ofText((text) => {
    const number = parseDecimal(text)
    return number !== undefined && Number.isInteger(number) ? number : null
  }),
  parseFloat: ofText((text) => parseDecimal(text) ?? null),
  toJson: ofText((text, _, scope) => parsedJson(text, scope)),
  getTime: ofText((text) => parseDate(text) ?? null),
} satisfies Record<string, Transformation>

const textLength = ofText((text) => lengthOf(text))

function ofText(transform: (text: string, inputs: readonly Value[], scope: ExpressionScope) => Value): Transformation {
  return (input, inputs, { scope }) =>
    typeof input === 'string' && scope.effort.spend(textSteps(input)) ? transform(input, inputs, scope) : null
}

/** Of a text with another text as its argument. */
function ofTexts(transform: (text: string, argument: string, scope: ExpressionScope) => Value): Transformation {
  return ofText((text, [argument], scope) => (typeof argument === 'string' ? transform(text, argument, scope) : null))
}

const beyondUnit = /[\ud800-\udfff]/

function lengthOf(text: string): number {
  return beyondUnit.test(text) ? [...text].length : text.length
}

/** Null when it is not wholly within the text. */
function substring(text: string, from: Value | undefined, to: Value | undefined): string | null {
  if (typeof from !== 'number' || typeof to !== 'number' || !Number.isInteger(from) || !Number.isInteger(to))
    return null
  if (from < 0 || to < from || to > lengthOf(text)) return null
  return beyondUnit.test(text) ? [...text].slice(from, to).join('') : text.slice(from, to)
}

/** An empty separator stands between all characters. */
function pieces(text: string, separator: string, { effort }: ExpressionScope): readonly string[] | null {
  if (!effort.spend(searchSteps(text, separator))) return null
  const found = separator === '' ? [...text] : text.split(separator)
  return effort.spend(found.length) ? found : null
}

function replaced(text: string, part: string, replacement: string, scope: ExpressionScope): string | null {
  const between = pieces(text, part, scope)
  if (between === null) return null
  // What is empty is found before and after each character.
  const parts = part === '' ? ['', ...between, ''] : between
  return joinedParts(parts, replacement, scope)
}

/** The parts with the same text between them; null when that is longer than a result may be. */
export function joinedParts(
  parts: readonly string[],
  between: string,
  { effort, max_bytes }: ExpressionScope,
): string | null {
  const length = parts.reduce((sum, part) => sum + part.length, (parts.length - 1) * between.length)
  return length <= max_bytes && effort.spend(textSteps(between) + length / 16) ? parts.join(between) : null
}

function parsedJson(text: string, scope: ExpressionScope): Value {
  // To parse takes longer than to go through the text.
  if (!scope.effort.spend(text.length)) return null
  try {
    const value: Value = JSON.parse(text)
    return resultSize(value, scope) === undefined ? null : value
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return null
    throw thrown
  }
}
