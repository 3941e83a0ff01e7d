import type { Value } from '../context/entity.js'
import { compileOccurrences, type Occurrences } from '../context/occurrences.js'
import { LruCache } from '../lru-cache.js'
import { evaluate } from './evaluate.js'
import { type ExpressionScope, resultSize } from './expression-scope.js'
import { parseExpression } from './parse-expression.js'
import type { Expression } from './syntax.js'

/** An expression that is wrong by its syntax stands here as nothing. */
interface Read {
  readonly expression: Expression | undefined
}

interface Compiled {
  readonly occurrences: Occurrences | undefined
}

/** What a character of an expression takes once it is read, and one of a regular expression once it is compiled. */
const readCharacter_bytes = 100
const compiledCharacter_bytes = 1000

/** What the engine needs of its own for a search. */
const compiled_bytes = 2 ** 15

/**
 * Evaluates expressions, and keeps those that it has read lately: the same few are evaluated with every update that a
 * subscription is notified of, and to read one takes longer than to evaluate it. They are kept here, by their texts, and not
 * with the subscriptions: those that never fire take no memory, those that say the same share it, and it has one
 * bound. Belongs to a thread. What is kept makes no difference to any result.
 */
export class Expressions {
  readonly #read: LruCache<Read>
  readonly #compiled: LruCache<Compiled>

  /** Keeps at most this many bytes of expressions, and as many of regular expressions in them. */
  constructor(limit_bytes: number) {
    this.#read = new LruCache(limit_bytes)
    this.#compiled = new LruCache(limit_bytes)
  }

  /**
   * The result of an expression; null when it is wrong, longer than a result may be, or takes more effort than there
   * is. A text that is a name as a whole, such as `oil-temp`, is that name [NGSIv2 subscriptions 6.3].
   */
  evaluate(text: string, scope: ExpressionScope): Value {
    if (!scope.effort.spend(1 + text.length)) return null
    const value = scope.lookUp(text.trim()) ?? this.#evaluated(text, scope)
    return value === undefined || scope.effort.isSpent || resultSize(value, scope) === undefined ? null : value
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
    const known = this.#read.get(text)
    if (known !== undefined) return known.expression
    const expression = parseExpression(text)
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
