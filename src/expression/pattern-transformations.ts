import type { Value } from '../context/entity.js'
import type { Occurrence } from '../context/occurrences.js'
import { textSteps } from './apply-operator.js'
import { joinedParts } from './text-transformations.js'
import type { Transformation, TransformationParts } from './transformation.js'

/** Transformations of texts by regular expressions, which run in linear time; a replacement is inserted as it is. */
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

/** To read the text, and to compile the expression as if it had not been compiled before: what was is not to make a difference. */
function searchedSteps(input: Value, regex: Value | undefined): number {
  return typeof input === 'string' && typeof regex === 'string' ? textSteps(input) + compileSteps(regex) : 1
}

/** A class by Unicode property stands for very many ranges; without case, any class may stand for every character there is. */
const property = /\\[pP]/g
const classOrProperty = /\[|\\[pP]/g

function compileSteps(regex: string): number {
  const elaborate = regex.includes('(?')
    ? 100_000 * (1 + numberOf(classOrProperty, regex))
    : 10_000 * numberOf(property, regex)
  return elaborate + compile_steps + (regex.includes('{') ? repetition_steps : 0) + 60 * regex.length
}

/** A repetition of some characters can make as large a program as there may be. */
const compile_steps = 4000
const repetition_steps = 40_000

function numberOf(part: RegExp, text: string): number {
  return text.match(part)?.length ?? 0
}

/** For each instruction of what was compiled, which a search makes room for. */
const instruction_steps = 100

/** Where an expression matches in a text; null when one of them is none or the effort is spent. */
function occurrences(input: Value, regex: Value | undefined, { scope, regexes }: TransformationParts): Found | null {
  const { effort } = scope
  if (typeof input !== 'string' || typeof regex !== 'string') return null
  const compiled = regexes(regex)
  if (compiled === undefined || !effort.spend(compiled.instructions * instruction_steps)) return null
  const at = compiled.in(input, effort)
  return at === undefined ? null : { text: input, at }
}

/** What of a text is in none of them. */
function remainder(text: string, occurrences: readonly Occurrence[]): readonly string[] {
  return [...occurrences, undefined].map((next, at) => text.slice(occurrences[at - 1]?.end ?? 0, next?.start))
}
