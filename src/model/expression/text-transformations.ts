import type { Value } from '../context/entity.js'
import type { Occurrence } from '../context/occurrences.js'
import { isArray, parseDate, parseDecimal } from '../context/value.js'
import { searchSteps, textSteps } from './apply-operator.js'
import { type ExpressionScope, resultSize, type Transformation, type TransformationParts } from './scope.js'

/** Transformations of texts. Lengths and positions count characters, so that no surrogate pair is cut. */
export const textTransformations = {
  uppercase: ofText(perCharacter(2), (text) => text.toUpperCase()),
  lowercase: ofText(perCharacter(2), (text) => text.toLowerCase()),
  trim: ofText(perCharacter(8), (text) => text.trim()),
  len: {
    cost: costOfText(perCharacter(8)),
    run: (input) => (isArray(input) ? input.length : typeof input === 'string' ? lengthOf(input) : null),
  },
  substring: ofText(perCharacter(4), (text, [from, to]) => substring(text, from, to)),
  split: ofTexts(splitSteps, (text, separator, scope) => pieces(text, separator, scope)),
  indexOf: ofTexts(
    (text, part) => searchSteps(text, part) + text.length / 8,
    (text, part) => {
      const at = text.indexOf(part)
      return at === -1 ? null : lengthOf(text.slice(0, at))
    },
  ),
  includes: ofTexts(searchSteps, (text, part) => text.includes(part)),
  replaceStr: ofText(
    (text, [part]) => (typeof part === 'string' ? splitSteps(text, part) : 1),
    (text, [part, replacement], scope) =>
      typeof part === 'string' && typeof replacement === 'string' ? replaced(text, part, replacement, scope) : null,
  ),
  parseInt: ofText(perCharacter(4), (text) => {
    const number = parseDecimal(text)
    return number !== undefined && Number.isInteger(number) ? number : null
  }),
  parseFloat: ofText(perCharacter(4), (text) => parseDecimal(text) ?? null),
  toJson: ofText(
    (text) => 1 + 2 * text.length,
    (text, _, scope) => parsedJson(text, scope),
  ),
  getTime: ofText(
    () => date_steps,
    (text) => parseDate(text) ?? null,
  ),
} satisfies Record<string, Transformation>

/** The steps to parse a date, or to reject a text that is too long for one. */
const date_steps = 200

type TextCost = (text: string, inputs: readonly Value[]) => number

/** One step per this many characters. */
export function perCharacter(charactersPerStep: number): TextCost {
  return (text) => 4 + text.length / charactersPerStep
}

/** Values other than texts are rejected at once. */
function costOfText(cost: TextCost): Transformation['cost'] {
  return (input, inputs) => (typeof input === 'string' ? cost(input, inputs) : 1)
}

function ofText(
  cost: TextCost,
  transform: (text: string, inputs: readonly Value[], scope: ExpressionScope) => Value,
): Transformation {
  return {
    cost: costOfText(cost),
    run: (input, inputs, { scope }) => (typeof input === 'string' ? transform(input, inputs, scope) : null),
  }
}

/** A transformation of a text with another text as its argument. */
function ofTexts(
  cost: (text: string, argument: string) => number,
  transform: (text: string, argument: string, scope: ExpressionScope) => Value,
): Transformation {
  return ofText(
    (text, [argument]) => (typeof argument === 'string' ? cost(text, argument) : 1),
    (text, [argument], scope) => (typeof argument === 'string' ? transform(text, argument, scope) : null),
  )
}

/** The number of characters of a text; a surrogate pair is one. */
function lengthOf(text: string): number {
  let pairs = 0
  for (let at = 0; at < text.length; at += 1) {
    if (!isPairAt(text, at)) continue
    pairs += 1
    at += 1
  }
  return text.length - pairs
}

function isPairAt(text: string, at: number): boolean {
  return isSurrogate(text.charCodeAt(at), 0xd800) && isSurrogate(text.charCodeAt(at + 1), 0xdc00)
}

/** Whether a unit is one of the 1024 from this one on; NaN, behind the end of a text, is none. */
function isSurrogate(unit: number, first: number): boolean {
  return unit >= first && unit < first + 0x400
}

/** Null when it is not wholly within the text. */
function substring(text: string, from: Value | undefined, to: Value | undefined): string | null {
  if (typeof from !== 'number' || typeof to !== 'number' || !Number.isInteger(from) || !Number.isInteger(to))
    return null
  if (from < 0 || to < from || to > text.length) return null
  const start = unitAt(text, from, 0)
  const end = start === undefined ? undefined : unitAt(text, to - from, start)
  return end === undefined ? null : text.slice(start, end)
}

