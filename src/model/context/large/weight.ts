import type { Attribute, Metadata, Value } from '../entity.js'
import { isArray } from '../value.js'

/** Plain values of less weight are faster. */
export const largeFrom = 64

/**
 * The weight of attributes: one each, with their metadata elements and the members and items of all values. Counting stops at
 * `most`.
 */
export function weightOf(attributes: readonly Attribute[], most: number): number {
  let weight = attributes.length
  for (const { value, metadata } of attributes) {
    if (weight >= most) break
    weight += weightOfValue(value, most - weight) + weightOfMetadata(metadata, most - weight)
  }
  return weight
}

/** The weight of metadata elements; counting stops at `most`. */
export function weightOfMetadata(metadata: readonly Metadata[], most: number): number {
  let weight = metadata.length
  for (const { value } of metadata) {
    if (weight >= most) break
    weight += weightOfValue(value, most - weight)
  }
  return weight
}

/** The weight of a value, 0 for scalars; counting stops at `most`. */
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

/** Listing the keys of a large object first takes half as long as listing its values. */
function weightOfMembers(members: { readonly [key: string]: Value }, most: number): number {
  let weight = 0
  for (const key in members) {
    weight += 1 + weightOfValue(members[key] ?? null, most - weight)
    if (weight >= most) break
  }
  return weight
}
