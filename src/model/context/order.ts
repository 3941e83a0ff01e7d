import type { Sequence } from '../../threads/shared-memory/sequences.js'
import { type Attribute, compareBytes, type Entity, type Value } from './entity.js'
import { distanceFrom } from './geo/compile.js'
import type { Point } from './geo/shape.js'
import { locationOf } from './location.js'
import { expirationOf, isArray } from './value.js'

/**
 * A key of the order of results: an attribute's name, or `id`, `type`, `dateCreated`, `dateModified` [context 7.7]; with
 * `isBuiltin` also `dateExpires` and `servicePath`, which are ordinary names for NGSIv1 [NGSIv2 context 7.6].
 */
export interface OrderKey {
  readonly by: string
  readonly reversed: boolean
  readonly isBuiltin?: true
  /** Orders by the distance of the location from this point; the name is ignored [NGSIv2 context 7.6]. */
  readonly from?: Point
}

/** Parses `orderBy`: names separated by commas, each reversed by a leading `!`. Empty names are skipped. */
export function parseOrder(text: string): readonly OrderKey[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .map((item) => (item.startsWith('!') ? { by: item.slice(1), reversed: true } : { by: item, reversed: false }))
    .filter(({ by }) => by !== '')
}

/**
 * The keys as NGSIv2 means them. `geo:distance` as the first key is the distance from the centre of a `near` query; without a
 * centre, or in another place, it is ignored [NGSIv2 context 7.6].
 */
export function withBuiltins(keys: readonly OrderKey[], centre: Point | undefined): readonly OrderKey[] {
  return keys.flatMap((key, at): readonly OrderKey[] => {
    if (key.by !== 'geo:distance') return [{ ...key, isBuiltin: true }]
    return at === 0 && centre !== undefined ? [{ ...key, from: centre }] : []
  })
}

/** The most names that results are ordered by. */
export const maxOrderKeys = 20

/**
 * Compares two entities by these keys, the first one that differs deciding. Entities that tie are in the order of creation, also
 * when a key is reversed [context 2.7, 7.7].
 */
export function compareEntities(keys: readonly OrderKey[]): (a: Entity, b: Entity) => number {
  const keysOf = sortKeysOf(keys)
  const compare = compareKeys(keys)
  return (a, b) => compare(keysOf(a), keysOf(b))
}

/** The values by which an entity is sorted, without the entity. */
export interface SortedBy {
  readonly values: readonly (Value | undefined)[]
  readonly sequence: Sequence
  /** The most memory that the values take. */
  readonly bytes: number
}

/** Gives the sort values of an entity. */
export function sortKeysOf(keys: readonly OrderKey[]): (entity: Entity) => SortedBy {
  const readers = keys.map(readerOf)
  return (entity) => {
    const values = readers.map((read) => sortable(read(entity)))
    let bytes = 0
    for (const value of values) bytes += typeof value === 'string' ? value_bytes + 2 * value.length : value_bytes
    return { values, sequence: entity.sequence, bytes }
  }
}

/** Compares sort values; the order is that of `compareEntities`. */
export function compareKeys(keys: readonly OrderKey[]): (a: SortedBy, b: SortedBy) => number {
  const signs = keys.map(({ reversed }) => (reversed ? -1 : 1))
  return (a, b) => {
    for (const [at, sign] of signs.entries()) {
      const order = sign * compareValues(a.values[at], b.values[at])
      if (order !== 0) return order
    }
    return a.sequence - b.sequence
  }
}

const value_bytes = 32

/** Compound values are ordered by their kind only. */
function sortable(value: Value | undefined): Value | undefined {
  if (typeof value !== 'object' || value === null) return value
  return isArray(value) ? [] : {}
}

/**
 * Compares values of any kind in Orion's order: none or null, numbers, texts by bytes, objects, arrays, booleans. Two objects
 * tie, and so do two arrays [NGSIv2 context 7.6].
 */
export function compareValues(a: Value | undefined, b: Value | undefined): number {
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(a, b)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  return rank(a) - rank(b)
}

type ValueReader = (entity: Entity) => Value | undefined

function readerOf({ by, isBuiltin, from }: OrderKey): ValueReader {
  return from === undefined ? (isBuiltin && builtinReaders.get(by)) || reader(by) : distanceReader(from)
}

function distanceReader(from: Point): ValueReader {
  const distanceTo = distanceFrom(from)
  return (entity) => {
    const location = locationOf(entity)
    return location && distanceTo(location)
  }
}

const builtinReaders: ReadonlyMap<string, ValueReader> = new Map<string, ValueReader>([
  ['dateExpires', expirationOf],
  ['servicePath', ({ path }) => path],
])

function reader(by: string): ValueReader {
  switch (by) {
    case 'id':
      return ({ id }) => id
    case 'type':
      return ({ type }) => type
    case 'dateCreated':
      return ({ created }) => created
    case 'dateModified':
      return ({ modified }) => modified
    default:
      return ({ attributes }) => firstOf(attributes, by)?.value
  }
}

/** The first of several instances, which has the smallest ID. */
function firstOf(attributes: readonly Attribute[], by: string): Attribute | undefined {
  return attributes.find(({ name }) => name === by)
}

function rank(value: Value | undefined): number {
  if (value === undefined || value === null) return 0
  switch (typeof value) {
    case 'number':
      return 1
    case 'string':
      return 2
    case 'boolean':
      return 5
    default:
      return isArray(value) ? 4 : 3
  }
}
