import type { Entity } from './entity.js'
import {
  type EntityLimits,
  type Excess,
  least_size,
  metadata_frame,
  metadataOf,
  sizeOf,
  valuesIn,
} from './entity-size.js'
import { LargeEntity } from './large/large-entity.js'

/** How much the entities of one id in one service path may still grow during one update. */
export class EntityRoom {
  readonly #limits: EntityLimits
  /** Undefined where there is a single entity, whose size need not be known while it is small. */
  #total: number | undefined

  constructor(held: readonly Entity[], limits: EntityLimits, isNew: boolean) {
    this.#limits = limits
    const others = isNew ? held.length : held.length - 1
    if (others > 0 && limits.size !== Number.POSITIVE_INFINITY) {
      this.#total = held.reduce((sum, entity) => sum + sizeIn(entity), 0)
    }
  }

  /** The limit that an entity exceeds after an update that made it larger. */
  excess(before: Entity | undefined, after: Entity): Excess | undefined {
    const limits = this.#limits
    const count = attributesOf(after)
    if (count > limits.attributes && count > attributesOf(before)) return 'attributes'
    if (limits.size === Number.POSITIVE_INFINITY) return undefined
    const size = sizeIn(after)
    if (size > limits.size && size > sizeIn(before)) return 'size'
    // Count the values only if the size allows so many.
    if (size > least_size * limits.values) {
      const values = valuesOf(after)
      if (values > limits.values && values > valuesOf(before)) return 'values'
    }
    if (size > metadata_frame * limits.metadata) {
      const metadata = metadataIn(after)
      if (metadata > limits.metadata && metadata > metadataIn(before)) return 'metadata'
    }
    if (this.#total === undefined) return undefined
    const growth = size - sizeIn(before)
    if (growth > 0 && this.#total + growth > limits.size) return 'sizes'
    this.#total += growth
    return undefined
  }
}

function attributesOf(entity: Entity | undefined): number {
  if (entity === undefined) return 0
  return entity instanceof LargeEntity ? entity.list.length : entity.attributes.length
}

/** The size of an entity, see `sizeOf`; 0 for none. Large values of a large entity are not materialised for it. */
export function sizeIn(entity: Entity | undefined): number {
  if (entity === undefined) return 0
  return entity instanceof LargeEntity ? entity.measure.size : sizeOf(entity)
}

function valuesOf(entity: Entity | undefined): number {
  if (entity === undefined) return 0
  return entity instanceof LargeEntity ? entity.measure.values : valuesIn(entity.attributes)
}

function metadataIn(entity: Entity | undefined): number {
  if (entity === undefined) return 0
  return entity instanceof LargeEntity ? entity.measure.metadata : metadataOf(entity.attributes)
}
