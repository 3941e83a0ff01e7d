import type { Entity, EntityType } from './entity.js'
import { heldAttributesOf, isEmpty, without, withUpdated } from './entity-forms.js'
import { EntityRoom } from './entity-room.js'
import { type EntityLimits, noLimits } from './entity-size.js'
import type { HeldAttributes } from './held-attributes.js'
import { type Laid, laid, rootOf } from './lay.js'
import type {
  GivenAttribute,
  UpdateAction,
  UpdateCommand,
  UpdateItem,
  UpdateRefusal,
  UpdateReply,
  UpdateTerms,
} from './update.js'

/**
 * A write that an update causes. `before` is absent for a new entity. `changed` names the attributes that notifications report as
 * changed [context 11, subscriptions 3.3]: none of an entity that is created or left empty.
 */
export type EntityEffect =
  | {
      readonly kind: 'put'
      readonly entity: Entity
      readonly before: Entity | undefined
      readonly changed: readonly string[]
    }
  | { readonly kind: 'remove'; readonly entity: Entity }

const none: readonly Entity[] = []

interface UpdateDecision {
  readonly reply: UpdateReply
  readonly effects: readonly EntityEffect[]
  /** Entities whose update was accepted and changed nothing: they need no write. */
  readonly untouched: readonly Entity[]
}

/**
 * Decides what one context element changes in the entities of its id and path, oldest first: gives the writes and the reply [context 6.2-6.5].
 * The update of an entity is carried out wholly or not at all.
 */
export function applyUpdate(
  held: readonly Entity[],
  command: UpdateCommand,
  limits: EntityLimits = noLimits,
): UpdateDecision {
  const meant = command.type === undefined ? held : held.filter(({ type }) => type === command.type)
  const refusal = command.terms && unmet(meant, command.terms)
  if (refusal) return withoutEffects({ ...itemFor(command), refusal })
  const room = new EntityRoom(held, limits, meant.length === 0)
  if (meant.length > 0) {
    return joined(meant.map((entity) => bounded(actions[command.action](entity, command), room, limits)))
  }
  if (command.action === 'APPEND' || command.action === 'APPEND_STRICT') {
    if (held.length < limits.types) return bounded(create(command), room, limits)
    return withoutEffects({ ...itemFor(command), refusal: { kind: 'typesTooMany', max: limits.types } })
  }
  return withoutEffects({ ...itemFor(command), refusal: { kind: 'entityUnknown' } })
}

/** Why the terms of an update exclude it, whatever its attributes are [NGSIv2 context 2.1, 8.2]. */
function unmet(meant: readonly Entity[], { entity }: UpdateTerms): UpdateRefusal | undefined {
  if (meant.length > 1) return { kind: 'termsUnmet', why: { kind: 'entityAmbiguous' } }
  if (meant.length === 0) return entity === 'present' ? { kind: 'entityUnknown' } : undefined
  if (entity !== 'absent') return undefined
  return { kind: 'termsUnmet', why: { kind: 'entityExists' } }
}

/** Refuses an update that would make an entity too large. */
function bounded(decision: UpdateDecision, room: EntityRoom, limits: EntityLimits): UpdateDecision {
  const [effect] = decision.effects
  if (effect?.kind !== 'put') return decision
  const what = room.excess(effect.before, effect.entity)
  if (what === undefined) return decision
  const max = limits[what === 'sizes' ? 'size' : what]
  return withoutEffects({ ...itemOf(effect.entity), refusal: { kind: 'entityTooLarge', what, max } })
}

type Action = (entity: Entity, command: UpdateCommand) => UpdateDecision

const actions: { readonly [Name in UpdateAction]: Action } = {
  APPEND: append,
  APPEND_STRICT: appendStrict,
  UPDATE: update,
  REPLACE: replace,
  DELETE: remove,
}

function create(command: UpdateCommand): UpdateDecision {
  const { path, id, sequence, time } = command
  const type = command.type ?? command.terms?.typeOfNew ?? ('' as EntityType)
  const made = laid({ path, id, type, sequence, created: time, modified: time, attributes: [] }, command, 'creation')
  if (!made.ok) return withoutEffects({ ...itemFor(command), refusal: made.error })
  const entity = withUpdated(made.value.entity, { modified: time, correlator: rootOf(command) })
  const effect = { kind: 'put', entity, before: undefined, changed: made.value.changed } as const
  return { reply: { items: [itemFor(command)], missing: [] }, effects: [effect], untouched: none }
}

function append(entity: Entity, command: UpdateCommand): UpdateDecision {
  const mixed = mixedInstance(heldOf(entity, command), command)
  if (mixed) return withoutEffects({ ...itemOf(entity), refusal: mixed })
  const made = laid(entity, command, 'update')
  if (!made.ok) return withoutEffects({ ...itemOf(entity), refusal: made.error })
  return put(entity, made.value, [itemOf(entity)])
}

function appendStrict(entity: Entity, command: UpdateCommand): UpdateDecision {
  const held = heldOf(entity, command)
  const mixed = mixedInstance(held, command)
  if (mixed) return withoutEffects({ ...itemOf(entity), refusal: mixed })
  const [stored, fresh] = split(command.attributes, (given) => held.isTaken(given))
  const made = laid(entity, { ...command, attributes: fresh.map(({ given }) => given) }, 'update')
  if (!made.ok) return withoutEffects({ ...itemOf(entity), refusal: made.error })
  if (stored.length === 0) return put(entity, made.value, [itemOf(entity)])
  const names = [...new Set(stored.map(({ given }) => given.name))]
  const refusal = { kind: 'attributesExist', names } as const
  const exist = { ...itemOf(entity), shown: [], refusal }
  if (fresh.length === 0) return withoutEffects(exist)
  return put(entity, made.value, [{ ...itemOf(entity), shown: indexes(fresh) }, exist])
}

