import type { Milliseconds } from '../../time.js'
import type { Value } from '../context/entity.js'
import type { Occurrences } from '../context/occurrences.js'
import type { StepBudget } from '../context/step-budget.js'
import { isArray, isObject } from '../context/value.js'

/** What an expression is evaluated on: nothing else goes into its result, so the same scope gives the same one. */
export interface ExpressionScope {
  /** The value of a name; undefined when there is no such name. */
  readonly lookUp: (name: string) => Value | undefined
  /** The time of the command. */
  readonly now: Milliseconds
  /** Spent by what is evaluated; when there is none left, every result is null. */
  readonly budget: StepBudget
  readonly sizes: ObjectSizes
  /** How long a result may be as JSON, without the quotation marks around a text (`-outReqMsgMaxSize`). */
  readonly max_bytes: number
}

/**
 * How many members objects have. To list them takes long where there are very many, and cannot be stopped, so each object is counted
 * once at most, and what is done with its members is paid before.
 */
export class ObjectSizes {
  readonly #known = new WeakMap<object, number>()

  of(value: { readonly [name: string]: Value }): number {
    const known = this.#known.get(value)
    if (known !== undefined) return known
    const size = Object.keys(value).length
    this.#known.set(value, size)
    return size
  }
}

/** How deep arrays and objects of a result may be nested: more than a stored value in as many brackets as an expression has. */
const maxNesting = 128

/**
 * The length of a value as JSON, without counting escapes, and of a text without its quotation marks; nothing when it is longer
 * than a result may be, nested too deep, holds a number that JSON has not, or the step budget is spent. Parts that stand in
 * a value several times count as often.
 */
export function resultSize(value: Value, scope: ExpressionScope): number | undefined {
  const size = sizeWithin(value, scope.max_bytes + (typeof value === 'string' ? 2 : 0), 0, scope)
  return size === undefined || typeof value !== 'string' ? size : size - 2
}

/** What it takes to measure a value and to write it as JSON, in steps: of each member and number, and of this many characters. */
const member_steps = 32
const number_steps = 4
const charactersPerStep = 16

function sizeWithin(value: Value, limit_bytes: number, depth: number, scope: ExpressionScope): number | undefined {
  if (!scope.budget.spend(typeof value === 'number' ? number_steps : 1)) return undefined
  if (isArray(value)) return partsWithin(value, limit_bytes, depth, scope)
  if (isObject(value)) return membersWithin(value, limit_bytes, depth, scope)
  const size = typeof value === 'string' ? textSize(value, scope.budget) : scalarSize(value)
  return size !== undefined && size <= limit_bytes ? size : undefined
}

function textSize(text: string, budget: StepBudget): number | undefined {
  // Halves of surrogate pairs are escaped one by one.
  const escaped = text.isWellFormed() ? 0 : 3 * text.length
  return budget.spend(escaped + Math.ceil(text.length / charactersPerStep)) ? Buffer.byteLength(text) + 2 : undefined
}

function scalarSize(value: number | boolean | null): number | undefined {
  return typeof value === 'number' && !Number.isFinite(value) ? undefined : String(value).length
}

function partsWithin(
  parts: readonly Value[],
  limit_bytes: number,
  depth: number,
  scope: ExpressionScope,
): number | undefined {
  if (depth === maxNesting) return undefined
  let size = 2 + Math.max(0, parts.length - 1)
  for (const part of parts) {
    const own = sizeWithin(part, limit_bytes - size, depth + 1, scope)
    if (own === undefined) return undefined
    size += own
  }
  return size <= limit_bytes ? size : undefined
}

function membersWithin(
  members: { readonly [key: string]: Value },
  limit_bytes: number,
  depth: number,
  scope: ExpressionScope,
): number | undefined {
  if (depth === maxNesting || !scope.budget.spend(scope.sizes.of(members) * member_steps)) return undefined
  let size = 1
  for (const [name, member] of Object.entries(members)) {
    const nameSize = textSize(name, scope.budget)
    if (nameSize === undefined) return undefined
    size += nameSize + 2
    const own = sizeWithin(member, limit_bytes - size, depth + 1, scope)
    if (own === undefined) return undefined
    size += own
  }
  return Math.max(size, 2) <= limit_bytes ? Math.max(size, 2) : undefined
}

/** An entity as an expression sees it: values as clients do, dates as texts. */
export interface EntityInScope {
  readonly id: string
  readonly type: string
  /** The tenant, the path and the token of the request: the empty text without them. */
  readonly service: string
  readonly servicePath: string
  readonly authToken: string
  /** Each name once. */
  readonly attributes: readonly NamedAttribute[]
}

interface NamedAttribute {
  readonly name: string
  readonly value: Value
  /** Also what is built in: `previousValue`, `actionType`, `dateCreated`, `dateModified`. */
  readonly metadata: readonly { readonly name: string; readonly value: Value }[]
}

/** The name of the metadata of all attributes, an object of objects, which no attribute hides. */
export const metadataName = 'metadata'

/**
 * Looks up the names that expressions can use on an entity. An attribute hides `service`, `servicePath` and `authToken`,
 * but neither `id`, `type` nor `metadata` [NGSIv2 subscriptions 6.3].
 */
export function namesOf(entity: EntityInScope): ExpressionScope['lookUp'] {
  const { id, type, service, servicePath, authToken, attributes } = entity
  const names = new Map<string, Value>(Object.entries({ service, servicePath, authToken }))
  for (const { name, value } of attributes) names.set(name, value)
  names.set('id', id).set('type', type)
  let metadata: Value | undefined
  return (name) => {
    if (name !== metadataName) return names.get(name)
    metadata ??= metadataOf(attributes)
    return metadata
  }
}

function metadataOf(attributes: readonly NamedAttribute[]): Value {
  return Object.fromEntries(
    attributes.map(({ name, metadata }) => [
      name,
      Object.fromEntries(metadata.map((element) => [element.name, element.value])),
    ]),
  )
}

/** A value within a text: a text as it is, everything else as JSON [NGSIv2 subscriptions 6.2]. */
export function textOf(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

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
  /** Null for an input or argument of a kind that it does not take, and when the step budget is spent: it pays for what it makes. */
  readonly run: (input: Value, inputs: readonly Value[], parts: TransformationParts) => Value
}
