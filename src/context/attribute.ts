import type { Milliseconds } from '../time.js'
import { type Attribute, compareBytes, type Metadata } from './entity.js'
import type { GivenAttribute } from './update.js'
import { castText, sameValue } from './value.js'

/** How an attribute is made from what a request gives. */
export interface Making {
  readonly time: Milliseconds
  readonly autocast: boolean
  readonly isLocation: boolean
}

/** A new attribute: value and metadata as given, the last of doubled metadata [context 2.3, 2.6]. */
export function newAttribute(given: GivenAttribute, { time, autocast, isLocation }: Making): Attribute {
  const value = given.value ?? ''
  return {
    name: given.name,
    instance: given.instance,
    type: given.type,
    value: autocast ? castText(value, given.type) : value,
    isLocation,
    metadata: overlayMetadata([], given.metadata),
    created: time,
    modified: time,
  }
}

/**
 * An attribute after an update: what is not given stays, value, type and metadata alike [context 2.6]. It is the very
 * object that was held when the update changes nothing [context 11].
 */
export function updatedAttribute(
  held: Attribute,
  given: GivenAttribute,
  { time, autocast, isLocation }: Making,
): Attribute {
  const type = given.type === '' ? held.type : given.type
  const value = given.value === undefined ? held.value : autocast ? castText(given.value, type) : given.value
  const metadata = overlayMetadata(held.metadata, given.metadata)
  const same =
    type === held.type &&
    isLocation === held.isLocation &&
    sameValue(value, held.value) &&
    sameMetadata(metadata, held.metadata)
  if (same) return held
  const { name, instance, created } = held
  return { name, instance, type, value, isLocation, metadata, created, modified: time }
}

/**
 * The metadata of an attribute after an update, ascending by name. An element given again takes the new value, and the
 * new type if it names one; a new element joins; none is ever lost [context 2.6].
 */
export function overlayMetadata(held: readonly Metadata[], given: readonly Metadata[]): readonly Metadata[] {
  if (given.length === 0) return held
  if (given.length === 1 && held.length <= 1) return overlaySingle(held[0], given)
  const byName = new Map(held.map((element) => [element.name, element]))
  for (const element of given) {
    const before = byName.get(element.name)
    byName.set(element.name, before && element.type === '' ? { ...element, type: before.type } : element)
  }
  return [...byName.values()].sort((a, b) => compareBytes(a.name, b.name))
}

/** The usual case: one element given, none or one held. */
function overlaySingle(held: Metadata | undefined, given: readonly Metadata[]): readonly Metadata[] {
  const [element] = given
  if (element === undefined || held === undefined) return given
  if (held.name !== element.name) return compareBytes(held.name, element.name) < 0 ? [held, element] : [element, held]
  return element.type === '' ? [{ ...element, type: held.type }] : given
}

function sameMetadata(a: readonly Metadata[], b: readonly Metadata[]): boolean {
  if (a === b) return true
  return a.length === b.length && a.every((element, at) => sameElement(element, b[at]))
}

function sameElement(a: Metadata, b: Metadata | undefined): boolean {
  return b !== undefined && a.name === b.name && a.type === b.type && sameValue(a.value, b.value)
}
