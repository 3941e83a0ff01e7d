import { LruCache } from '../../lru-cache.js'
import type { Value } from '../context/entity.js'
import { compileOccurrences, type Occurrences } from '../context/occurrences.js'
import { evaluate } from './evaluate.js'
import { parseExpression } from './parse-expression.js'
import { type ExpressionScope, ObjectSizes, resultSize } from './scope.js'
import type { Expression } from './syntax.js'

/** `expression` is undefined for a text with a syntax error. */
interface Read {
  readonly expression: Expression | undefined
}

interface Compiled {
  readonly occurrences: Occurrences | undefined
}

/** The most memory per character of a parsed expression, and of a compiled regular expression. */
export const readCharacter_bytes = 45
const compiledCharacter_bytes = 1000

/** The engine's own memory for a search. */
const compiled_bytes = 2 ** 15

/** An expression, and how often it is held. */
interface HeldExpression extends Read {
  holders: number
}

/** Keeps the expressions of a holder parsed until it releases them. */
export type ExpressionHolder = Pick<Expressions, 'hold' | 'release'>

/**
 * Evaluates expressions. Held expressions are parsed once, when they are first held, and never during an evaluation:
 * subscriptions evaluate the same few expressions at each update, and parsing one takes longer than evaluating it. Equal texts
 * share one expression. Of the others the recently used ones are cached. Belongs to one thread. The caches never change a result.
 */
export class Expressions {
  /** For the scopes of the evaluations. */
  readonly sizes = new ObjectSizes()
  readonly #held = new Map<string, HeldExpression>()
  readonly #read: LruCache<Read>
  readonly #compiled: LruCache<Compiled>
  readonly #parse: typeof parseExpression

  /** Caches at most this many bytes of expressions that are not held, and as many of regular expressions in all of them. */
  constructor(limit_bytes: number, parse = parseExpression) {
    this.#read = new LruCache(limit_bytes)
    this.#compiled = new LruCache(limit_bytes)
    this.#parse = parse
  }

  /** Parses an expression unless it is known, and keeps it until it is released as often as it was held. */
  hold(text: string): void {
    const held = this.#held.get(text)
    if (held === undefined) this.#held.set(text, { expression: this.#expression(text), holders: 1 })
    else held.holders += 1
  }

  /** To be called once for each call of `hold`. */
  release(text: string): void {
    const held = this.#held.get(text)
    if (held === undefined) return
    held.holders -= 1
    if (held.holders === 0) this.#held.delete(text)
  }

  /**
   * The result of an expression; null when it is in error, longer than a result may be, or takes more steps than the budget has.
   * A text that as a whole is a name, such as `oil-temp`, is that name [NGSIv2 subscriptions 6.3].
   */
  evaluate(text: string, scope: ExpressionScope): Value {
    if (!scope.budget.spend(1 + text.length)) return null
    const value = scope.lookUp(text.trim()) ?? this.#evaluated(text, scope)
    return value === undefined || scope.budget.isSpent || resultSize(value, scope) === undefined ? null : value
  }

  /** Whether the condition of a subscription holds: only `true` itself does [NGSIv2 subscriptions 4.1]. */
  holds(condition: string, scope: ExpressionScope): boolean {
    return this.evaluate(condition, scope) === true
  }

  #evaluated(text: string, scope: ExpressionScope): Value | undefined {
    const expression = this.#expression(text)
    return expression && evaluate(expression, scope, (regex) => this.#occurrences(regex))
  }

  #expression(text: string): Expression | undefined {
    const known = this.#held.get(text) ?? this.#read.get(text)
    if (known !== undefined) return known.expression
    const expression = this.#parse(text)
    this.#read.put(text, { expression }, text.length * readCharacter_bytes)
    return expression
  }

  #occurrences(regex: string): Occurrences | undefined {
    const known = this.#compiled.get(regex)
    if (known !== undefined) return known.occurrences
    const compiled = compileOccurrences(regex)
    const occurrences = compiled.ok ? compiled.value : undefined
    this.#compiled.put(regex, { occurrences }, compiled_bytes + regex.length * compiledCharacter_bytes)
    return occurrences
  }
}