/** The unit behind this many characters from a unit; undefined where there are fewer. */
function unitAt(text: string, characters: number, from: number): number | undefined {
  let at = from
  for (let left = characters; left > 0; left -= 1) {
    if (at >= text.length) return undefined
    at += isPairAt(text, at) ? 2 : 1
  }
  return at
}

/** The steps to split a text: without a separator each of its characters becomes a text. */
function splitSteps(text: string, separator: string): number {
  return searchSteps(text, separator) + (separator === '' ? 4 * text.length : 0)
}

/** An empty separator stands between all characters. Each piece is paid for before it is made: a text may have a million of them. */
function pieces(text: string, separator: string, { budget }: ExpressionScope): readonly string[] | null {
  if (separator === '') return budget.spend(text.length) ? [...text] : null
  const found: string[] = []
  let from = 0
  for (;;) {
    if (!budget.spend(piece_steps)) return null
    const to = text.indexOf(separator, from)
    if (to === -1) break
    found.push(text.slice(from, to))
    from = to + separator.length
  }
  found.push(text.slice(from))
  return found
}

/** The steps to cut a piece off a text, and to join it again. */
const piece_steps = 2

function replaced(text: string, part: string, replacement: string, scope: ExpressionScope): string | null {
  const between = pieces(text, part, scope)
  if (between === null) return null
  // An empty part is found before and after each character.
  const parts = part === '' ? ['', ...between, ''] : between
  return joinedParts(parts, replacement, scope)
}

/** The joined parts; null when that is longer than a result may be. */
function joinedParts(parts: readonly string[], between: string, { budget, max_bytes }: ExpressionScope): string | null {
  const length = parts.reduce((sum, part) => sum + part.length, (parts.length - 1) * between.length)
  return length <= max_bytes && budget.spend(textSteps(between) + length / 16) ? parts.join(between) : null
}

function parsedJson(text: string, scope: ExpressionScope): Value {
  try {
    const value: Value = JSON.parse(text)
    return resultSize(value, scope) === undefined ? null : value
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return null
    throw thrown
  }
}

/** Transformations by regular expressions, which run in linear time. Replacements are inserted literally. */
export const patternTransformations = {
  matchRegex: {
    cost: (input, [regex]) => searchedSteps(input, regex),
    run: (input, [regex], parts) => {
      const found = occurrences(input, regex, parts)
      return found === null ? null : found.at.map(({ start, end }) => found.text.slice(start, end))
    },
  },
  replaceRegex: {
    cost: (input, [regex]) => searchedSteps(input, regex),
    run: (input, [regex, replacement], parts) => {
      const found = typeof replacement === 'string' ? occurrences(input, regex, parts) : null
      if (found === null || typeof replacement !== 'string') return null
      return joinedParts(remainder(found.text, found.at), replacement, parts.scope)
    },
  },
} satisfies Record<string, Transformation>

interface Found {
  readonly text: string
  readonly at: readonly Occurrence[]
}

/** The steps to read the text, and to compile the expression even if it is cached: a cache must not change results. */
function searchedSteps(input: Value, regex: Value | undefined): number {
  return typeof input === 'string' && typeof regex === 'string' ? textSteps(input) + compileSteps(regex) : 1
}

/** A class by Unicode property stands for very many ranges; without case, any class may stand for all characters. */
const property = /\\[pP]/g
const classOrProperty = /\[|\\[pP]/g

function compileSteps(regex: string): number {
  const elaborate = regex.includes('(?')
    ? 100_000 * (1 + numberOf(classOrProperty, regex))
    : 10_000 * numberOf(property, regex)
  return elaborate + compile_steps + (regex.includes('{') ? repetition_steps : 0) + 60 * regex.length
}

/** A repetition of few characters can make a program of the greatest size. */
const compile_steps = 4000
const repetition_steps = 40_000

function numberOf(part: RegExp, text: string): number {
  return text.match(part)?.length ?? 0
}

/** Per instruction of the compiled program, for which a search makes room. */
const instruction_steps = 100

/**
 * The matches of an expression in a text; null for arguments that are not texts or do not compile, and when the step budget is
 * spent.
 */
function occurrences(input: Value, regex: Value | undefined, { scope, regexes }: TransformationParts): Found | null {
  const { budget } = scope
  if (typeof input !== 'string' || typeof regex !== 'string') return null
  const compiled = regexes(regex)
  if (compiled === undefined || !budget.spend(compiled.instructions * instruction_steps)) return null
  const at = compiled.in(input, budget)
  return at === undefined ? null : { text: input, at }
}

/** The parts of a text outside the matches. */
function remainder(text: string, occurrences: readonly Occurrence[]): readonly string[] {
  return [...occurrences, undefined].map((next, at) => text.slice(occurrences[at - 1]?.end ?? 0, next?.start))
}
