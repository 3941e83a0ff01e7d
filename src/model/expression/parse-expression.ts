import type { Value } from '../context/entity.js'
import {
  type Case,
  type Expression,
  type Link,
  maxDepth,
  maxLength,
  type ObjectMember,
  operatorOf,
  type Prefix,
  Scanner,
  type Step,
  tightestRank,
} from './syntax.js'

/**
 * Parses an expression, in linear time [NGSIv2 subscriptions 6.3]; undefined when it is malformed, too long or nested too deep.
 */
export function parseExpression(text: string): Expression | undefined {
  return text.length > maxLength ? undefined : new Parser(text).whole()
}

type Parsed<Part> = Part | undefined

/** A recursive-descent parser. Each method gives undefined where the tokens are not what it parses. */
class Parser {
  readonly #scanner: Scanner
  /** Equal leaves share one object: a long expression may have very many. */
  readonly #names = new Map<string, Expression>()
  readonly #literals = new Map<Value, Expression>()
  readonly #members = new Map<string, Step>()
  readonly #plainTransformations = new Map<string, Step>()
  #depth = 0
  /** The number of open brackets that follow an operand. */
  #brackets = 0
  /** Whether the innermost of them names a member of the element, which makes it a filter. */
  #namesElement = false

  constructor(text: string) {
    this.#scanner = new Scanner(text)
  }

  whole(): Parsed<Expression> {
    const expression = this.#choice()
    return this.#scanner.kind === 'end' ? expression : undefined
  }

  readonly #part = (): Parsed<Expression> => this.#nested()
  readonly #memberPart = (): Parsed<ObjectMember> => this.#objectMember()

  /** The contents of parentheses or brackets. */
  #nested(): Parsed<Expression> {
    if (this.#depth === maxDepth) return undefined
    this.#depth += 1
    const expression = this.#choice()
    this.#depth -= 1
    return expression
  }

  #choice(): Parsed<Expression> {
    const cases: Case[] = []
    for (;;) {
      const condition = this.#chain(0)
      if (condition === undefined) return undefined
      if (!this.#takes('?'))
        return cases.length === 0 ? condition : { kind: 'choice', cases: fitted(cases), otherwise: condition }
      const then = this.#nested()
      if (then === undefined || !this.#takes(':')) return undefined
      cases.push({ condition, then })
    }
  }

  #chain(rank: number): Parsed<Expression> {
    const isTightest = rank === tightestRank
    const first = isTightest ? this.#prefixed() : this.#chain(rank + 1)
    if (first === undefined || this.#scanner.rank !== rank) return first
    const rest: Link[] = []
    while (this.#scanner.rank === rank) {
      const operator = operatorOf(this.#scanner.text)
      this.#scanner.next()
      const operand = isTightest ? this.#prefixed() : this.#chain(rank + 1)
      if (operand === undefined || operator === undefined) return undefined
      rest.push({ operator, operand })
    }
    return { kind: 'chain', first, rest: fitted(rest) }
  }

  #prefixed(): Parsed<Expression> {
    const first = this.#prefix()
    if (first === undefined) return this.#path()
    const prefixes: Prefix[] = [first]
    for (let prefix = this.#prefix(); prefix !== undefined; prefix = this.#prefix()) prefixes.push(prefix)
    const operand = this.#path()
    return operand && { kind: 'prefixed', prefixes: fitted(prefixes), operand }
  }

  #prefix(): Parsed<Prefix> {
    return this.#takes('!') ? '!' : this.#takes('-') ? '-' : undefined
  }

  #path(): Parsed<Expression> {
    const base = this.#operand()
    if (base === undefined) return undefined
    if (this.#scanner.kind !== 'sign') return base
    const steps: Step[] = []
    for (;;) {
      const read = this.#takes('.')
        ? this.#member()
        : this.#takes('[')
          ? this.#bracket()
          : this.#takes('|')
            ? this.#transformation()
            : 'none'
      if (read === undefined) return undefined
      if (read === 'none') return steps.length === 0 ? base : { kind: 'path', base, steps: fitted(steps) }
      steps.push(read)
    }
  }

  #member(): Parsed<Step> {
    const name = this.#word()
    return name === undefined ? undefined : held(this.#members, name, () => ({ kind: 'member', name }))
  }

  #bracket(): Parsed<Step> {
    const namedOutside = this.#namesElement
    this.#namesElement = false
    this.#brackets += 1
    const inside = this.#nested()
    this.#brackets -= 1
    const isFilter = this.#namesElement
    this.#namesElement = namedOutside
    if (inside === undefined || !this.#takes(']')) return undefined
    return isFilter ? { kind: 'filter', condition: inside } : { kind: 'index', at: inside }
  }

  #transformation(): Parsed<Step> {
    const name = this.#word()
    if (name === undefined) return undefined
    const inputs = this.#takes('(') ? this.#list(')', this.#part) : []
    if (inputs === undefined || inputs.length > 0) return inputs && { kind: 'transformation', name, inputs }
    return held(this.#plainTransformations, name, () => ({ kind: 'transformation', name, inputs }))
  }

  #operand(): Parsed<Expression> {
    const { kind, text, number } = this.#scanner
    if (kind === 'end' || kind === 'wrong') return undefined
    this.#scanner.next()
    switch (kind) {
      case 'number':
        return this.#literal(number)
      case 'text':
        return this.#literal(text)
      case 'word':
        return this.#namedOrLiteral(text)
      case 'sign':
        return this.#enclosed(text)
    }
  }

