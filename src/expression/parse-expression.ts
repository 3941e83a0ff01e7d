import { type Token, tokensOf } from './scanner.js'
import {
  type Case,
  type Expression,
  type Link,
  maxDepth,
  maxLength,
  type ObjectMember,
  type Operator,
  type Prefix,
  ranks,
  type Step,
} from './syntax.js'

/** Reads an expression [NGSIv2 subscriptions 6.3]; nothing when it is none, too long or nested too deep. */
export function parseExpression(text: string): Expression | undefined {
  if (text.length > maxLength) return undefined
  const tokens = tokensOf(text)
  return tokens && new Parser(tokens).whole()
}

type Parsed<Part> = Part | undefined

/** Reads tokens from the first to the last. Each method gives nothing when they do not begin with what it reads. */
class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0
  /** How many brackets that follow an operand are open. */
  #brackets = 0
  /** Whether a member of an element was named in the innermost of them, which makes it a filter. */
  #namesElement = false

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  whole(): Parsed<Expression> {
    const expression = this.#choice()
    return this.#at === this.#tokens.length ? expression : undefined
  }

  /** What stands between parentheses or brackets. */
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
      if (!this.#takes('?')) return cases.length === 0 ? condition : { kind: 'choice', cases, otherwise: condition }
      const then = this.#nested()
      if (then === undefined || !this.#takes(':')) return undefined
      cases.push({ condition, then })
    }
  }

  #chain(rank: number): Parsed<Expression> {
    const operators = ranks[rank]
    if (operators === undefined) return this.#prefixed()
    const first = this.#chain(rank + 1)
    if (first === undefined) return undefined
    const rest: Link[] = []
    for (let operator = this.#operator(operators); operator !== undefined; operator = this.#operator(operators)) {
      const operand = this.#chain(rank + 1)
      if (operand === undefined) return undefined
      rest.push({ operator, operand })
    }
    return rest.length === 0 ? first : { kind: 'chain', first, rest }
  }

  #operator(operators: readonly Operator[]): Parsed<Operator> {
    return operators.find((operator) => (operator === 'in' ? this.#takesWord(operator) : this.#takes(operator)))
  }

  #prefixed(): Parsed<Expression> {
    const prefixes: Prefix[] = []
    for (let prefix = this.#prefix(); prefix !== undefined; prefix = this.#prefix()) prefixes.push(prefix)
    const operand = this.#path()
    if (operand === undefined || prefixes.length === 0) return operand
    return { kind: 'prefixed', prefixes, operand }
  }

  #prefix(): Parsed<Prefix> {
    return this.#takes('!') ? '!' : this.#takes('-') ? '-' : undefined
  }

  #path(): Parsed<Expression> {
    const base = this.#operand()
    if (base === undefined) return undefined
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
      if (read === 'none') return steps.length === 0 ? base : { kind: 'path', base, steps }
      steps.push(read)
    }
  }

  #member(): Parsed<Step> {
    const name = this.#word()
    return name === undefined ? undefined : { kind: 'member', name }
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
    const inputs = this.#takes('(') ? this.#list(')', () => this.#nested()) : []
    return inputs && { kind: 'transformation', name, inputs }
  }

  #operand(): Parsed<Expression> {
    const token = this.#tokens[this.#at]
    if (token === undefined) return undefined
    this.#at += 1
    switch (token.kind) {
      case 'number':
        return { kind: 'literal', value: token.number }
      case 'text':
        return { kind: 'literal', value: token.text }
      case 'word':
        return namedOrLiteral(token.word)
      case 'sign':
        return this.#enclosed(token.sign)
    }
  }

  /** What begins with a sign: an array, an object, parentheses, or a member of the element of a filter. */
  #enclosed(sign: string): Parsed<Expression> {
    switch (sign) {
      case '(': {
        const inside = this.#nested()
        return this.#takes(')') ? inside : undefined
      }
      case '[': {
        const items = this.#list(']', () => this.#nested())
        return items && { kind: 'array', items }
      }
      case '{': {
        const members = this.#list('}', () => this.#objectMember())
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
    const token = this.#tokens[this.#at]
    const name = token?.kind === 'word' ? token.word : token?.kind === 'text' ? token.text : undefined
    this.#at += 1
    if (name === undefined || !this.#takes(':')) return undefined
    const value = this.#nested()
    return value && { name, value }
  }

  /** Parts with commas in between, until the sign that ends them. */
  #list<Part>(end: string, part: () => Parsed<Part>): Parsed<readonly Part[]> {
    const parts: Part[] = []
    if (this.#takes(end)) return parts
    for (;;) {
      const next = part()
      if (next === undefined) return undefined
      parts.push(next)
      if (this.#takes(end)) return parts
      if (!this.#takes(',')) return undefined
    }
  }

  #word(): Parsed<string> {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'word') return undefined
    this.#at += 1
    return token.word
  }

  #takes(sign: string): boolean {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'sign' || token.sign !== sign) return false
    this.#at += 1
    return true
  }

  #takesWord(word: string): boolean {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'word' || token.word !== word) return false
    this.#at += 1
    return true
  }
}

function namedOrLiteral(word: string): Parsed<Expression> {
  switch (word) {
    case 'true':
    case 'false':
      return { kind: 'literal', value: word === 'true' }
    case 'null':
      return { kind: 'literal', value: null }
    case 'in':
      return undefined
    default:
      return { kind: 'name', name: word }
  }
}
