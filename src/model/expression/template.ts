import { err, ok, type Result } from '../../result.js'
import type { Value } from '../context/entity.js'
import { isArray, isObject } from '../context/value.js'
import type { Expressions } from './expressions.js'
import type { JsonTemplate } from './json-template.js'
import { hasMacro, onlyMacro } from './macros.js'
import { charactersPerStep, type ExpressionScope, jsonOf, metadataName, resultSize, textOf } from './scope.js'

/** Why a template cannot be filled in: a `${` has no `}`, or the result would be longer than a message may be. */
export type Unfilled = { readonly kind: 'macroOpen' } | { readonly kind: 'filledTooLong' }

/** The replacement of a macro that is unknown or null [NGSIv2 subscriptions 6.1]. */
export type Fallback = '' | 'null'

const nullSize = 'null'.length

/** The steps to copy a member of an object. */
const member_steps = 10

/** Fills in templates from one scope [NGSIv2 subscriptions 6.1, 6.2]. */
export class Filler {
  readonly #expressions: Expressions
  readonly #scope: ExpressionScope

  constructor(expressions: Expressions, scope: ExpressionScope) {
    this.#expressions = expressions
    this.#scope = scope
  }

  /** A text with its macros filled in. Refuses a macro without end, and a result that is too long. */
  text(template: string, fallback: Fallback): Result<string, Unfilled> {
    const whole = onlyMacro(template)
    if (whole !== undefined) return this.#within(this.#shown(whole, fallback))
    let filled = ''
    let from = 0
    for (let start = template.indexOf('${'); start !== -1; start = template.indexOf('${', from)) {
      const end = template.indexOf('}', start)
      if (end === -1) return err({ kind: 'macroOpen' })
      filled += template.slice(from, start) + this.#shown(template.slice(start + 2, end), fallback)
      if (filled.length > this.#scope.max_bytes) return err({ kind: 'filledTooLong' })
      from = end + 1
    }
    return this.#within(filled + template.slice(from))
  }

  /** A text filled in as text; undefined when it is one macro that is unknown or null [NGSIv2 subscriptions 6.1, 6.2]. */
  textUnlessNull(template: string): Result<string | undefined, Unfilled> {
    const whole = onlyMacro(template)
    if (whole === undefined) return this.text(template, 'null')
    const value = this.#expressions.evaluate(whole, this.#scope)
    return value === null ? ok(undefined) : this.#within(textOf(value))
  }

  /**
   * A JSON template filled in, as text: each of its texts as by `value`. Macros are null from the moment on at which the steps are
   * spent. Refuses a result that is too long.
   */
  json({ holes, rest, json_bytes }: JsonTemplate): Result<string, Unfilled> {
    const { budget, max_bytes } = this.#scope
    budget.spend(Math.ceil(json_bytes / charactersPerStep))
    let filled = ''
    let bytes = json_bytes
    for (const { before, template } of holes) {
      const value = this.#filledText(template)
      const size = value === null ? nullSize : resultSize(value, this.#scope)
      if (size === undefined && !budget.isSpent) return err({ kind: 'filledTooLong' })
      filled += before + (size === undefined ? 'null' : jsonOf(value))
      bytes += size ?? nullSize
      if (bytes > max_bytes) break
    }
    return bytes > max_bytes ? err({ kind: 'filledTooLong' }) : ok(filled + rest)
  }

  /**
   * A JSON value with all of its texts filled in, but not the names of members. A text that consists of one macro becomes the
   * macro's value with its kind; a text with a macro without end stays as it is. Refuses a result that is too long.
   */
  value(template: Value): Result<Value, Unfilled> {
    const filled = this.#filled(template)
    return resultSize(filled, this.#scope) === undefined ? err({ kind: 'filledTooLong' }) : ok(filled)
  }

  #filled(template: Value): Value {
    if (!this.#scope.budget.spend(1)) return null
    if (typeof template === 'string') return this.#filledText(template)
    if (isArray(template)) return template.map((item) => this.#filled(item))
    if (!isObject(template)) return template
    if (!this.#scope.budget.spend(member_steps * this.#scope.sizes.of(template))) return null
    return Object.fromEntries(Object.entries(template).map(([name, member]) => [name, this.#filled(member)]))
  }

  #filledText(template: string): Value {
    const whole = onlyMacro(template)
    if (whole !== undefined) return this.#expressions.evaluate(whole, this.#scope)
    const filled = hasMacro(template) ? this.text(template, 'null') : ok(template)
    if (filled.ok) return filled.value
    return filled.error.kind === 'macroOpen' ? template : null
  }

  #shown(expression: string, fallback: Fallback): string {
    const value = this.#expressions.evaluate(expression, this.#scope)
    return value === null ? fallback : textOf(value)
  }

  #within(filled: string): Result<string, Unfilled> {
    return filled.length <= this.#scope.max_bytes ? ok(filled) : err({ kind: 'filledTooLong' })
  }
}

const percentSequence =
  /%[0-7][\da-f]|%[cd][\da-f]%[\da-f]{2}|%e[\da-f](?:%[\da-f]{2}){2}|%f[\da-f](?:%[\da-f]{2}){3}/gi

/** A text with its percent sequences decoded as UTF-8; invalid ones stay as they are [NGSIv2 subscriptions 6.1]. */
export function percentDecoded(text: string): string {
  return text.includes('%') ? text.replace(percentSequence, decodedOrSame) : text
}

function decodedOrSame(sequence: string): string {
  try {
    return decodeURIComponent(sequence)
  } catch (thrown) {
    if (thrown instanceof URIError) return sequence
    throw thrown
  }
}

/** The changes that `ngsi` of a custom notification makes to an entity [NGSIv2 subscriptions 6.2]. */
export interface PatchTemplate {
  readonly id: string | undefined
  readonly type: string | undefined
  readonly attributes: readonly PatchedAttribute[]
}

export interface PatchedAttribute {
  readonly name: string
  readonly value: Value
  /** The metadata `evalPriority`; undefined without it. */
  readonly priority: number | undefined
}

/** The priority of an attribute without one, and the highest number allowed [NGSIv2 subscriptions 6.3]. */
const lastPriority = 100_000

/** A patch filled in; undefined members stay as in the entity. */
interface FilledPatch {
  readonly id: string | undefined
  readonly type: string | undefined
  readonly values: ReadonlyMap<string, Value>
}

/**
 * Fills in a patch: attributes by ascending priority, those with equal priority as they are written; each result replaces the
 * entity's attribute for the later ones; `id` and `type` come last [NGSIv2 subscriptions 6.3]. Attributes without a priority all
 * see the entity's own attributes, whatever their order, so that `heat` may be replaced beside another attribute that is computed
 * from it. Refuses a result that is too long.
 */
export function filledPatch(
  patch: PatchTemplate,
  expressions: Expressions,
  scope: ExpressionScope,
): Result<FilledPatch, Unfilled> {
  const values = new Map<string, Value>()
  const unranked = new Set<string>()
  const result = (name: string) => (isHiding(name) && values.has(name) ? values.get(name) : scope.lookUp(name))
  const ownFirst = (name: string) => {
    const own = unranked.has(name) ? scope.lookUp(name) : undefined
    return own === undefined ? result(name) : own
  }
  const filler = new Filler(expressions, { ...scope, lookUp: result })
  const unrankedFiller = new Filler(expressions, { ...scope, lookUp: ownFirst })
  for (const { name, value, priority } of patch.attributes.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const filled = (priority === undefined ? unrankedFiller : filler).value(value)
    if (!filled.ok) return filled
    values.set(name, filled.value)
    if (priority === undefined) unranked.add(name)
  }
  const id = identification(patch.id, filler)
  if (!id.ok) return id
  const type = identification(patch.type, filler)
  return type.ok ? ok({ id: id.value, type: type.value, values }) : type
}

function rankOf({ priority = lastPriority }: PatchedAttribute): number {
  return priority
}

/** Whether an attribute of this name hides what expressions mean by it. */
function isHiding(name: string): boolean {
  return name !== metadataName && name !== 'id' && name !== 'type'
}

/** As text, whatever its kind; undefined only when it is null. A macro without end stays as it is. */
function identification(template: string | undefined, filler: Filler): Result<string | undefined, Unfilled> {
  if (template === undefined) return ok(undefined)
  const filled = filler.textUnlessNull(template)
  return !filled.ok && filled.error.kind === 'macroOpen' ? ok(template) : filled
}
