import type { Attribute, Entity, Metadata, Value } from './entity.js'
import { type HeldValue, valueHeld } from './large/large-attribute.js'
import { LargeValue } from './large/large-value.js'

/**
 * An upper bound of the bytes that entities take in memory: each character counts as two bytes. Caches call it once per entry.
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
/** An object as JSON.parse makes it, and one member of an object that is so large that V8 keeps it as a hash table. */
const object_bytes = 64
const member_bytes = 56

function attributeSize(attribute: Attribute): number {
  const { name, instance, type, metadata } = attribute
  let bytes = attribute_bytes + textSize(name) + textSize(instance) + textSize(type) + heldSize(valueHeld(attribute))
  for (const element of metadata) bytes += metadataSize(element)
  return bytes
}

function metadataSize({ name, type, value }: Metadata): number {
  return metadata_bytes + textSize(name) + textSize(type) + valueSize(value)
}

/** A large value is held as its text; materialised, it has these members and the characters of that text. */
function heldSize(held: HeldValue): number {
  if (!(held instanceof LargeValue)) return valueSize(held)
  const { size, values } = held.measure
  return object_bytes + 4 * size + values * (member_bytes + text_bytes + number_bytes)
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
