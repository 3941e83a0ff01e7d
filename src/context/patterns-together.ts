import { err, ok, type Result } from '../result.js'
import { compilePattern, mostCompileSteps, type PatternRefused, stepsToCompile } from './pattern.js'

/**
 * The patterns of one request, wherever they stand in it: they may take as long together as one pattern may alone. Whatever
 * parses a request makes one of these and hands it to all that read patterns of it.
 */
export class PatternsTogether {
  readonly #checked = new Set<string>()
  #steps = 0

  /**
   * Refuses a pattern that does not compile, and the one with which all of them take too long: before it is compiled. The
   * same text again takes nothing.
   */
  check(text: string): Result<undefined, PatternRefused> {
    if (this.#checked.has(text)) return ok(undefined)
    const steps = stepsToCompile(text)
    if (steps <= mostCompileSteps) {
      if (this.#steps + steps > mostCompileSteps) return err({ kind: 'patternTooCostly', pattern: text })
      this.#steps += steps
    }
    const pattern = compilePattern(text)
    if (!pattern.ok) return pattern
    this.#checked.add(text)
    return ok(undefined)
  }

  /** Refuses the first of them that {@link check} refuses. */
  checkAll(texts: Iterable<string>): Result<undefined, PatternRefused> {
    for (const text of texts) {
      const checked = this.check(text)
      if (!checked.ok) return checked
    }
    return ok(undefined)
  }
}

/** What a client is told of a pattern that would take too long to compile; of a long one as much as one needs to find it. */
export function detailsOfTooCostly(pattern: string): string {
  const shown = pattern.length > shown_characters ? `${pattern.slice(0, shown_characters)}...` : pattern
  return `regular expression takes too long to compile: '${shown.toWellFormed()}'`
}

const shown_characters = 100