function update(entity: Entity, command: UpdateCommand): UpdateDecision {
  const held = heldOf(entity, command)
  const [found, missing] = split(command.attributes, (given) => held.has(given))
  const last = missing.at(-1)
  if (last && found.length === 0) return unknown(entity, last.given.name)
  const made = laid(entity, { ...command, attributes: found.map(({ given }) => given) }, 'update')
  if (!made.ok) return withoutEffects({ ...itemOf(entity), refusal: made.error })
  return withMissing(entity, made.value, found, missing)
}

function replace(entity: Entity, command: UpdateCommand): UpdateDecision {
  const { path, id, type, sequence, created, modified } = entity
  const made = laid({ path, id, type, sequence, created, modified, attributes: [] }, command, 'update')
  if (!made.ok) return withoutEffects({ ...itemOf(entity), refusal: made.error })
  const { changed } = made.value
  const reply = { items: [itemOf(entity)], missing: [] }
  if (changed.length === 0 && isEmpty(entity)) return { reply, effects: [], untouched: [entity] }
  // Notifications report the attributes that it writes; those that it drops are not reported [subscriptions 3.3].
  const replaced = withUpdated(made.value.entity, { modified: command.time, correlator: rootOf(command) })
  return { reply, effects: [{ kind: 'put', entity: replaced, before: entity, changed }], untouched: none }
}

function remove(entity: Entity, command: UpdateCommand): UpdateDecision {
  if (command.attributes.length === 0) {
    return { reply: { items: [itemOf(entity)], missing: [] }, effects: [{ kind: 'remove', entity }], untouched: none }
  }
  const held = heldOf(entity, command)
  const [found, missing] = split(command.attributes, (given) => held.has(given))
  const first = missing[0]
  if (first && found.length === 0) return unknown(entity, first.given.name)
  const gone = new Set(found.flatMap(({ given }) => held.doomed(given)))
  const changed = [...new Set(found.map(({ given }) => given.name))]
  const after = without(entity, gone, { modified: command.time, correlator: rootOf(command) })
  return withMissing(entity, { entity: after, changed }, found, missing)
}

function heldOf(entity: Entity, { terms }: UpdateCommand): HeldAttributes {
  return heldAttributesOf(entity, terms !== undefined)
}

/** APPEND of NGSIv1 never mixes instances of a name with and without ID [context 2.4]. */
function mixedInstance(held: HeldAttributes, { attributes, terms }: UpdateCommand): UpdateRefusal | undefined {
  if (terms !== undefined) return undefined
  const mixed = attributes.find((given) => held.mixes(given))
  return mixed && { kind: 'instancesMixed', name: mixed.name }
}

interface Numbered {
  readonly given: GivenAttribute
  readonly index: number
}

function split(
  attributes: readonly GivenAttribute[],
  belongs: (given: GivenAttribute) => boolean,
): readonly [readonly Numbered[], readonly Numbered[]] {
  const numbered = attributes.map((given, index) => ({ given, index }))
  return [numbered.filter(({ given }) => belongs(given)), numbered.filter(({ given }) => !belongs(given))]
}

function indexes(numbered: readonly Numbered[]): readonly number[] {
  return numbered.map(({ index }) => index)
}

function itemFor({ id, type = '' as EntityType }: UpdateCommand): UpdateItem {
  return { id, type }
}

function itemOf({ id, type }: Entity): UpdateItem {
  return { id, type }
}

function withoutEffects(item: UpdateItem): UpdateDecision {
  return { reply: { items: [item], missing: [] }, effects: [], untouched: none }
}

function unknown(entity: Entity, name: string): UpdateDecision {
  return withoutEffects({ ...itemOf(entity), refusal: { kind: 'attributeUnknown', name } })
}

function put(before: Entity, { entity, changed }: Laid, items: readonly UpdateItem[]): UpdateDecision {
  const reply = { items, missing: [] }
  if (changed.length === 0) return { reply, effects: [], untouched: [before] }
  return { reply, effects: [{ kind: 'put', entity, before, changed }], untouched: none }
}

function withMissing(
  before: Entity,
  made: Laid,
  found: readonly Numbered[],
  missing: readonly Numbered[],
): UpdateDecision {
  if (missing.length === 0) return put(before, made, [itemOf(before)])
  const { effects, untouched } = put(before, made, [])
  const refusal = { kind: 'attributesMissing' } as const
  return {
    reply: {
      items: [{ ...itemOf(before), shown: indexes(found) }],
      missing: [{ ...itemOf(before), shown: indexes(missing), refusal }],
    },
    effects,
    untouched,
  }
}

function joined(decisions: readonly UpdateDecision[]): UpdateDecision {
  const [only] = decisions
  if (only && decisions.length === 1) return only
  return {
    reply: {
      items: decisions.flatMap(({ reply }) => reply.items),
      missing: decisions.flatMap(({ reply }) => reply.missing),
    },
    effects: decisions.flatMap(({ effects }) => effects),
    untouched: decisions.flatMap(({ untouched }) => untouched),
  }
}
