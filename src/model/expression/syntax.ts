import type { Value } from '../context/entity.js'

/** A parsed expression [NGSIv2 subscriptions 6.3], nested at most {@link maxDepth} parentheses deep. */
export type Expression =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  /** `.name` in a filter: a member of the current element. */
  | { readonly kind: 'elementMember'; readonly name: string }
  | { readonly kind: 'array'; readonly items: readonly Expression[] }
  | { readonly kind: 'object'; readonly members: readonly ObjectMember[] }
  /** In the order of the text, so the last operator is applied first. */
  | { readonly kind: 'prefixed'; readonly prefixes: readonly Prefix[]; readonly operand: Expression }
  | { readonly kind: 'chain'; readonly first: Expression; readonly rest: readonly Link[] }
  | { readonly kind: 'choice'; readonly cases: readonly Case[]; readonly otherwise: Expression }
  | { readonly kind: 'path'; readonly base: Expression; readonly steps: readonly Step[] }

export interface ObjectMember {
  readonly name: string
  readonly value: Expression
}

/** The operators before an operand. */
export type Prefix = '!' | '-'

/** The operators between two operands. */
export type Operator =
  | ('&&' | '||')
  | ('==' | '!=' | '<' | '<=' | '>' | '>=' | 'in')
  | ('+' | '-')
  | ('*' | '/' | '//')
  | ('%' | '^')

/** An operand in a chain of operators of one rank. A chain is a list, not a tree, so that a long one does not nest. */
export interface Link {
  readonly operator: Operator
  readonly operand: Expression
}

/** `c ? x :`; consecutive ones form a list. */
export interface Case {
  readonly condition: Expression
  readonly then: Expression
}

/** A suffix of an operand: `.name`, `[index]`, `[.n > 2]`, `|name(x, y)`. */
export type Step =
  | { readonly kind: 'member'; readonly name: string }
  | { readonly kind: 'index'; readonly at: Expression }
  | { readonly kind: 'filter'; readonly condition: Expression }
  | { readonly kind: 'transformation'; readonly name: string; readonly inputs: readonly Expression[] }

/** The longest text that is parsed, in UTF-16 units [NGSIv2 subscriptions 6.3]. */
export const maxLength = 8192

/** How deep parentheses and brackets of all kinds may be nested [NGSIv2 subscriptions 6.3]. */
export const maxDepth = 64

/** The tokens of an expression, one after the other; each character is looked at once. */
export class Scanner {
  readonly #text: string
  #at = 0
  /** The kind of the current token; `end` behind the last one, `wrong` for a malformed one. */
  kind: 'number' | 'text' | 'word' | 'sign' | 'end' | 'wrong' = 'end'
  number = 0
  /** The word, the text without its quotation marks, or the sign. */
  text = ''
  /** How tightly a binary operator binds; -1 for other tokens. */
  rank = -1

  constructor(text: string) {
    this.#text = text
    this.next()
  }

  /** Whether the current token is this sign. */
  isSign(sign: string): boolean {
    return this.kind === 'sign' && this.text === sign
  }

  /** Advances to the next token. */
  next(): void {
    const text = this.#text
    this.rank = -1
    this.#at = behindSpaces(text, this.#at)
    const code = text.charCodeAt(this.#at)
    if (Number.isNaN(code)) this.kind = 'end'
    else if (isDigit(code)) this.#number()
    else if (code === 0x27 || code === 0x22) this.#quoted(code)
    else if (isAsciiWord(code) || code > 0x7f) this.#word()
    else this.#sign(code)
  }

  #number(): void {
    const text = this.#text
    const from = this.#at
    let at = behindDigits(text, from + 1)
    if (text[at] === '.' && isDigit(text.charCodeAt(at + 1))) at = behindDigits(text, at + 2)
    this.kind = 'number'
    this.number = Number(text.slice(from, at))
    this.#at = at
  }

