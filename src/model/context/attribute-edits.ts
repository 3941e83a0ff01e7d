import { ok, type Result } from '../../result.js'
import { type Attribute, compareAttributes, type Entity } from './entity.js'
import { withOneLocation } from './location.js'
import type { UpdateRefusal } from './update.js'

/** The members of an entity that an update changes beside its attributes. */
export type Updated = Pick<Entity, 'modified' | 'correlator'>

/** The attributes of an entity while those of a command are applied to them one after another. */
export interface AttributeEdits {
  /** The current state of the attribute that had this position before the edits; undefined where there was none. */
  at(position: number): Attribute | undefined
  /** Gives the attribute in the form in which it is now held. */
  replace(position: number, attribute: Attribute): Attribute
  /** Adds an attribute that the entity did not have; it has no position. Gives it in the form in which it is now held. */
  add(attribute: Attribute): Attribute
  /** The first location other than `apart`. */
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
    const edited = located === undefined ? ok(after) : withOneLocation(after, located, mayTakeOver)
    if (!edited.ok) return edited
    return ok({ ...entity, attributes: edited.value, modified, correlator })
  }
}
