import type { Milliseconds } from '../time.js'
import { type Attribute, compareBytes, type Metadata } from './entity.js'
import type { GivenAttribute } from './update.js'
import { castText, sameValue } from './value.js'

/** How an attribute is made from what a request gives. */
interface Making {
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
function overlayMetadata(held: readonly Metadata[], given: readonly Metadata[]): readonly Metadata[] {
  if (given.length === 0) return held
  const after = [...held]
  const positions = held.length + given.length < indexFrom ? undefined : new Map(held.map(({ name }, at) => [name, at]))
  for (const element of given) {
    const at = positions ? (positions.get(element.name) ?? -1) : positionOf(after, element.name)
    const before = after[at]
    if (before) after[at] = element.type === '' ? { ...element, type: before.type } : element
    else {
      positions?.set(element.name, after.length)
      after.push(element)
    }
  }
  return after.length === held.length ? after : after.sort((a, b) => compareBytes(a.name, b.name))
}

/** From this many elements on, building an index costs less than looking through all of them for each one given. */
const indexFrom = 16

function positionOf(elements: readonly Metadata[], name: string): number {
  for (let at = 0; at < elements.length; at += 1) if (elements[at]?.name === name) return at
  return -1
}

function sameMetadata(a: readonly Metadata[], b: readonly Metadata[]): boolean {
  if (a === b) return true
  return a.length === b.length && a.every((element, at) => sameElement(element, b[at]))
}

function sameElement(a: Metadata, b: Metadata | undefined): boolean {
  return b !== undefined && a.name === b.name && a.type === b.type && sameValue(a.value, b.value)
}