  /** A text ends at the same quotation mark, unless a backslash stands before it. */
  #quoted(quote: number): void {
    const text = this.#text
    const from = this.#at + 1
    let at = from
    let isEscaped = false
    for (; ; at += 1) {
      const code = text.charCodeAt(at)
      if (code === quote) break
      if (code === backslash) {
        isEscaped = true
        at += 1
      }
      if (at >= text.length) {
        this.kind = 'wrong'
        return
      }
    }
    const quoted = text.slice(from, at)
    this.kind = 'text'
    this.text = isEscaped ? unescaped(quoted) : quoted
    this.#at = at + 1
  }

  #word(): void {
    const text = this.#text
    const from = this.#at
    let at = from
    while (isAsciiWord(text.charCodeAt(at)) || (at > from && isDigit(text.charCodeAt(at)))) at += 1
    if (text.charCodeAt(at) > 0x7f) {
      word.lastIndex = from
      const found = word.test(text)
      at = found ? word.lastIndex : from
    }
    if (at === from) {
      this.kind = 'wrong'
      return
    }
    this.kind = 'word'
    this.text = text.slice(from, at)
    this.#at = at
    if (this.text === 'in') this.rank = ranksOfSigns.get('in') ?? -1
  }

  #sign(code: number): void {
    const second = this.#text.charCodeAt(this.#at + 1)
    const sign = doubleSign(code, second) ?? singleSigns[code]
    if (sign === undefined) {
      this.kind = 'wrong'
      return
    }
    this.kind = 'sign'
    this.text = sign
    this.#at += sign.length
    this.rank = ranksOfSigns.get(sign) ?? -1
  }
}

/** The binary operators, loosest first; those of one row have one rank and associate to the left. */
const ranks: readonly (readonly Operator[])[] = [
  ['&&', '||'],
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '//'],
  ['%', '^'],
]

/** The rank of the operators that bind tightest. */
export const tightestRank = ranks.length - 1

const ranksOfSigns: ReadonlyMap<string, number> = new Map(
  ranks.flatMap((operators, rank) => operators.map((operator) => [operator, rank] as const)),
)

/** The binary operator of a sign or word; undefined for others. */
export function operatorOf(text: string): Operator | undefined {
  return operators.get(text)
}

const operators: ReadonlyMap<string, Operator> = new Map(ranks.flat().map((operator) => [operator, operator]))

/** Signs of one character, by their codes. */
const singleSigns: readonly (string | undefined)[] = Array.from({ length: 0x80 }, (_, code) => {
  const sign = String.fromCharCode(code)
  return '-+*/%^<>!?:.,|()[]{}'.includes(sign) ? sign : undefined
})

function doubleSign(first: number, second: number): string | undefined {
  if (second === 0x3d) {
    if (first === 0x3d) return '=='
    if (first === 0x21) return '!='
    if (first === 0x3c) return '<='
    if (first === 0x3e) return '>='
  }
  if (first !== second) return undefined
  return first === 0x26 ? '&&' : first === 0x7c ? '||' : first === 0x2f ? '//' : undefined
}

const backslash = 0x5c

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function behindDigits(text: string, from: number): number {
  let at = from
  while (isDigit(text.charCodeAt(at))) at += 1
  return at
}

/** Letters, `_` and `$`. */
function isAsciiWord(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f || code === 0x24
}

const word = /[\p{L}_$][\p{L}\p{N}_$]*/uy
const whitespace = /\s+/y

function behindSpaces(text: string, from: number): number {
  let at = from
  while (text[at] === ' ') at += 1
  const code = text.charCodeAt(at)
  if (code > 0x20 && code < 0x80) return at
  whitespace.lastIndex = at
  return whitespace.test(text) ? whitespace.lastIndex : at
}

/** A backslash escapes only a quotation mark and itself, so that regular expressions can be written. */
function unescaped(quoted: string): string {
  return quoted.replace(/\\(['"\\])/g, '$1')
}
