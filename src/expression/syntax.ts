import type { Value } from '../context/entity.js'

/** An expression as it was read [NGSIv2 subscriptions 6.3]. It is no deeper than {@link maxDepth} parentheses. */
export type Expression =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  /** `.name` in a filter: a member of the element that is looked at. */
  | { readonly kind: 'elementMember'; readonly name: string }
  | { readonly kind: 'array'; readonly items: readonly Expression[] }
  | { readonly kind: 'object'; readonly members: readonly ObjectMember[] }
  /** The operators stand before the operand, so the last one is applied first. */
  | { readonly kind: 'prefixed'; readonly prefixes: readonly Prefix[]; readonly operand: Expression }
  | { readonly kind: 'chain'; readonly first: Expression; readonly rest: readonly Link[] }
  | { readonly kind: 'choice'; readonly cases: readonly Case[]; readonly otherwise: Expression }
  | { readonly kind: 'path'; readonly base: Expression; readonly steps: readonly Step[] }

export interface ObjectMember {
  readonly name: string
  readonly value: Expression
}

/** The operators that stand before one operand. */
export type Prefix = '!' | '-'

/** The operators between two operands. */
export type Operator =
  | ('&&' | '||')
  | ('==' | '!=' | '<' | '<=' | '>' | '>=' | 'in')
  | ('+' | '-')
  | ('*' | '/' | '//')
  | ('%' | '^')

/** A part of a chain of operators of one rank. A list instead of a tree, so that its length makes nothing deep. */
export interface Link {
  readonly operator: Operator
  readonly operand: Expression
}

/** `c ? x :`; as many of them as follow one another. */
export interface Case {
  readonly condition: Expression
  readonly then: Expression
}

/** What follows an operand: `.name`, `[index]`, `[.n > 2]`, `|name(x, y)`. */
export type Step =
  | { readonly kind: 'member'; readonly name: string }
  | { readonly kind: 'index'; readonly at: Expression }
  | { readonly kind: 'filter'; readonly condition: Expression }
  | { readonly kind: 'transformation'; readonly name: string; readonly inputs: readonly Expression[] }

/** The longest text that is read, in UTF-16 units [NGSIv2 subscriptions 6.3]. */
export const maxLength = 8192

/** How deep parentheses and brackets of all kinds may be nested [NGSIv2 subscriptions 6.3]. */
export const maxDepth = 64
