import type { Attribute, Metadata, Value } from '../entity.js'
import { isArray } from '../value.js'

/** What weighs less is faster as it is. */
export const largeFrom = 64

/** What attributes weigh: one each, with their elements of metadata and the members and items of all values. At least so much where it is more. */
export function weightOf(attributes: readonly Attribute[], most: number): number {
  let weight = attributes.length
  for (const { value, metadata } of attributes) {
    if (weight >= most) break
    weight += weightOfValue(value, most - weight) + weightOfMetadata(metadata, most - weight)
  }
  return weight
}

/** Likewise what elements of metadata weigh. */
export function weightOfMetadata(metadata: readonly Metadata[], most: number): number {
  let weight = metadata.length
  for (const { value } of metadata) {
    if (weight >= most) break
    weight += weightOfValue(value, most - weight)
  }
  return weight
}

/** Likewise what a value weighs: nothing if it is neither an array nor an object. */
export function weightOfValue(value: Value, most: number): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = isArray(value) ? value : Object.values(value)
  let weight = members.length
  for (const member of members) {
    if (weight >= most) break
    weight += weightOfValue(member, most - weight)
  }
  return weight
}
