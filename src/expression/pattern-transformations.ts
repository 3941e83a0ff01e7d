import type { Value } from '../context/entity.js'
import type { Occurrence } from '../context/occurrences.js'
import { textSteps } from './apply-operator.js'
import { joinedParts } from './text-transformations.js'
import type { Transformation, TransformationParts } from './transformation.js'

/** Transformations of texts by regular expressions, which run in linear time; a replacement is inserted as it is. */
export const patternTransformations = {
  matchRegex: (input, [regex], parts) => {
    const found = occurrences(input, regex, parts)
    return found === null ? null : found.at.map(({ start, end }) => found.text.slice(start, end))
  },
  replaceRegex: (input, [regex, replacement], parts) => {
    const found = typeof replacement === 'string' ? occurrences(input, regex, parts) : null
    if (found === null || typeof replacement !== 'string') return null
    return joinedParts(remainder(found.text, found.at), replacement, parts.scope)
  },
} satisfies Record<string, Transformation>

interface Found {
  readonly text: string
  readonly at: readonly Occurrence[]
}

/** Classes by Unicode property and flags such as `(?i)`: a few characters can stand for very many ranges. */
const isElaborate = /\\[pP]|\(\?/

/** To compile an expression, as if it had not been compiled before: what was is not to make a difference. */
function compileSteps(regex: string): number {
  return isElaborate.test(regex) ? 200_000 : 1000 + 50 * regex.length
}

/** For each instruction of what was compiled, and for what was given up with the most that there may be. */
const instruction_steps = 1000
const givenUp_steps = 500_000

/** Where an expression matches in a text; null when one of them is none or the effort is spent. */
function occurrences(input: Value, regex: Value | undefined, { scope, regexes }: TransformationParts): Found | null {
  const { effort } = scope
  if (typeof input !== 'string' || typeof regex !== 'string') return null
  if (!effort.spend(textSteps(input) + compileSteps(regex))) return null
  const compiled = regexes(regex)
  if (!effort.spend(compiled === undefined ? givenUp_steps : compiled.instructions * instruction_steps)) return null
  const at = compiled?.in(input, effort)
  return at === undefined ? null : { text: input, at }
}

/** What of a text is in none of them. */
function remainder(text: string, occurrences: readonly Occurrence[]): readonly string[] {
  return [...occurrences, undefined].map((next, at) => text.slice(occurrences[at - 1]?.end ?? 0, next?.start))
}
