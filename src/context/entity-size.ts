import type { Entity, Metadata, Value } from './entity.js'
import { isArray } from './value.js'

/** How large an entity may become; what is larger already may change and shrink. */
export interface EntityLimits {
  /**
   * Characters of its names, types, values and metadata, as `sizeOf` counts them; together with those of the same id in the
   * same service path, which are read and may be written with it.
   */
  readonly size: number
  /** Attributes, each instance counted: their names are counted one by one for the lists of types. */
  readonly attributes: number
  /** Members and items of its compound values, at all depths: each costs far more than its characters. */
  readonly values: number
  /** Elements of metadata of all its attributes. */
  readonly metadata: number
  /** Entities of one id in one service path, which one update may change all together. */
  readonly types: number
}

/** As many attributes as an entity and a context element may have. */
export const maxAttributes = 5000

/** As many elements of metadata as the attributes of an entity and of a context element may have together. */
export const maxMetadata = 10_000

/** As many members and items as their compound values may have. */
export const maxValues = 100_000

export const noLimits: EntityLimits = {
  size: Number.POSITIVE_INFINITY,
  attributes: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  metadata: Number.POSITIVE_INFINITY,
  types: Number.POSITIVE_INFINITY,
}

/** What an update may not make larger: of the entity, or of all of its id together. */
export type Excess = 'size' | 'sizes' | 'attributes' | 'values' | 'metadata'

/** What the entities of one id in one service path may still grow by while one update is applied to them. */
export class EntityRoom {
  readonly #limits: EntityLimits
  /** Nothing where there is no more than one, whose size need not be known as long as it is small. */
  #total: number | undefined

  constructor(held: readonly Entity[], limits: EntityLimits, isNew: boolean) {
    this.#limits = limits
    const others = isNew ? held.length : held.length - 1
    if (others > 0 && limits.size !== Number.POSITIVE_INFINITY) {
      this.#total = held.reduce((sum, entity) => sum + sizeOf(entity), 0)
    }
  }

  /** Which limit an entity is beyond after an update that made it larger. */
  excess(before: Entity | undefined, after: Entity): Excess | undefined {
    const limits = this.#limits
    const held = before?.attributes.length ?? 0
    if (after.attributes.length > limits.attributes && after.attributes.length > held) return 'attributes'
    if (limits.size === Number.POSITIVE_INFINITY) return undefined
    const size = sizeOf(after)
    if (size > limits.size && size > sizeBefore(before)) return 'size'
    // In most it is told by the size that they cannot have that many.
    if (size > least_size * limits.values) {
      const values = valuesIn(after.attributes)
      if (values > limits.values && values > valuesIn(before?.attributes ?? [])) return 'values'
    }
    if (size > metadata_frame * limits.metadata) {
      const metadata = metadataOf(after.attributes)
      if (metadata > limits.metadata && metadata > metadataOf(before?.attributes ?? [])) return 'metadata'
    }
    if (this.#total === undefined) return undefined
    const growth = size - sizeBefore(before)
    if (growth > 0 && this.#total + growth > limits.size) return 'sizes'
    this.#total += growth
    return undefined
  }
}

function sizeBefore(before: Entity | undefined): number {
  return before === undefined ? 0 : sizeOf(before)
}

/** Elements of metadata of attributes, together. */
export function metadataOf(attributes: readonly { readonly metadata: readonly Metadata[] }[]): number {
  return attributes.reduce((sum, { metadata }) => sum + metadata.length, 0)
}

/** Members and items of the compound values of attributes, at all depths. */
function valuesIn(attributes: Entity['attributes']): number {
  let values = 0
  for (const { value } of attributes) if (typeof value === 'object') values += valuesBelow(value)
  return values
}

function valuesBelow(value: Value): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = isArray(value) ? value : Object.values(value)
  let values = members.length
  for (const member of members) values += valuesBelow(member)
  return values
}

/** About the characters that an entity takes on disk; a request that gives all of it takes more. */
export function sizeOf({ attributes }: Entity): number {
  let size = 0
  for (const { name, type, instance, value, metadata } of attributes) {
    size += attribute_frame + name.length + type.length + instance.length + sizeOfValue(value)
    for (const element of metadata) size += metadata_frame + element.name.length + sizeOfValue(element.value)
  }
  return size
}

/** What they take beside their texts. */
const attribute_frame = 14
const metadata_frame = 6
const member_frame = 4
const scalar_size = 4
/** What an item or a member takes at least. */
const least_size = 3

function sizeOfValue(value: Value): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return scalar_size
  if (isArray(value)) return value.reduce<number>((size, item) => size + 1 + sizeOfValue(item), 2)
  let size = 2
  for (const [key, member] of Object.entries(value)) size += member_frame + key.length + sizeOfValue(member)
  return size
}
