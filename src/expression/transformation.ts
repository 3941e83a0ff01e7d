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

/** Null for an input or argument of a kind that it does not take, and when the effort is spent. */
export type Transformation = (input: Value, inputs: readonly Value[], parts: TransformationParts) => Value
