import type { Value } from '../context/entity.js'
import type { Occurrences } from '../context/occurrences.js'
import type { ExpressionScope } from './expression-scope.js'

/** Gives the regular expression of a text, ready to be searched for; nothing when it does not compile. */
export type Regexes = (text: string) => Occurrences | undefined

/** What a transformation has beside its input and its arguments. */
export interface TransformationParts {
  readonly scope: ExpressionScope
  readonly regexes: Regexes
}

export interface Transformation {
  /**
   * The steps, of about 20 ns each, that it takes to read the input and the arguments, at most. They are paid before `run`; to tell
   * them takes no longer than a few steps itself.
   */
  readonly cost: (input: Value, inputs: readonly Value[], scope: ExpressionScope) => number
  /** Null for an input or argument of a kind that it does not take, and when the effort is spent: it pays for what it makes. */
  readonly run: (input: Value, inputs: readonly Value[], parts: TransformationParts) => Value
}
