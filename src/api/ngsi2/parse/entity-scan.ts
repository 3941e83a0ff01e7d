import { matchAt, scannedAtOnce, windowAt } from '../../../broker/operations/element-window.js'
import { type EntityId, type EntityType, type Metadata, maxName_bytes } from '../../../model/context/entity.js'
import { maxAttributes } from '../../../model/context/entity-size.js'
import type { GivenAttribute, UpdateAction } from '../../../model/context/update.js'
import { isDateType, isExpiration, parseDate, shownType } from '../../../model/context/value.js'
import type { Steps } from '../../../slices.js'
import { checkedAttribute, checkedMetadata } from './attributes.js'
import { actionOf, type EntityGiven } from './entities.js'
import { type Given, type GivenObject, isGivenObject } from './tree.js'

/** A payload of POST /v2/op/update with the texts of its entities. */
export interface ScannedBatch {
  readonly action: UpdateAction
  /** In the order of the request; at least one. */
  readonly entities: readonly ScannedEntity[]
}

/** The text of an entity, for `parseScannedEntity`, and its id, which determines its partition. */
export interface ScannedEntity {
  readonly id: EntityId
  readonly text: string
}

/**
 * Finds the entities of a payload without making objects of them. Only for a payload that `parseBatch` certainly accepts in the
 * normalized form, so that its entities can be parsed one by one in their partitions: all values are scalars, texts have neither
 * escapes nor forbidden characters, and nothing is missing, doubled, too long or unknown that would be refused. Undefined for any
 * other payload, and where an entity is so long that its partition should not parse it at once; without a reason.
 */
export function* scanEntities(body: string): Steps<ScannedBatch | undefined> {
  const head = matchAt(beginning, body, 0)
  if (head === undefined) return undefined
  const entities: ScannedEntity[] = []
  let at = beginning.lastIndex
  for (let isLast = false; !isLast; ) {
    const { text, from } = windowAt(body, at)
    const entity = scanEntity(text, from)
    if (entity === undefined) return undefined
    entities.push({ id: entity.id, text: text.slice(from, entity.end) })
    const [, follows] = matchAt(separator, text, entity.end) ?? []
    if (follows === undefined) return undefined
    isLast = follows === ']'
    at += separator.lastIndex - from
    if (entities.length % scannedAtOnce === 0) yield
  }
  const [, wordBefore] = head
  const tail = matchAt(wordBefore === undefined ? endingWithAction : ending, body, at)
  const action = tail && actionOf(wordBefore ?? tail[1] ?? '')
  return action && { action, entities }
}

/**
 * The id of the entity that begins at an offset, and where it ends. An entity that fits in its window has fewer metadata than it may
 * have: they are not counted.
 */
function scanEntity(text: string, from: number): { readonly id: EntityId; readonly end: number } | undefined {
  if (matchAt(opening, text, from) === undefined) return undefined
  const names = new Set<string>()
  let id: string | undefined
  let at = opening.lastIndex
  for (let isLast = false; !isLast; ) {
    const [, name = '', identifier, firstType, value, type, metadata, follows] = matchAt(member, text, at) ?? []
    if (follows === undefined || names.has(name) || names.size > maxAttributes) return undefined
    names.add(name)
    at = member.lastIndex
    isLast = follows === '}'
    if (identifier !== undefined) {
      if (name === 'id') id = identifier
      if ((name !== 'id' && name !== 'type') || !isShort(identifier)) return undefined
    } else if (value === undefined || !isTypedWell(value, firstType, type)) return undefined
    else if (!isPlainAttribute(name, type ?? firstType, metadata)) return undefined
  }
  return id === undefined ? undefined : { id: id as EntityId, end: at }
}

/** Whether an attribute with a value of its type is certainly accepted, and keeps its place when it is parsed as an object. */
function isPlainAttribute(name: string, type: string | undefined, metadata: string | undefined): boolean {
  if (!isShort(name) || name === 'id' || name === 'type' || startsWithDigit.test(name)) return false
  if (isExpiration(name) && !isDate(type)) return false
  return metadata === undefined || (isShort(metadata) && !mayHaveDates.test(metadata)) || areTypedWell(metadata)
}

const startsWithDigit = /^\d/
const mayHaveDates = /"(?:DateTime|ISO8601)"/

/** Looks at the elements one by one: each has the form of an attribute without metadata. */
function areTypedWell(metadata: string): boolean {
  let at = metadata.indexOf('"')
  for (let isLast = false; !isLast; at = member.lastIndex) {
    const [, name = '', , firstType, value = '', type, , follows] = matchAt(member, metadata, at) ?? []
    if (!isShort(name) || !isTypedWell(value, firstType, type)) return false
    isLast = follows !== ','
  }
  return true
}

