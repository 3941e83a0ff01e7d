import type { Attribute, Entity, Metadata, Value } from './entity.js'
import { isArray } from './value.js'

/** The limits of an entity. One that already exceeds them may change and shrink. */
export interface EntityLimits {
  /**
   * Characters of names, types, values and metadata, as `sizeOf` counts them; for all entities of one id in one service path
   * together, since they are read together and may be written together.
   */
  readonly size: number
  /** Attributes, each instance counted: the lists of types count their names one by one. */
  readonly attributes: number
  /** Members and items of compound values, at all depths: each costs far more than its characters. */
  readonly values: number
  /** Metadata elements of all attributes. */
  readonly metadata: number
  /** Entities of one id in one service path, since one update may change all of them. */
  readonly types: number
}

/** The most attributes of an entity and of a context element. */
export const maxAttributes = 5000

/** The most metadata elements of an entity and of a context element, over all attributes. */
export const maxMetadata = 10_000

/** The most members and items of their compound values. */
export const maxValues = 100_000

export const noLimits: EntityLimits = {
  size: Number.POSITIVE_INFINITY,
  attributes: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  metadata: Number.POSITIVE_INFINITY,
  types: Number.POSITIVE_INFINITY,
}

/** The limits of growth; `sizes` is that of all entities of an id together. */
export type Excess = 'size' | 'sizes' | 'attributes' | 'values' | 'metadata'

/** How much an entity has of each limited quantity. */
export interface Measure {
  readonly size: number
  readonly values: number
  readonly metadata: number
}

export type ValueMeasure = Pick<Measure, 'size' | 'values'>

export function valueMeasure(value: Value): ValueMeasure {
  return { size: sizeOfValue(value), values: valuesBelow(value) }
}

export function measureOfAttribute(attribute: Attribute): Measure {
  const { value, metadata } = attribute
  const size = attributeFrame(attribute) + sizeOfValue(value) + sizeOfMetadata(metadata)
  return { size, values: valuesBelow(value), metadata: metadata.length }
}

/** The number of metadata elements of attributes, together. */
export function metadataOf(attributes: readonly { readonly metadata: readonly Metadata[] }[]): number {
  return attributes.reduce((sum, { metadata }) => sum + metadata.length, 0)
}

/** The number of members and items of the attributes' compound values, at all depths. */
export function valuesIn(attributes: readonly { readonly value: Value }[]): number {
  let values = 0
  for (const { value } of attributes) if (typeof value === 'object') values += valuesBelow(value)
  return values
}

function valuesBelow(value: Value): number {
  if (typeof value !== 'object' || value === null) return 0
  if (isArray(value)) return value.reduce<number>((values, item) => values + valuesBelow(item), value.length)
  // Listing the keys of an object of 50,000 members takes half as long as listing the values.
  const keys = Object.keys(value)
  let values = keys.length
  for (const key of keys) values += valuesBelow(value[key] ?? null)
  return values
}

/** About the number of characters that an entity takes on disk; a request with all of it takes more. */
export function sizeOf({ attributes }: Pick<Entity, 'attributes'>): number {
  let size = 0
  for (const attribute of attributes) size += sizeOfAttribute(attribute)
  return size
}

function sizeOfAttribute(attribute: Attribute): number {
  return attributeFrame(attribute) + sizeOfValue(attribute.value) + sizeOfMetadata(attribute.metadata)
}

/** The size of an attribute without its value and metadata. */
export function attributeFrame({ name, type, instance }: Pick<Attribute, 'name' | 'type' | 'instance'>): number {
  return attribute_frame + name.length + type.length + instance.length
}

export function sizeOfMetadata(metadata: readonly Metadata[]): number {
  let size = 0
  for (const { name, value } of metadata) size += metadata_frame + name.length + sizeOfValue(value)
  return size
}

/** The size beside the texts. */
const attribute_frame = 14
export const metadata_frame = 6
export const member_frame = 4
export const item_frame = 1
export const scalar_size = 4
/** The least size of an item or member. */
export const least_size = 3

function sizeOfValue(value: Value): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return scalar_size
  if (isArray(value)) return value.reduce<number>((size, item) => size + item_frame + sizeOfValue(item), 2)
  let size = 2
  for (const key of Object.keys(value)) size += member_frame + key.length + sizeOfValue(value[key] ?? null)
  return size
}
