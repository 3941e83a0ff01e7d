import { ArrayEdits, type AttributeEdits, type Updated } from './attribute-edits.js'
import type { Attribute, Entity } from './entity.js'
import { type HeldAttributes, IndexedAttributes } from './held-attributes.js'
import { LargeEdits, withoutAttributes } from './large/large-edits.js'
import { LargeEntity } from './large/large-entity.js'
import { isLargeGiven } from './large/large-given.js'
import { SortedAttributes } from './large/sorted-attributes.js'
import { largeFrom, weightOf } from './large/weight.js'
import type { GivenAttribute } from './update.js'

/**
 * An entity in the form for many updates in one turn; a small entity stays as it is. Updates of either form give the same result.
 */
export function prepared(entity: Entity): Entity {
  if (entity instanceof LargeEntity || weightOf(entity.attributes, largeFrom) < largeFrom) return entity
  return LargeEntity.of(entity) ?? entity
}

/** Finds the attributes that a request means; `asShown`: by the rules of NGSIv2. */
export function heldAttributesOf(entity: Entity, asShown: boolean): HeldAttributes {
  if (entity instanceof LargeEntity) return new SortedAttributes(entity, asShown)
  return new IndexedAttributes(entity.attributes, asShown)
}

/** The form of an entity for an update with these attributes: a large value is stored without being materialised only in a large entity. */
export function formFor(entity: Entity, attributes: readonly GivenAttribute[]): Entity {
  return attributes.some(isLargeGiven) ? (LargeEntity.of(entity) ?? entity) : entity
}

/** An entity with other members beside its attributes. */
export function withUpdated(entity: Entity, updated: Updated): Entity {
  if (!(entity instanceof LargeEntity)) return { ...entity, ...updated }
  const { list, location, counted: measure } = entity
  return entity.with(updated, { list, location, measure })
}

/** An entity with some of its attributes, in their order. */
export function showing(entity: Entity, attributes: readonly Attribute[]): Entity {
  const shown = { ...entity, attributes }
  return entity instanceof LargeEntity ? (LargeEntity.of(shown) ?? shown) : shown
}

export function editsOf(entity: Entity): AttributeEdits {
  return entity instanceof LargeEntity ? new LargeEdits(entity) : new ArrayEdits(entity)
}

/** An entity without the attributes at these positions. */
export function without(entity: Entity, gone: ReadonlySet<number>, updated: Updated): Entity {
  if (entity instanceof LargeEntity) return withoutAttributes(entity, gone, updated)
  return { ...entity, attributes: entity.attributes.filter((_, at) => !gone.has(at)), ...updated }
}

export function isEmpty(entity: Entity): boolean {
  return entity instanceof LargeEntity ? entity.list.length === 0 : entity.attributes.length === 0
}
