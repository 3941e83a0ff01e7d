import type { Value } from '../context/entity.js'
import { ok, type Result } from '../result.js'
import { metadataName } from './entity-names.js'
import type { ExpressionScope } from './expression-scope.js'
import type { Expressions } from './expressions.js'
import { Filler, onlyMacro, type Unfilled } from './template.js'

/** What `ngsi` of a custom notification changes of an entity [NGSIv2 subscriptions 6.2]. */
export interface PatchTemplate {
  readonly id: string | undefined
  readonly type: string | undefined
  readonly attributes: readonly PatchedAttribute[]
}

export interface PatchedAttribute {
  readonly name: string
  readonly value: Value
  /** The metadata `evalPriority`; nothing without it. */
  readonly priority: number | undefined
}

/** The priority of an attribute that names none, and the highest there is [NGSIv2 subscriptions 6.3]. */
const lastPriority = 100_000

/** A patch filled in. What is undefined stays as the entity has it. */
export interface FilledPatch {
  readonly id: string | undefined
  readonly type: string | undefined
  readonly values: ReadonlyMap<string, Value>
}

/**
 * Fills in a patch: attributes by ascending priority, those of equal ones as they are written, each result a name for
 * the later ones in place of the entity's attribute; `id` and `type` come last [NGSIv2 subscriptions 6.3]. Attributes that
 * name no priority ask for no order: what the entity has is the same to all of them, whichever is written first, so that
 * `heat` may be replaced beside another attribute that is computed from it. Refuses what becomes too long.
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

/** Whether an attribute of this name is what an expression means by it. */
function isHiding(name: string): boolean {
  return name !== metadataName && name !== 'id' && name !== 'type'
}

/** As text, whatever the kind; nothing when it is null, and a macro that does not end stays as it stands. */
function identification(template: string | undefined, filler: Filler): Result<string | undefined, Unfilled> {
  if (template === undefined) return ok(undefined)
  const filled = filler.text(template, onlyMacro(template) === undefined ? 'null' : '')
  if (filled.ok) return ok(filled.value === '' && onlyMacro(template) !== undefined ? undefined : filled.value)
  return filled.error.kind === 'macroOpen' ? ok(template) : filled
}
