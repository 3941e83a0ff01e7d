import { err, ok, type Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import { type Attribute, compareBytes, type Metadata } from './entity.js'
import {
  type AttributeParts,
  attributeOf,
  type HeldMetadata,
  type HeldValue,
  isSameValue,
  metadataHeld,
  plainMetadata,
  plainValue,
  valueHeld,
} from './large/large-attribute.js'
import { valueGiven } from './large/large-given.js'
import { LargeMetadata, sameElement } from './large/large-metadata.js'
import { LargeValue } from './large/large-value.js'
import { isMarked } from './location.js'
import { operated, operatorOf } from './operators.js'
import type { GivenAttribute, UnmetTerms, UpdateRefusal, UpdateTerms } from './update.js'
import { castText, dateValue, isDateType, isUnrestricted } from './value.js'

interface Making {
  readonly time: Milliseconds
  readonly autocast: boolean
  readonly isLocation: boolean
}

/** A new attribute: value and metadata as given; of metadata with the same name the last [context 2.3, 2.6]. */
export function newAttribute(given: GivenAttribute, { time, autocast, isLocation }: Making): Attribute {
  const value = valueGiven(given) ?? ''
  return attributeOf({
    name: given.name,
    instance: given.instance,
    type: given.type,
    value: autocast ? castHeld(value, given.type) : value,
    isLocation,
    metadata: overlayMetadata([], given.metadata),
    created: time,
    modified: time,
  })
}

/**
 * An attribute after an update: value, type and metadata that are not given stay [context 2.6]. When nothing changes, the result
 * is the held object itself [context 11].
 */
export function updatedAttribute(
  held: Attribute,
  given: GivenAttribute,
  { time, autocast, isLocation }: Making,
): Attribute {
  const type = given.type === '' ? held.type : given.type
  const asGiven = valueGiven(given)
  const value = asGiven === undefined ? valueHeld(held) : storedText(held, asGiven, type, autocast)
  const { name, instance, created } = held
  const merged = metadataAfter(metadataHeld(held), given.metadata)
  const metadata = ordinaryMetadata(merged, { instance, type, value, isLocation })
  const same =
    type === held.type &&
    isLocation === held.isLocation &&
    isSameValue(value, valueHeld(held)) &&
    isSameMetadata(metadata, metadataHeld(held))
  if (same) return held
  return attributeOf({ name, instance, type, value, isLocation, metadata, created, modified: time })
}

/**
 * NGSIv1 writes texts; where a date is stored, the text of a date is stored as a date [NGSIv2 context 14.2]. Null of such a type
 * is a date of NGSIv2, too: NGSIv1 stores no null.
 */
function storedText(held: Attribute, value: HeldValue, type: string, autocast: boolean): HeldValue {
  const isDate = isDateType(held.type) && (typeof held.value === 'number' || held.value === null)
  return autocast || isDate ? castHeld(value, type) : value
}

/** Only texts are converted, and a large value is none. */
function castHeld(value: HeldValue, type: string): HeldValue {
  return value instanceof LargeValue ? value : castText(value, type)
}

/**
 * Metadata without the names that members of the attribute stand for: `location` where NGSIv1 has marked it, and `ID` of an
 * instance [context 2.6], [NGSIv2 context 14.3, 14.4].
 */
export function ordinaryMetadata(
  metadata: HeldMetadata,
  attribute: Pick<AttributeParts, 'instance' | 'type' | 'value' | 'isLocation'>,
): HeldMetadata {
  const unmarked = isMarked(attribute) ? withoutName(metadata, 'location') : metadata
  return attribute.instance === '' ? unmarked : withoutName(unmarked, 'ID')
}

/** An attribute as an update of NGSIv2 makes it, before it is known whether it is the location. */
export interface Drafted extends Pick<AttributeParts, 'name' | 'instance' | 'type' | 'value' | 'metadata'> {
  /** Whether an update operator made the value: that counts as a change even if the value is equal [NGSIv2 context 12.1]. */
  readonly isOperated: boolean
}

/**
 * The attribute after an update of NGSIv2: operators are resolved, the type is the given one, metadata are merged or replaced.
 * Undefined when the operator does not create a new attribute. Refuses an operator that does not fit and, for PUT of a value, a
 * value that the stored type does not allow [NGSIv2 context 2.2, 2.3, 9.3, 12].
 */
export function draftAttribute(
  held: Attribute | undefined,
  given: GivenAttribute,
  { overridesMetadata, valueOnly }: UpdateTerms,
): Result<Drafted | undefined, UpdateRefusal> {
  const { name } = given
  const keeps = held !== undefined && valueOnly !== undefined
  const type = keeps ? held.type : given.type
  const before = held === undefined || overridesMetadata ? [] : metadataHeld(held)
  const metadata = metadataAfter(before, given.metadata)
  const asGiven = valueGiven(given) ?? null
  const read = keeps ? readAsStored(held, asGiven, valueOnly) : ok(asGiven)
  if (!read.ok) return read
  const isOperated = operatorOf(read.value) !== undefined
  const value = isOperated ? operated(read.value, held && valueHeld(held)) : read
  if (!value.ok) return unmet({ kind: 'operatorUnfit', operator: value.error, name })
  if (value.value === undefined) return ok(undefined)
  const instance = given.instance === '' ? (held?.instance ?? '') : given.instance
  const kept = keeps ? metadataHeld(held) : metadata
  return ok({ name, instance, type, value: value.value, metadata: kept, isOperated })
}

/** The value as the stored type reads it [NGSIv2 context 9.3]. */
function readAsStored(
  held: Attribute,
  value: HeldValue,
  valueOnly: UpdateTerms['valueOnly'],
): Result<HeldValue, UpdateRefusal> {
  const { name, type } = held
  if (valueOnly === 'forbiddenCharacters' && !isUnrestricted(type, held.metadata))
    return unmet({ kind: 'valueForbidden', name })
  if (!isDateType(type)) return ok(value)
  const date = dateValue(plainValue(value))
  return date.ok ? date : unmet({ kind: 'dateMalformed', name })
}

function unmet(why: UnmetTerms): Result<never, UpdateRefusal> {
  return err({ kind: 'termsUnmet', why })
}

/** The drafted attribute; the held object itself when nothing changes and the update is not forced. */
export function draftedAttribute(
  held: Attribute | undefined,
  drafted: Drafted,
  isLocation: boolean,
  time: Milliseconds,
  forced: boolean,
): Attribute {
  const { name, instance, type, value } = drafted
  const metadata = ordinaryMetadata(drafted.metadata, { instance, type, value, isLocation })
  const same =
    held !== undefined &&
    !forced &&
    !drafted.isOperated &&
    type === held.type &&
    isLocation === held.isLocation &&
    instance === held.instance &&
    isSameValue(value, valueHeld(held)) &&
    isSameMetadata(metadata, metadataHeld(held))
  if (same) return held
  return attributeOf({
    name,
    instance,
    type,
    value,
    isLocation,
    metadata,
    created: held?.created ?? time,
    modified: time,
  })
}

function withoutName(metadata: HeldMetadata, name: string): HeldMetadata {
  if (metadata instanceof LargeMetadata) return metadata.without(name)
  return positionOf(metadata, name) === -1 ? metadata : metadata.filter((element) => element.name !== name)
}

function metadataAfter(held: HeldMetadata, given: readonly Metadata[]): HeldMetadata {
  if (!(held instanceof LargeMetadata)) return overlayMetadata(held, given)
  return given.length === 0 ? held : held.overlaid(given)
}

/**
 * The metadata of an attribute after an update, ascending by name. A held element that is given takes the new value, and the
 * new type if one is named; a new element joins; none is ever lost [context 2.6]. Of given elements with one name the last counts
 * [context 2.3].
 */
function overlayMetadata(held: readonly Metadata[], given: readonly Metadata[]): readonly Metadata[] {
  if (given.length === 0) return held
  const after = [...held]
  const positions = held.length + given.length < indexFrom ? undefined : new Map(held.map(({ name }, at) => [name, at]))
  for (const element of given) {
    const at = positions ? (positions.get(element.name) ?? -1) : positionOf(after, element.name)
    if (at !== -1) after[at] = element.type === '' ? { ...element, type: held[at]?.type ?? '' } : element
    else {
      positions?.set(element.name, after.length)
      after.push(element)
    }
  }
  return after.length === held.length ? after : after.sort((a, b) => compareBytes(a.name, b.name))
}

/** From this many elements on, an index costs less than one search for each given element. */
const indexFrom = 16

function positionOf(elements: readonly Metadata[], name: string): number {
  for (let at = 0; at < elements.length; at += 1) if (elements[at]?.name === name) return at
  return -1
}

function isSameMetadata(a: HeldMetadata, b: HeldMetadata): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  if (a instanceof LargeMetadata && b instanceof LargeMetadata) return a.isSame(b)
  const [left, right] = [plainMetadata(a), plainMetadata(b)]
  return left.every((element, at) => isSameElement(element, right[at]))
}

function isSameElement(a: Metadata, b: Metadata | undefined): boolean {
  return b !== undefined && sameElement(a, b)
}
