import { RE2JS, RE2JSException } from 're2js'
import { granted, type Outcome, refused } from '../outcome.js'

/** A regular expression of a client, ready to be searched in texts. */
export interface Pattern {
  /** Whether the expression matches somewhere in the text. */
  readonly test: (text: string) => boolean
  /** How large its compiled program is; 0 for one that needs no engine. */
  readonly instructions: number
  /** How many steps (see `Effort`) a search of a text of this length takes at most. */
  readonly steps: (characters: number) => number
}

/** The text is no regular expression of the engine's language, or it is over a limit. */
export interface PatternMalformed {
  readonly kind: 'patternMalformed'
  readonly pattern: string
}

/** Twice what the longest id needs. Reading a pattern takes time with its length, so longer ones are not read. */
const maxCharacters = 2048

/**
 * The time of a search grows with the text times the instructions of the compiled program, which repetitions such as
 * `x{1000}` multiply. 500 cost up to 10 µs for each character of the text.
 */
const maxInstructions = 500

/** Of all patterns of one request: compiling so many takes about 10 ms. */
const maxInstructionsTogether = 10_000

/**
 * A regular expression in Perl's style, case-sensitive and not anchored [context 7.2]. It runs in linear time, so there
 * are no backreferences and no lookarounds. Refuses what does not compile, what contains U+0000, and what is too large.
 */
export function compilePattern(text: string): Outcome<Pattern, PatternMalformed> {
  if (text.length > maxCharacters || text.includes('\0')) return refused({ kind: 'patternMalformed', pattern: text })
  const pattern = plainPattern(text) ?? enginePattern(text)
  return pattern === undefined ? refused({ kind: 'patternMalformed', pattern: text }) : granted(pattern)
}

/**
 * The patterns of one request. Refuses the first one that {@link compilePattern} does, and the one with which they are
 * too large together: a request has room for so many that compiling them would hold up all others.
 */
export function compilePatterns(texts: Iterable<string>): Outcome<readonly Pattern[], PatternMalformed> {
  const patterns: Pattern[] = []
  let instructions = 0
  for (const text of texts) {
    const pattern = compilePattern(text)
    if (!pattern.ok) return pattern
    instructions += pattern.value.instructions
    if (instructions > maxInstructionsTogether) return refused({ kind: 'patternMalformed', pattern: text })
    patterns.push(pattern.value)
  }
  return granted(patterns)
}

/** The pattern of a text that was accepted before, at the boundary; one that does not compile is a fault of ours. */
export function acceptedPattern(text: string): Pattern {
  const pattern = compilePattern(text)
  if (!pattern.ok) throw new Error(`a pattern that does not compile was let in: ${text}`)
  return pattern.value
}

/** The engine remembers the states of so small a program and needs no more than to look one up for each character. */
const fewInstructions = 12

/**
 * Larger ones can have so many states that each character makes a new one: it costs a part that does not depend on the
 * program, like that of some hundred instructions, and one for each instruction.
 */
const newState_steps = 100

function engineSteps(text: string, instructions: number): Pattern['steps'] {
  const perCharacter = instructions <= fewInstructions ? 1 : newState_steps + instructions
  const most = endsEarly.test(text) ? instructions : Number.POSITIVE_INFINITY
  return (characters) => 1 + Math.min(characters, most) * perCharacter
}

/**
 * Anchored, without alternatives and repetitions: each character leads to a later instruction, and a search is over when
 * there are no more. Texts such as `^Silo-..$` are told apart by this; it need not find all of them.
 */
const endsEarly = /^\^[^|*+{]*$/

/** A plain search compares many characters at a time. */
function plainSteps(characters: number): number {
  return 1 + characters / 16
}

/** A text without special characters, alone or between what anchors it and what matches anything. */
const plain = /^(\.\*|\^)?([^\\^$.|?*+()[\]{}]*)(\.\*|\$)?$/

/** Most patterns need no engine: `.*`, `Silo`, `^Silo`, `Silo.*` or `^Silo1$`. */
function plainPattern(text: string): Pattern | undefined {
  const [, before, literal, after] = plain.exec(text) ?? []
  // The engine compares characters: half of a surrogate pair does not match in a whole one, as it would in JavaScript.
  if (literal?.isWellFormed() !== true) return undefined
  return { test: plainTest(before === '^', literal, after === '$'), instructions: 0, steps: plainSteps }
}

function plainTest(fromStart: boolean, literal: string, toEnd: boolean): Pattern['test'] {
  if (fromStart) return toEnd ? (text) => text === literal : (text) => text.startsWith(literal)
  if (literal === '') return () => true
  return toEnd ? (text) => text.endsWith(literal) : (text) => text.includes(literal)
}

function enginePattern(text: string): Pattern | undefined {
  try {
    const expression = RE2JS.compile(text)
    const instructions = expression.programSize()
    if (instructions > maxInstructions) return undefined
    return { test: (given) => expression.test(given), instructions, steps: engineSteps(text, instructions) }
  } catch (thrown) {
    if (thrown instanceof RE2JSException) return undefined
    throw thrown
  }
}
