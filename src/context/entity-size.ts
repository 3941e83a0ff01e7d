import type { Entity, Value } from './entity.js'
import { isVector } from './path.js'

/** How large an entity may become; what is larger already may change and shrink. */
export interface EntityLimits {
  /** Characters of its names, types, values and metadata, as `sizeOf` counts them. */
  readonly size: number
  /** Attributes, each instance counted: their names are counted one by one for the lists of types. */
  readonly attributes: number
  /** Entities of one id in one service path, which one update may change all together. */
  readonly types: number
}

export const noLimits: EntityLimits = {
  size: Number.POSITIVE_INFINITY,
  attributes: Number.POSITIVE_INFINITY,
  types: Number.POSITIVE_INFINITY,
}

/** Which limit an entity is beyond after an update that made it larger. */
export function excess(
  before: Entity | undefined,
  after: Entity,
  limits: EntityLimits,
): 'size' | 'attributes' | undefined {
  const held = before?.attributes.length ?? 0
  if (after.attributes.length > limits.attributes && after.attributes.length > held) return 'attributes'
  if (limits.size === Number.POSITIVE_INFINITY) return undefined
  const size = sizeOf(after)
  return size > limits.size && size > (before === undefined ? 0 : sizeOf(before)) ? 'size' : undefined
}

/** About the characters that an entity takes on disk; a request that gives all of it takes more. */
function sizeOf({ attributes }: Entity): number {
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

function sizeOfValue(value: Value): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return scalar_size
  let size = 2
  if (isVector(value)) for (const item of value) size += 1 + sizeOfValue(item)
  else for (const [key, member] of Object.entries(value)) size += member_frame + key.length + sizeOfValue(member)
  return size
}
