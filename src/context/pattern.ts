import { RE2JS, RE2JSException } from 're2js'
import { granted, type Outcome, refused } from '../outcome.js'

/** A regular expression of a client, ready to be searched in texts. */
export interface Pattern {
  /** Whether the expression matches somewhere in the text. */
  readonly test: (text: string) => boolean
}

/** The text is no regular expression of the engine's language, or it is over a limit. */
export interface PatternMalformed {
  readonly kind: 'patternMalformed'
}

/** Twice what the longest id needs. Reading a pattern takes time with its length, so longer ones are not read. */
const maxCharacters = 2048

/**
 * The time of a search grows with the text times the instructions of the compiled program, which repetitions such as
 * `x{1000}` multiply. 500 cost up to 10 µs for each character of the text.
 */
const maxInstructions = 500

/**
 * A regular expression in Perl's style, case-sensitive and not anchored [context 7.2]. It runs in linear time, so there
 * are no backreferences and no lookarounds. Refuses what does not compile, what contains U+0000, and what is too large.
 */
export function compilePattern(text: string): Outcome<Pattern, PatternMalformed> {
  if (text.length > maxCharacters || text.includes('\0')) return refused({ kind: 'patternMalformed' })
  const test = plainSearch(text) ?? engineSearch(text)
  return test === undefined ? refused({ kind: 'patternMalformed' }) : granted({ test })
}

/** The pattern of a text that was accepted before, at the boundary; one that does not compile is a fault of ours. */
export function acceptedPattern(text: string): Pattern {
  const pattern = compilePattern(text)
  if (!pattern.ok) throw new Error(`a pattern that does not compile was let in: ${text}`)
  return pattern.value
}

type Search = Pattern['test']

/** A text without special characters, alone or between what anchors it and what matches anything. */
const plain = /^(\.\*|\^)?([^\\^$.|?*+()[\]{}]*)(\.\*|\$)?$/

/** Most patterns need no engine: `.*`, `Silo`, `^Silo`, `Silo.*` or `^Silo1$`. */
function plainSearch(pattern: string): Search | undefined {
  const [, before, literal, after] = plain.exec(pattern) ?? []
  // The engine compares characters: half of a surrogate pair does not match in a whole one, as it would in JavaScript.
  if (literal?.isWellFormed() !== true) return undefined
  if (before === '^') {
    return after === '$' ? (text) => text === literal : (text) => text.startsWith(literal)
  }
  if (literal === '') return () => true
  return after === '$' ? (text) => text.endsWith(literal) : (text) => text.includes(literal)
}

function engineSearch(pattern: string): Search | undefined {
  try {
    const expression = RE2JS.compile(pattern)
    return expression.programSize() > maxInstructions ? undefined : (text) => expression.test(text)
  } catch (thrown) {
    if (thrown instanceof RE2JSException) return undefined
    throw thrown
  }
}
