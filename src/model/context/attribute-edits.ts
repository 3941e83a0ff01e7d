import { ok, type Result } from '../../result.js'
import { type Attribute, compareAttributes, type Entity } from './entity.js'
import { withOneLocation } from './location.js'
import type { UpdateRefusal } from './update.js'

/** What an update changes of an entity beside its attributes. */
export type Updated = Pick<Entity, 'modified' | 'correlator'>

/** The attributes of an entity while those of a command are laid upon them one after another. */
export interface AttributeEdits {
  /** The attribute at a position of the entity as it was, in its present state; nothing where there was none. */
  at(position: number): Attribute | undefined
  /** Gives the attribute as it is held from now on. */
  replace(position: number, attribute: Attribute): Attribute
  /** Adds one that the entity did not have: it has no position. Gives it as it is held from now on. */
  add(attribute: Attribute): Attribute
  /** The first that is a location, apart from one. */
  location(apart: Attribute | undefined): Attribute | undefined
  /**
   * The entity with the attributes in order, and one location among them at most.
   *
   * @param located the last of those that the command has found to be a location by the rules of NGSIv2, see `withOneLocation`
   */
  entity(updated: Updated, located: Attribute | undefined, mayTakeOver: boolean): Result<Entity, UpdateRefusal>
}

/** The edits of an entity that is held as an array of attributes. */
export class ArrayEdits implements AttributeEdits {
  readonly #entity: Entity
  readonly #after: Attribute[]

  constructor(entity: Entity) {
    this.#entity = entity
    this.#after = [...entity.attributes]
  }

  at(position: number): Attribute | undefined {
    return this.#after[position]
  }

  replace(position: number, attribute: Attribute): Attribute {
    this.#after[position] = attribute
    return attribute
  }

  add(attribute: Attribute): Attribute {
    this.#after.push(attribute)
    return attribute
  }

  location(apart: Attribute | undefined): Attribute | undefined {
    return this.#after.find((attribute) => attribute.isLocation && attribute !== apart)
  }

  entity(
    { modified, correlator }: Updated,
    located: Attribute | undefined,
    mayTakeOver: boolean,
  ): Result<Entity, UpdateRefusal> {
    const [entity, after] = [this.#entity, this.#after]
    if (after.length > entity.attributes.length) after.sort(compareAttributes)
    const settled = located === undefined ? ok(after) : withOneLocation(after, located, mayTakeOver)
    if (!settled.ok) return settled
    return ok({ ...entity, attributes: settled.value, modified, correlator })
  }
}
