import type { RE2JS } from 're2js'
import { err, ok, type Result } from '../../result.js'
import { engineExpression, type PatternMalformed } from './pattern.js'
import type { StepBudget } from './step-budget.js'

/** A stretch of a text, from the unit at `start` up to the one before `end`. */
export interface Occurrence {
  readonly start: number
  readonly end: number
}

/** A regular expression of a client whose matches in a text are asked for one after the other. */
export interface Occurrences {
  /** Where it matches: leftmost first, none within another; nothing when that takes more steps than the budget has. */
  readonly in: (text: string, budget: StepBudget) => readonly Occurrence[] | undefined
  /** How large its compiled program is. */
  readonly instructions: number
}

/** Compiles what is to be found in texts; refuses what `compilePattern` does. */
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
  /** Whether the engine may have to read on after a match, up to the end of the text, to know that it is the one. */
  readonly looksAhead: boolean
}

/**
 * One character after the other, of which only the last may be repeated: after a match the engine needs no more than the next
 * character. Expressions such as `[0-9]+` and `\s+` are told apart by this; it need not find all of them.
 */
const plainSequence = /^(?:[^\\^$.|?*+()[\]{}]|\\[dDsSwW]|\[[^\][\\]+\])+[+*]?$/

/** To begin a search, which clears what the engine has noted in the one before. */
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
