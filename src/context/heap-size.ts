import type { Attribute, Entity, Metadata, Value } from './entity.js'

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
