import type { Milliseconds } from '../../time.js'
import type { Value } from '../context/entity.js'
import { piecesIn } from '../context/large/text-measure.js'
import { textWritten } from '../context/large/written-value.js'
import type { Occurrences } from '../context/occurrences.js'
import type { StepBudget } from '../context/step-budget.js'
import { isArray, isObject } from '../context/value.js'

/** The input of an evaluation: the result depends on nothing else. */
export interface ExpressionScope {
  /** The value of a name; undefined for an unknown name. */
  readonly lookUp: (name: string) => Value | undefined
  /** The time of the command. */
  readonly now: Milliseconds
  /** Spent by the evaluation; when it is spent, every result is null. */
  readonly budget: StepBudget
  readonly sizes: ObjectSizes
  /** The most bytes of a result as JSON, without the quotation marks around a text (`-outReqMsgMaxSize`). */
  readonly max_bytes: number
}

/**
 * The number of members of objects. Listing very many members takes long and cannot be interrupted, so each object is counted at
 * most once, by its text if that is known, and work on its members is paid for in advance.
 */
export class ObjectSizes {
  readonly #known = new WeakMap<object, number>()

  of(value: { readonly [name: string]: Value }): number {
    const known = this.#known.get(value)
    if (known !== undefined) return known
    const text = textWritten(value)
    const size = text === undefined ? Object.keys(value).length : piecesIn(text)
    this.#known.set(value, size)
    return size
  }
}

/** The deepest nesting of a result: a stored value within as many brackets as an expression may have. */
const maxNesting = 128

/**
 * The length of a value as JSON, escapes not counted, and of a text without its quotation marks. Undefined when it is longer than
 * a result may be, nested too deep, holds a number that JSON does not have, or the step budget is spent. Parts that occur several
 * times count each time.
 */
export function resultSize(value: Value, scope: ExpressionScope): number | undefined {
  const size = sizeWithin(value, scope.max_bytes + (typeof value === 'string' ? 2 : 0), 0, scope)
  return size === undefined || typeof value !== 'string' ? size : size - 2
}

/** The steps to measure a value and to write it as JSON: per member and number, and per this many characters. */
const member_steps = 32
const number_steps = 4
export const charactersPerStep = 16

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

/** An entity as expressions see it: values in the form for clients, dates as texts. */
export interface EntityInScope {
  readonly id: string
  readonly type: string
  /** Tenant, path and token of the request; empty without them. */
  readonly service: string
  readonly servicePath: string
  readonly authToken: string
  /** Each name once. */
  readonly attributes: readonly NamedAttribute[]
}

interface NamedAttribute {
  readonly name: string
  /** Called when an expression reads it: a large value is materialised then, unless it is too large for the budget. */
  readonly value: (budget: StepBudget) => Value
  /** Includes the built-in `previousValue`, `actionType`, `dateCreated`, `dateModified`. */
  readonly metadata: () => readonly (readonly [name: string, value: Value])[]
}

/** The name of the metadata of all attributes, an object of objects, which no attribute hides. */
export const metadataName = 'metadata'

/** The value of a name for an evaluation with this budget; undefined for an unknown name. */
export type NamesOfEntity = (name: string, budget: StepBudget) => Value | undefined

/**
 * Looks up names in expressions on an entity. An attribute hides `service`, `servicePath` and `authToken`, but not `id`, `type`
 * or `metadata` [NGSIv2 subscriptions 6.3].
 */
export function namesOf(entity: EntityInScope): NamesOfEntity {
  const { id, type, service, servicePath, authToken, attributes } = entity
  const texts: ReadonlyMap<string, Value> = new Map(Object.entries({ service, servicePath, authToken }))
  const values = new Map(attributes.map(({ name, value }) => [name, value]))
  let metadata: Value | undefined
  return (name, budget) => {
    if (name === 'id') return id
    if (name === 'type') return type
    if (name !== metadataName) {
      const value = values.get(name)
      return value === undefined ? texts.get(name) : value(budget)
    }
    metadata ??= metadataOf(attributes)
    return metadata
  }
}

function metadataOf(attributes: readonly NamedAttribute[]): Value {
  return Object.fromEntries(attributes.map(({ name, metadata }) => [name, Object.fromEntries(metadata())]))
}

/** A value within a text: a text as it is, everything else as JSON [NGSIv2 subscriptions 6.2]. */
export function textOf(value: Value): string {
  return typeof value === 'string' ? value : jsonOf(value)
}

/** As `JSON.stringify` writes it: an array or object as the text that it was read from, if that is known. */
export function jsonOf(value: Value): string {
  return (typeof value === 'object' && value !== null ? textWritten(value) : undefined) ?? JSON.stringify(value)
}

/** Compiles the regular expression of a text; undefined when it does not compile. */
export type Regexes = (text: string) => Occurrences | undefined

/** The context of a transformation, beside its input and arguments. */
export interface TransformationParts {
  readonly scope: ExpressionScope
  readonly regexes: Regexes
}

export interface Transformation {
  /**
   * The most steps, of about 20 ns each, to read the input and the arguments. They are paid before `run`; computing them takes
   * only a few steps itself.
   */
  readonly cost: (input: Value, inputs: readonly Value[], scope: ExpressionScope) => number
  /**
   * Null for an input or argument of a kind that it does not take, and when the step budget is spent: `run` pays for what it
   * makes.
   */
  readonly run: (input: Value, inputs: readonly Value[], parts: TransformationParts) => Value
}
