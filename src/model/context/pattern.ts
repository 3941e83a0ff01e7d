import { RE2JS, RE2JSException } from 're2js'
import { err, ok, type Result } from '../../result.js'
import { type Automaton, completeAutomaton, limitAutomaton } from './automaton.js'
import { compileSteps } from './pattern-cost.js'

/** A regular expression of a client, ready for searches. */
export interface Pattern {
  /** Whether the expression matches somewhere in the text. */
  readonly test: (text: string) => boolean
  /** The most steps (see `StepBudget`) of a search in a text of this length. */
  readonly steps: (characters: number) => number
}

/** The text is not a regular expression of the engine's language, or exceeds a limit. */
export interface PatternMalformed {
  readonly kind: 'patternMalformed'
  readonly pattern: string
}

/** Compiling it, alone or with the others of its request, would delay other requests for too long. */
interface PatternTooCostly {
  readonly kind: 'patternTooCostly'
  readonly pattern: string
}

export type PatternRefusal = PatternMalformed | PatternTooCostly

/** Twice the length of the longest id. Parsing takes time with the length, so longer patterns are not parsed. */
const maxCharacters = 2048

/**
 * The time of a search grows with the text times the instructions of the compiled program, which repetitions such as `x{1000}`
 * multiply. 500 instructions cost up to 6 µs per character of the text.
 */
const maxInstructions = 500

/** The most time for compiling a pattern, and for compiling all patterns of one request: about 20 ms. */
export const mostCompileSteps = 20_000

/**
 * Compiles a regular expression in Perl's style, case-sensitive and not anchored [context 7.2]. It runs in linear time, so there
 * are no backreferences and no lookarounds. Refuses patterns that would take long to compile, do not compile, contain U+0000, or
 * are too large.
 */
export function compilePattern(text: string): Result<Pattern, PatternRefusal> {
  if (stepsToCompile(text) > mostCompileSteps) {
    return err({ kind: isOfClasses(text) ? 'patternTooCostly' : 'patternMalformed', pattern: text })
  }
  const pattern = isReadable(text) ? (plainPattern(text) ?? enginePattern(text)) : undefined
  return pattern === undefined ? err({ kind: 'patternMalformed', pattern: text }) : ok(pattern)
}

/** Whether a pattern is too costly because of its classes; otherwise it is too large. */
function isOfClasses(text: string): boolean {
  return text.includes('\\p') || text.includes('\\P') || foldsCase.test(text)
}

/** The most steps for compiling a pattern, of about 1 µs each; 0 for one that needs no engine or is not parsed. */
function stepsToCompile(text: string): number {
  return !isReadable(text) || plainPattern(text) !== undefined ? 0 : compileSteps(text)
}

/**
 * The patterns of one request, query or filter, each compiled once. A compiled pattern is functions and tables of one thread and
 * cannot be sent to another: the front end that checks a request and the query thread that scans for it each compile its
 * patterns, within the time that `PatternsTogether` allows.
 */
export class CompiledPatterns {
  readonly #patterns = new Map<string, Pattern>()

  /** The pattern of a text that was accepted before. */
  of(text: string): Pattern {
    const known = this.#patterns.get(text)
    if (known !== undefined) return known
    const pattern = acceptedPattern(text)
    this.#patterns.set(text, pattern)
    return pattern
  }
}

/** The pattern of a text that was accepted before; throws if it does not compile, which is an internal error. */
export function acceptedPattern(text: string): Pattern {
  // The cost is not checked: earlier versions accepted patterns that are too costly now.
  const pattern = plainPattern(text) ?? enginePattern(text)
  if (pattern === undefined) throw new Error(`a pattern that does not compile was let in: ${text}`)
  return pattern
}

/** A pattern that will be searched often, and the cost of preparing it so that every search takes the same time. */
interface LastingPattern extends Pattern {
  /** Up to 2 µs each. */
  readonly transitions: number
}

