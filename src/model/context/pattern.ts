import { RE2JS, RE2JSException } from 're2js'
import { err, ok, type Result } from '../../result.js'
import { type Automaton, completeAutomaton, limitAutomaton } from './automaton.js'
import { compileSteps } from './pattern-cost.js'

/** A regular expression of a client, ready to be searched in texts. */
export interface Pattern {
  /** Whether the expression matches somewhere in the text. */
  readonly test: (text: string) => boolean
  /** How many steps (see `StepBudget`) a search of a text of this length takes at most. */
  readonly steps: (characters: number) => number
}

/** The text is no regular expression of the engine's language, or it is over a limit. */
export interface PatternMalformed {
  readonly kind: 'patternMalformed'
  readonly pattern: string
}

/** Compiling it, alone or with the others of its request, would take so long that others wait for it. */
interface PatternTooCostly {
  readonly kind: 'patternTooCostly'
  readonly pattern: string
}

export type PatternRefused = PatternMalformed | PatternTooCostly

/** Twice what the longest id needs. Reading a pattern takes time with its length, so longer ones are not read. */
const maxCharacters = 2048

/**
 * The time of a search grows with the text times the instructions of the compiled program, which repetitions such as
 * `x{1000}` multiply. 500 cost up to 6 µs for each character of the text.
 */
const maxInstructions = 500

/** Compiling takes a thread as long as this; for all patterns of one request together, too. About 20 ms. */
export const mostCompileSteps = 20_000

/**
 * A regular expression in Perl's style, case-sensitive and not anchored [context 7.2]. It runs in linear time, so there
 * are no backreferences and no lookarounds. Refuses what would take long to compile, what does not compile, what contains
 * U+0000, and what is too large.
 */
export function compilePattern(text: string): Result<Pattern, PatternRefused> {
  if (stepsToCompile(text) > mostCompileSteps) {
    return err({ kind: isOfClasses(text) ? 'patternTooCostly' : 'patternMalformed', pattern: text })
  }
  const pattern = isReadable(text) ? (plainPattern(text) ?? enginePattern(text)) : undefined
  return pattern === undefined ? err({ kind: 'patternMalformed', pattern: text }) : ok(pattern)
}

/** Whether a pattern may take long by its classes; one that does without them is too large. */
function isOfClasses(text: string): boolean {
  return text.includes('\\p') || text.includes('\\P') || foldsCase.test(text)
}

/** What it takes at most to compile a pattern, in steps of about 1 µs; nothing for one that needs no engine or is not read. */
function stepsToCompile(text: string): number {
  return !isReadable(text) || plainPattern(text) !== undefined ? 0 : compileSteps(text)
}

/**
 * The patterns of one request, query or filter: each that is there several times is compiled once. What the engine makes of a text
 * is functions and tables of one thread, which no other can be handed: the front end that checks a request and the query thread that
 * scans for it each compile its patterns, within the time that `PatternsTogether` allows.
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

/** The pattern of a text that was accepted before, at the boundary; one that does not compile is a fault of ours. */
export function acceptedPattern(text: string): Pattern {
  // Not by what it takes to compile: earlier versions let in what is too costly now.
  const pattern = plainPattern(text) ?? enginePattern(text)
  if (pattern === undefined) throw new Error(`a pattern that does not compile was let in: ${text}`)
  return pattern
}

/** A pattern that will be searched for often, and what it took to make a search of it cost the same every time. */
interface LastingPattern extends Pattern {
  /** Of up to 2 us each. */
  readonly transitions: number
}

/**
 * Prepares the pattern of a text that was accepted before. Its steps, of about 10 ns, also stand for its memory: one for
 * each 16 bytes.
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

/** To come to a pattern at all, and to gather whom it finds. */
const always_steps = 10

/** What one character takes, as measured with ids of 1024 characters of every kind. */
function lastingSteps(text: string, expression: RE2JS, { isComplete, classes }: Automaton): number {
  const { onepass, prefilter } = expression.re2Input
  const literal = prefilter === null ? 0 : literal_steps
  if (!isComplete) return literal + instructionSteps(text, expression.programSize())
  const isManyClasses = classes > 64
  if (onepass !== null) return literal + (isManyClasses ? 7 : 4.5)
  return literal + (isManyClasses ? 4 : 1.25)
}

/** Without states every character meets every instruction; where case does not matter, in each of its forms. */
function instructionSteps(text: string, instructions: number): number {
  return 5 + (foldsCase.test(text) ? 2.5 : 1.2) * instructions
}

const foldsCase = /\(\?[A-Za-z]*i/

/** The engine remembers the states of so small a program and needs no more than to look one up for each character. */
const fewInstructions = 12

/**
 * Larger ones can have enough states for each character to make a new one: it costs a part that does not depend on the
 * program, like that of some instructions, and one for each instruction.
 */
const newState_steps = 40

function engineSteps(text: string, instructions: number): Pattern['steps'] {
  const perCharacter = instructions <= fewInstructions ? 1 : newState_steps + instructions
  const most = mostSearched(text, instructions)
  return (characters) => 1 + Math.min(characters, most) * perCharacter
}

/** After how many characters a search is over, whatever follows. */
function mostSearched(text: string, instructions: number): number {
  return endsEarly.test(text) ? instructions : Number.POSITIVE_INFINITY
}

/**
 * Anchored, without alternatives and repetitions: each character leads to a later instruction, and a search is over when
 * there are no more. Texts such as `^Silo-..$` are told apart by this; it need not find all of them.
 */
const endsEarly = /^\^[^|*+{]*$/

/** A character of a text in which a literal is searched: it can begin in many places and fail in each. */
const literal_steps = 0.6

/** A text without special characters, alone or between what anchors it and what matches anything. */
const plain = /^(\.\*|\^)?([^\\^$.|?*+()[\]{}]*)(\.\*\$?|\$)?$/

/** Most patterns need no engine: `.*`, `Silo`, `^Silo`, `Silo.*`, `^Silo.*$` or `^Silo1$`. */
function plainPattern(text: string): Pattern | undefined {
  const [, before, literal, after] = plain.exec(text) ?? []
  // The engine compares characters: half of a surrogate pair does not match in a whole one, as it would in JavaScript.
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

/** A full stop means no end of a line: none may come after the literal. */
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

/** The expression of the engine, with the same limits as a pattern; nothing for what {@link compilePattern} refuses. */
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
    // Not before it is needed: most expressions are only checked, or a literal in them is not found.
    if (!isLimited) limitAutomaton(expression)
    isLimited = true
    return expression.test(text)
  }
}

/** Characters that mean themselves in an expression wherever they stand. Others than those of ASCII are not looked for. */
const literal = /^[\w :/@%~#&,;="'<>!-]$/

/**
 * What every text begins with that an expression matches, as far as it can be seen: the characters behind `^` that mean
 * themselves. Nothing for an expression that need not match at the beginning.
 */
export function literalPrefix(pattern: string): string | undefined {
  if (!pattern.startsWith('^') || pattern.includes('|')) return undefined
  let end = 1
  while (end < pattern.length && literal.test(pattern.charAt(end))) end += 1
  // What is repeated need not be there once. A group of flags is no part of the expression: in `^a(?)?` and `^a+(?)?` it is the `a` that the
  // last sign repeats.
  const next = pattern.charAt(end)
  const isOptional = (next !== '' && '*?{'.includes(next)) || pattern.includes('(?', end)
  const prefix = pattern.slice(1, isOptional ? end - 1 : end)
  return prefix === '' ? undefined : prefix
}

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
