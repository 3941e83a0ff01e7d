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
  if (!isArray(value)) return weightOfMembers(value, most)
  let weight = value.length
  for (const item of value) {
    if (weight >= most) break
    weight += weightOfValue(item, most - weight)
  }
  return weight
}

/** To begin with the keys of a large object takes half as long as to list its values. */
function weightOfMembers(members: { readonly [key: string]: Value }, most: number): number {
  let weight = 0
  for (const key in members) {
    weight += 1 + weightOfValue(members[key] ?? null, most - weight)
    if (weight >= most) break
  }
  return weight
}