/**
 * Prepares the pattern of a text that was accepted before. Its steps of about 10 ns also stand for its memory: one for each 16
 * bytes.
 */
export function lastingPattern(text: string): LastingPattern {
  const plain = plainPattern(text)
  if (plain !== undefined) return { ...plain, transitions: 0 }
  const expression = RE2JS.compile(text)
  const instructions = expression.programSize()
  const automaton = completeAutomaton(expression)
  const perCharacter = lastingSteps(text, expression, automaton)
  const memory = automaton.bytes / 16
  return {
    test: (given) => expression.test(given),
    steps: (characters) =>
      always_steps + memory + Math.ceil(Math.min(characters, mostSearched(text, instructions)) * perCharacter),
    transitions: automaton.transitions,
  }
}

/** The fixed cost of visiting a pattern and gathering its matches. */
const always_steps = 10

/** The steps per character, as measured with ids of 1024 characters of every kind. */
function lastingSteps(text: string, expression: RE2JS, { isComplete, classes }: Automaton): number {
  const { onepass, prefilter } = expression.re2Input
  const literal = prefilter === null ? 0 : literal_steps
  if (!isComplete) return literal + instructionSteps(text, expression.programSize())
  const isManyClasses = classes > 64
  if (onepass !== null) return literal + (isManyClasses ? 7 : 4.5)
  return literal + (isManyClasses ? 4 : 1.25)
}

/** Without states every character meets every instruction; where case is ignored, in each of its forms. */
function instructionSteps(text: string, instructions: number): number {
  return 5 + (foldsCase.test(text) ? 2.5 : 1.2) * instructions
}