  #literal(value: Value): Expression {
    return held(this.#literals, value, () => ({ kind: 'literal', value }))
  }

  #namedOrLiteral(word: string): Parsed<Expression> {
    switch (word) {
      case 'true':
      case 'false':
        return this.#literal(word === 'true')
      case 'null':
        return this.#literal(null)
      case 'in':
        return undefined
      default:
        return held(this.#names, word, () => ({ kind: 'name', name: word }))
    }
  }

  /** An array, an object, parentheses, or a member of a filter's element, by its first sign. */
  #enclosed(sign: string): Parsed<Expression> {
    switch (sign) {
      case '(': {
        const inside = this.#nested()
        return this.#takes(')') ? inside : undefined
      }
      case '[': {
        const items = this.#list(']', this.#part)
        return items && { kind: 'array', items }
      }
      case '{': {
        const members = this.#list('}', this.#memberPart)
        return members && { kind: 'object', members }
      }
      case '.':
        return this.#elementMember()
      default:
        return undefined
    }
  }

  #elementMember(): Parsed<Expression> {
    const name = this.#word()
    if (name === undefined || this.#brackets === 0) return undefined
    this.#namesElement = true
    return { kind: 'elementMember', name }
  }

  #objectMember(): Parsed<ObjectMember> {
    const { kind, text } = this.#scanner
    const name = kind === 'word' || kind === 'text' ? text : undefined
    this.#scanner.next()
    if (name === undefined || !this.#takes(':')) return undefined
    const value = this.#nested()
    return value && { name, value }
  }

  /** Parts separated by commas, up to the closing sign. */
  #list<Part>(end: string, part: () => Parsed<Part>): Parsed<readonly Part[]> {
    if (this.#takes(end)) return nothing
    const parts: Part[] = []
    for (;;) {
      const next = part()
      if (next === undefined) return undefined
      parts.push(next)
      if (this.#takes(end)) return fitted(parts)
      if (!this.#takes(',')) return undefined
    }
  }

  #word(): Parsed<string> {
    if (this.#scanner.kind !== 'word') return undefined
    const word = this.#scanner.text
    this.#scanner.next()
    return word
  }

  #takes(sign: string): boolean {
    if (!this.#scanner.isSign(sign)) return false
    this.#scanner.next()
    return true
  }
}

const nothing: readonly never[] = []

/** A copy without the spare capacity of a list that has grown. */
function fitted<Part>(parts: readonly Part[]): readonly Part[] {
  return parts.slice()
}

function held<Key, Part>(parts: Map<Key, Part>, key: Key, make: () => Part): Part {
  const known = parts.get(key)
  if (known !== undefined) return known
  const made = make()
  parts.set(key, made)
  return made
}
