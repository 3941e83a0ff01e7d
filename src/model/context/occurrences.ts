import type { RE2JS } from 're2js'
import { err, ok, type Result } from '../../result.js'
import { engineExpression, type PatternMalformed } from './pattern.js'
import type { StepBudget } from './step-budget.js'

/** A range of a text, from the unit at `start` up to the one before `end`. */
export interface Occurrence {
  readonly start: number
  readonly end: number
}

/** A regular expression of a client for finding all matches in a text. */
export interface Occurrences {
  /** The matches, leftmost first and without overlap; undefined when that takes more steps than the budget has. */
  readonly in: (text: string, budget: StepBudget) => readonly Occurrence[] | undefined
  /** The size of the compiled program. */
  readonly instructions: number
}

/** Compiles an expression; refuses what `compilePattern` refuses. */
export function compileOccurrences(text: string): Result<Occurrences, PatternMalformed> {
  const expression = engineExpression(text)
  if (expression === undefined) return err({ kind: 'patternMalformed', pattern: text })
  const instructions = expression.programSize()
  const search = { expression, instructions, looksAhead: !plainSequence.test(text) }
  return ok({ in: (searched, budget) => allIn(searched, search, budget), instructions })
}

interface Search {
  readonly expression: RE2JS
  readonly instructions: number
  /** Whether the engine may have to read behind a match, up to the end of the text, to know that it is one. */
  readonly looksAhead: boolean
}

/**
 * One character after the other, of which only the last may be repeated: behind a match the engine needs only the next character.
 * This recognises expressions such as `[0-9]+` and `\s+`; it need not recognise all.
 */
const plainSequence = /^(?:[^\\^$.|?*+()[\]{}]|\\[dDsSwW]|\[[^\][\\]+\])+[+*]?$/

/** The start of a search, which clears the engine's notes of the one before. */
const search_steps = 100

function allIn(
  text: string,
  { expression, instructions, looksAhead }: Search,
  budget: StepBudget,
): readonly Occurrence[] | undefined {
  const matcher = expression.matcher(text)
  const found: Occurrence[] = []
  const perCharacter = 4 + 2 * instructions
  let from = 0
  for (;;) {
    if (!budget.spend(search_steps + (looksAhead ? perCharacter * (text.length - from) : 0))) return undefined
    const isFound = matcher.find()
    const end = isFound ? matcher.end() : text.length
    if (!looksAhead && !budget.spend(perCharacter * (end - from))) return undefined
    if (!isFound) return found
    found.push({ start: matcher.start(), end })
    from = end
  }
}