const foldsCase = /\(\?[A-Za-z]*i/

/** For so small a program the engine keeps all states, and looks up one for each character. */
const fewInstructions = 12

/**
 * Larger programs can have so many states that each character makes a new one: its cost has a fixed part, like that of some
 * instructions, and one part per instruction.
 */
const newState_steps = 40

function engineSteps(text: string, instructions: number): Pattern['steps'] {
  const perCharacter = instructions <= fewInstructions ? 1 : newState_steps + instructions
  const most = mostSearched(text, instructions)
  return (characters) => 1 + Math.min(characters, most) * perCharacter
}

/** The number of characters after which a search ends, whatever follows. */
function mostSearched(text: string, instructions: number): number {
  return endsEarly.test(text) ? instructions : Number.POSITIVE_INFINITY
}

/**
 * Anchored, without alternatives and repetitions: each character leads to a later instruction, and a search ends when there are
 * no more. This recognises texts such as `^Silo-..$`; it need not recognise all.
 */
const endsEarly = /^\^[^|*+{]*$/

/** Per character of a text in which a literal is searched: the literal can begin in many places and fail in each. */
const literal_steps = 0.6

/** A text without special characters, alone or between an anchor and what matches anything. */
const plain = /^(\.\*|\^)?([^\\^$.|?*+()[\]{}]*)(\.\*\$?|\$)?$/

/** Most patterns need no engine: `.*`, `Silo`, `^Silo`, `Silo.*`, `^Silo.*$` or `^Silo1$`. */
function plainPattern(text: string): Pattern | undefined {
  const [, before, literal, after] = plain.exec(text) ?? []
  // The engine compares code points: half of a surrogate pair does not match within a pair, as it would in JavaScript.
  if (literal?.isWellFormed() !== true) return undefined
  const perCharacter = before === '^' || after === '$' ? 1 / 16 : literal_steps
  return {
    test: plainTest(before === '^', literal, after),
    steps: (characters) => always_steps + Math.ceil(characters * perCharacter),
  }
}

function plainTest(fromStart: boolean, literal: string, after: string | undefined): Pattern['test'] {
  if (after === '.*$') return toLineEnd(fromStart, literal)
  const toEnd = after === '$'
  if (fromStart) return toEnd ? (text) => text === literal : (text) => text.startsWith(literal)
  if (literal === '') return () => true
  return toEnd ? (text) => text.endsWith(literal) : (text) => text.includes(literal)
}

/** A full stop does not match a line end: none may follow the literal. */
function toLineEnd(fromStart: boolean, literal: string): Pattern['test'] {
  if (fromStart) return (text) => text.startsWith(literal) && !text.includes('\n', literal.length)
  return (text) => {
    const last = text.lastIndexOf(literal)
    return last !== -1 && !text.includes('\n', last + literal.length)
  }
}

function enginePattern(text: string): Pattern | undefined {
  const expression = compiled(text)
  if (expression === undefined) return undefined
  const instructions = expression.programSize()
  return { test: searching(expression, instructions), steps: engineSteps(text, instructions) }
}

/** The expression of the engine, with the same limits as a pattern; undefined where {@link compilePattern} refuses. */
export function engineExpression(text: string): RE2JS | undefined {
  return isReadable(text) && compileSteps(text) <= mostCompileSteps ? compiled(text) : undefined
}

function isReadable(text: string): boolean {
  return text.length <= maxCharacters && !text.includes('\0')
}

function compiled(text: string): RE2JS | undefined {
  try {
    const expression = RE2JS.compile(text)
    return expression.programSize() > maxInstructions ? undefined : expression
  } catch (thrown) {
    if (thrown instanceof RE2JSException) return undefined
    throw thrown
  }
}

function searching(expression: RE2JS, instructions: number): Pattern['test'] {
  if (instructions <= fewInstructions) return (text) => expression.test(text)
  let isLimited = false
  return (text) => {
    // Only at first use: most expressions are only checked, or a literal in them is not found.
    if (!isLimited) limitAutomaton(expression)
    isLimited = true
    return expression.test(text)
  }
}

/** Characters that mean themselves wherever they stand. Only ASCII is considered. */
const literal = /^[\w :/@%~#&,;="'<>!-]$/

/**
 * A text with which every match of an expression begins, as far as it can be seen: the literal characters behind `^`. Undefined
 * for an expression that need not match at the beginning.
 */
export function literalPrefix(pattern: string): string | undefined {
  if (!pattern.startsWith('^') || pattern.includes('|')) return undefined
  let end = 1
  while (end < pattern.length && literal.test(pattern.charAt(end))) end += 1
  // A repeated part may occur zero times. A group of flags is no part of the expression: in `^a(?)?` and `^a+(?)?` the last sign
  // repeats the `a`.
  const next = pattern.charAt(end)
  const isOptional = (next !== '' && '*?{'.includes(next)) || pattern.includes('(?', end)
  const prefix = pattern.slice(1, isOptional ? end - 1 : end)
  return prefix === '' ? undefined : prefix
}

/**
 * The patterns of one request, wherever they stand in it: together they may take as long as one pattern alone. The parser of a
 * request makes one of these and hands it to all that read patterns of the request.
 */
export class PatternsTogether {
  readonly #checked = new Set<string>()
  #steps = 0

  /**
   * Refuses a pattern that does not compile, or, before compiling it, the one with which all of them take too long. A repeated
   * text costs nothing.
   */
  check(text: string): Result<undefined, PatternRefusal> {
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

  /** Checks texts in order; refuses with the first that {@link check} refuses. */
  checkAll(texts: Iterable<string>): Result<undefined, PatternRefusal> {
    for (const text of texts) {
      const checked = this.check(text)
      if (!checked.ok) return checked
    }
    return ok(undefined)
  }
}

/** The error text for a pattern that would take too long to compile; a long pattern is cut where it can still be recognised. */
export function detailsOfTooCostly(pattern: string): string {
  const shown = pattern.length > shown_characters ? `${pattern.slice(0, shown_characters)}...` : pattern
  return `regular expression takes too long to compile: '${shown.toWellFormed()}'`
}

const shown_characters = 100
