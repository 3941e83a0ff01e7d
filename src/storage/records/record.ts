import type {
  Attribute,
  Entity,
  EntityId,
  EntityType,
  Metadata,
  ServicePath,
  Value,
} from '../../model/context/entity.js'
import { valueHeld } from '../../model/context/large/large-attribute.js'
import { LargeEntity } from '../../model/context/large/large-entity.js'
import { LargeValue } from '../../model/context/large/large-value.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'

/**
 * An entity as it lies on disk: JSON arrays without names of members, dates of attributes as differences to the
 * entity's date of creation, trailing members left out where they are empty. Part of the format on disk.
 */
type StoredEntity = readonly [
  id: string,
  type: string,
  path: string,
  sequence: number,
  created: number,
  modified: number,
  attributes: readonly StoredAttribute[],
  correlator?: string,
]

type StoredAttribute = readonly [
  name: string,
  type: string,
  value: Value,
  created: number,
  modified: number,
  metadata?: readonly StoredMetadata[],
  instance?: string,
  isLocation?: 1 | 0,
]

type StoredMetadata = readonly [name: string, value: Value, type?: string]

/** The text that is stored for an entity. */
export function encodeEntity(entity: Entity): string {
  if (entity instanceof LargeEntity && entity.attributes.some((attribute) => textOf(attribute) !== undefined)) {
    return encodeByPieces(entity)
  }
  const { id, type, path, sequence, created, modified, correlator } = entity
  const attributes = entity.attributes.map((attribute) => storedAttribute(attribute, created))
  const stored: StoredEntity =
    correlator === undefined
      ? [id, type, path, sequence, created, modified, attributes]
      : [id, type, path, sequence, created, modified, attributes, correlator]
  return JSON.stringify(stored)
}

/** The text of an entity with large values, which are copied as they were read. */
function encodeByPieces(entity: LargeEntity): string {
  const { id, type, path, sequence, created, modified, correlator } = entity
  const attributes = entity.attributes.map((attribute) => {
    const value = textOf(attribute)
    if (value === undefined) return JSON.stringify(storedAttribute(attribute, created))
    // Member by member: to copy all of them would make the value.
    const { name, instance, type, isLocation, metadata, modified } = attribute
    const others = { name, instance, type, isLocation, metadata, created: attribute.created, modified }
    const [, , , ...rest] = storedAttribute({ ...others, value: null }, created)
    return `[${JSON.stringify(name)},${JSON.stringify(type)},${value},${JSON.stringify(rest).slice(1)}`
  })
  const head = JSON.stringify([id, type, path, sequence, created, modified]).slice(0, -1)
  const tail = correlator === undefined ? ']' : `,${JSON.stringify(correlator)}]`
  return `${head},[${attributes.join(',')}]${tail}`
}

/** The text of a large value that has not been changed since it was read. */
function textOf(attribute: Attribute): string | undefined {
  const held = valueHeld(attribute)
  return held instanceof LargeValue ? held.text : undefined
}

/** The entity that `encodeEntity` wrote. The folder's format was checked when it was opened. */
export function decodeEntity(text: string): Entity {
  const [id, type, path, sequence, created, modified, attributes, correlator] = JSON.parse(text) as StoredEntity
  return {
    id: id as EntityId,
    type: type as EntityType,
    path: path as ServicePath,
    sequence: sequence as Sequence,
    created: created as Milliseconds,
    modified: modified as Milliseconds,
    correlator,
    attributes: attributes.map((attribute) => heldAttribute(attribute, created)),
  }
}

/** The path and id of an entity, which precede its attributes in the text of `encodeEntity`. */
export function locatedIn(text: string): Located {
  const head = threeTexts.exec(text)?.[0]
  if (head === undefined) throw new Error('a record does not begin with id, type and path')
  const [id, , path] = JSON.parse(`${head}]`) as StoredEntity
  return { id: id as EntityId, path: path as ServicePath }
}

const threeTexts = /^\["(?:[^"\\]|\\.)*"(?:,"(?:[^"\\]|\\.)*"){2}/

function storedAttribute(attribute: Attribute, since: number): StoredAttribute {
  const { name, type, value, created, modified, metadata, instance, isLocation } = attribute
  const dates = [created - since, modified - since] as const
  if (isLocation) return [name, type, value, ...dates, metadata.map(storedMetadata), instance, 1]
  if (instance !== '') return [name, type, value, ...dates, metadata.map(storedMetadata), instance]
  if (metadata.length > 0) return [name, type, value, ...dates, metadata.map(storedMetadata)]
  return [name, type, value, ...dates]
}

function heldAttribute(stored: StoredAttribute, since: number): Attribute {
  const [name, type, value, created, modified, metadata = [], instance = '', isLocation = 0] = stored
  return {
    name,
    instance,
    type,
    value,
    isLocation: isLocation === 1,
    metadata: metadata.map(heldMetadata),
    created: (since + created) as Milliseconds,
    modified: (since + modified) as Milliseconds,
  }
}

function storedMetadata({ name, type, value }: Metadata): StoredMetadata {
  return type === '' ? [name, value] : [name, value, type]
}

function heldMetadata([name, value, type = '']: StoredMetadata): Metadata {
  return { name, type, value }
}

/** An entry of the index of types: enough to filter by path and id without the record. */
export interface Located {
  readonly path: ServicePath
  readonly id: EntityId
}

/** Paths have no spaces, so the first one ends the path. */
export function encodeLocated({ path, id }: Located): string {
  return `${path} ${id}`
}

/** What `encodeLocated` wrote. */
export function decodeLocated(text: string): Located {
  const space = text.indexOf(' ')
  return { path: text.slice(0, space) as ServicePath, id: text.slice(space + 1) as EntityId }
}