/** Whether a value in a payload may have its type, the last one given: a value of a date's type is a date, and no scalar is GeoJSON. */
function isTypedWell(value: string, firstType: string | undefined, type = firstType): boolean {
  if (type === undefined) return true
  if (type === 'geo:json') return false
  return isShort(type) && isShort(firstType ?? '') && (!isDate(type) || parseDate(value.slice(1, -1)) !== undefined)
}

function isDate(type: string | undefined): boolean {
  return type !== undefined && isDateType(type)
}

/** Identifiers are ASCII. */
function isShort(identifier: string): boolean {
  return identifier.length <= maxName_bytes
}

/** Parses an entity that `scanEntities` has found, which is certainly valid; of repeated metadata the last one stays. */
export function parseScannedEntity(text: string): EntityGiven {
  const { id, type, ...members } = objectIn(JSON.parse(text))
  const attributes = Object.entries(members).map(([name, given]) => scannedAttribute(name, objectIn(given)))
  return { id: String(id) as EntityId, type: type === undefined ? undefined : (String(type) as EntityType), attributes }
}

function scannedAttribute(name: string, { type, value: given, metadata }: GivenObject): GivenAttribute {
  const value = scalarIn(given)
  const elements = metadata === undefined ? none : Object.entries(objectIn(metadata)).map(scannedElement)
  const written = { value, isForbidden: false }
  const read = checkedAttribute({ name, type: textIn(type), value: written, given: value, metadata: elements })
  if (!read.ok) throw new Error('an attribute of a payload without faults is refused')
  return read.value
}

const none: readonly Metadata[] = []

function scannedElement([name, given]: readonly [name: string, given: Given]): Metadata {
  const { type = '', value: scalar } = objectIn(given)
  const value = scalarIn(scalar)
  const read = checkedMetadata(name, shownType({ type: String(type), value }), value)
  if (!read.ok) throw new Error('metadata of a payload without faults are refused')
  return read.value
}

function objectIn(given: Given): GivenObject {
  if (!isGivenObject(given)) throw new Error('a part of a payload without faults is no object')
  return given
}

function scalarIn(given: Given): string | number | boolean | null {
  if (typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean' || given === null)
    return given
  throw new Error('a value of a payload without faults is no scalar')
}

function textIn(given: Given): string | undefined {
  return typeof given === 'string' ? given : undefined
}

/*
 * The expressions take linear time: no two parts that follow each other can begin with the same character, but for members, which
 * differ in their names.
 */

/** Takes two thirds of the time of a plain `*`: most payloads have no whitespace. */
const whitespace = '(?:[ \\t\\r\\n]+)?'
const comma = `${whitespace},${whitespace}`
/** An identifier without quotation marks, of any length. */
const identifier = '[!$%*+,\\-.0-9:@A-Z[\\]^_`a-z{|}~]+'
const scalar = `"[^"\\\\\\x00-\\x1f<>'=;()]*"|-?(?:0|[1-9]\\d{0,14})(?:\\.\\d{1,15})?|true|false|null`

function given(key: string, value: string): string {
  return `"${key}"${whitespace}:${whitespace}${value}`
}

/** The members `type` and `value` of an attribute or of a metadata element, in either order, with groups or without. */
function typedValue(group: '(' | '(?:'): string {
  const type = given('type', `"${group}${identifier})"`)
  return `(?:${type}${comma})?${given('value', `${group}${scalar})`)}(?:${comma}${type})?`
}

const element = `"${identifier}"${whitespace}:${whitespace}\\{${whitespace}${typedValue('(?:')}${whitespace}\\}`
const metadata = `\\{${whitespace}(?:${element}(?:${comma}${element})*${whitespace})?\\}`
const attribute = `\\{${whitespace}${typedValue('(')}(?:${comma}${given('metadata', `(${metadata})`)})?${whitespace}\\}`
const key = `"(${identifier})"${whitespace}:${whitespace}`

/** With the whitespace behind it, and the comma or the end of the entity. */
const member = new RegExp(`${key}(?:"(${identifier})"|${attribute})${whitespace}(,|\\})${whitespace}`, 'y')

const word = given('actionType', '"(\\w+)"')
const opening = new RegExp(`\\{${whitespace}`, 'y')
const separator = new RegExp(`${whitespace}([,\\]])${whitespace}`, 'y')
const beginning = new RegExp(
  `${whitespace}\\{${whitespace}(?:${word}${comma})?${given('entities', `\\[${whitespace}`)}`,
  'y',
)
const endingWithAction = new RegExp(`,${whitespace}${word}${whitespace}\\}${whitespace}$`, 'y')
const ending = new RegExp(`\\}${whitespace}$`, 'y')
