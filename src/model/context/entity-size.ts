import type { Attribute, Entity, Metadata, Value } from './entity.js'
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

/** How much an entity has of what is limited. */
export interface Measure {
  readonly size: number
  readonly values: number
  readonly metadata: number
}

/** How much a value has of it. */
export type ValueMeasure = Pick<Measure, 'size' | 'values'>

export function valueMeasure(value: Value): ValueMeasure {
  return { size: sizeOfValue(value), values: valuesBelow(value) }
}

/** What one attribute adds to the measure of its entity. */
export function measureOfAttribute(attribute: Attribute): Measure {
  const { value, metadata } = attribute
  const size = attributeFrame(attribute) + sizeOfValue(value) + sizeOfMetadata(metadata)
  return { size, values: valuesBelow(value), metadata: metadata.length }
}

/** Elements of metadata of attributes, together. */
export function metadataOf(attributes: readonly { readonly metadata: readonly Metadata[] }[]): number {
  return attributes.reduce((sum, { metadata }) => sum + metadata.length, 0)
}

/** Members and items of the compound values of attributes, at all depths. */
export function valuesIn(attributes: Entity['attributes']): number {
  let values = 0
  for (const { value } of attributes) if (typeof value === 'object') values += valuesBelow(value)
  return values
}

function valuesBelow(value: Value): number {
  if (typeof value !== 'object' || value === null) return 0
  if (isArray(value)) return value.reduce<number>((values, item) => values + valuesBelow(item), value.length)
  // Of an object of 50,000 members, to list the keys takes half as long as to list the values.
  const keys = Object.keys(value)
  let values = keys.length
  for (const key of keys) values += valuesBelow(value[key] ?? null)
  return values
}

/** About the characters that an entity takes on disk; a request that gives all of it takes more. */
export function sizeOf({ attributes }: Pick<Entity, 'attributes'>): number {
  let size = 0
  for (const attribute of attributes) size += sizeOfAttribute(attribute)
  return size
}

function sizeOfAttribute(attribute: Attribute): number {
  return attributeFrame(attribute) + sizeOfValue(attribute.value) + sizeOfMetadata(attribute.metadata)
}

/** What an attribute takes beside its value and its metadata. */
export function attributeFrame({ name, type, instance }: Pick<Attribute, 'name' | 'type' | 'instance'>): number {
  return attribute_frame + name.length + type.length + instance.length
}

/** What elements of metadata add to the size of an entity. */
export function sizeOfMetadata(metadata: readonly Metadata[]): number {
  let size = 0
  for (const { name, value } of metadata) size += metadata_frame + name.length + sizeOfValue(value)
  return size
}

/** What they take beside their texts. */
const attribute_frame = 14
export const metadata_frame = 6
export const member_frame = 4
export const item_frame = 1
export const scalar_size = 4
/** What an item or a member takes at least. */
export const least_size = 3

function sizeOfValue(value: Value): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return scalar_size
  if (isArray(value)) return value.reduce<number>((size, item) => size + item_frame + sizeOfValue(item), 2)
  let size = 2
  for (const key of Object.keys(value)) size += member_frame + key.length + sizeOfValue(value[key] ?? null)
  return size
}

/**
 * What entities take in memory, in bytes and never less than it is: every text is counted as if its characters took two
 * bytes each. For caches, which count what they hold once, when they take it.
 */
export function heapSize(entities: readonly Entity[]): number {
  let bytes = array_bytes
  for (const { id, type, path, correlator = '', attributes } of entities) {
    bytes += entity_bytes + textSize(id) + textSize(type) + textSize(path) + textSize(correlator)
    for (const attribute of attributes) bytes += attributeSize(attribute)
  }
  return bytes
}

const entity_bytes = 160
const attribute_bytes = 160
const metadata_bytes = 64
const array_bytes = 64
const text_bytes = 24
const number_bytes = 24
/** An object as JSON.parse makes it, and one member of one that is so large that it is kept as a table. */
const object_bytes = 64
const member_bytes = 56

function attributeSize({ name, instance, type, value, metadata }: Attribute): number {
  let bytes = attribute_bytes + textSize(name) + textSize(instance) + textSize(type) + valueSize(value)
  for (const element of metadata) bytes += metadataSize(element)
  return bytes
}

function metadataSize({ name, type, value }: Metadata): number {
  return metadata_bytes + textSize(name) + textSize(type) + valueSize(value)
}

function valueSize(value: Value): number {
  if (typeof value === 'string') return textSize(value)
  if (typeof value !== 'object' || value === null) return number_bytes
  let bytes = 0
  if (Array.isArray(value)) {
    bytes += array_bytes
    for (const item of value) bytes += valueSize(item)
    return bytes
  }
  bytes += object_bytes
  for (const [key, member] of Object.entries(value)) bytes += member_bytes + textSize(key) + valueSize(member)
  return bytes
}

function textSize(text: string): number {
  return text_bytes + 2 * text.length
}
