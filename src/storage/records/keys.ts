import type { EntityId, EntityType, ServicePath, Tenant } from '../../model/context/entity.js'
import type { Cell, CellRange } from '../../model/context/geo/cells.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'

/** Keys are arrays in lmdb's ordered encoding: texts in the order of their UTF-8 bytes, numbers by size. */
export type Key = (string | number)[]

/** A stretch of keys: from `start` up to but without `end`. */
export interface KeyRange {
  readonly start: Key
  readonly end: Key
}

/** The character after the slash: past every service path, all of which begin with a slash. */
const pastPaths = '0'

/** More than any id or type has that is stored, and so little that a key of several parts stays within what lmdb takes. */
const name_bytesMax = 1024

/** Whether there can be anything under this id or type. What is asked for is not checked as what is stored is. */
export function canBeKey(name: EntityId | EntityType): boolean {
  const bytesPerUnit = 3
  return name.length * bytesPerUnit <= name_bytesMax || Buffer.byteLength(name) <= name_bytesMax
}

/** Where the record of an entity lies: all of a tenant's in the order of creation. */
export function recordKey(tenant: Tenant, sequence: Sequence): Key {
  return [tenant, sequence]
}

/** The records of a tenant from a sequence on. */
export function recordsOf(tenant: Tenant, after: number): KeyRange {
  return { start: [tenant, after], end: [tenant, Number.POSITIVE_INFINITY] }
}

/** Where the sequence of an entity is found by what identifies it. */
export function idKey(tenant: Tenant, id: EntityId, path: ServicePath, type: EntityType): Key {
  return [tenant, id, path, type]
}

/** Everything of one id in one service path, of every type. */
export function idInPath(tenant: Tenant, id: EntityId, path: ServicePath): KeyRange {
  // A space comes after the separator of parts and before every character of a longer path.
  return { start: [tenant, id, path], end: [tenant, id, `${path} `] }
}

/** Everything of one id, in every service path. */
export function idInAllPaths(tenant: Tenant, id: EntityId): KeyRange {
  return { start: [tenant, id], end: [tenant, id, pastPaths] }
}

/** Where an entity stands among those of its type, in the order of creation. */
export function typeKey(tenant: Tenant, type: EntityType, sequence: Sequence): Key {
  return [tenant, type, sequence]
}

/** The entities of a type from a sequence on. */
export function typeFrom(tenant: Tenant, type: EntityType, after: number): KeyRange {
  return { start: [tenant, type, after], end: [tenant, type, Number.POSITIVE_INFINITY] }
}

/** Where an entity stands among those that expire, in the order of their expirations. */
export function expirationKey(expires: Milliseconds, tenant: Tenant, sequence: Sequence): Key {
  return [expires, tenant, sequence]
}

/** The key behind those of all entities that have expired by then. */
export function behindExpired(time: Milliseconds): Key {
  return [time + 1]
}

/** Where an entity stands among those whose locations lie in a cell. */
export function cellKey(tenant: Tenant, { level, number }: Cell, sequence: Sequence): Key {
  return [tenant, level, number, sequence]
}

/** The entities in cells of a level, from one number to another. */
export function cellsBetween(tenant: Tenant, level: number, { first, last }: CellRange): KeyRange {
  return { start: [tenant, level, first], end: [tenant, level, last + 1] }
}

/** All cells of a level and of finer ones. */
export function cellsFromLevel(tenant: Tenant, level: number): KeyRange {
  return { start: [tenant, level], end: [tenant, Number.MAX_SAFE_INTEGER] }
}

/** Everything of the ids that begin with some characters of ASCII, at least one. */
export function idsBeginning(tenant: Tenant, prefix: string): KeyRange {
  const last = prefix.length - 1
  return {
    start: [tenant, prefix],
    end: [tenant, prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1)],
  }
}

/** Where the number of entities of a type in a service path is counted; with a name, of those that have the attribute. */
export function countKey(tenant: Tenant, path: ServicePath, type: EntityType, attribute?: string): Key {
  return attribute === undefined ? [tenant, path, type] : [tenant, path, type, attribute]
}

/** Where it is counted how many entities of a type in a service path have an attribute of a type [NGSIv2 context 13]. */
export function attributeTypeKey(
  tenant: Tenant,
  path: ServicePath,
  type: EntityType,
  attribute: string,
  attributeType: string,
): Key {
  return [tenant, path, type, attribute, attributeType]
}

/** All counts of a tenant: of each path and type, the entities first, then the attribute names. */
export function countsOf(tenant: Tenant): KeyRange {
  return { start: [tenant], end: [tenant, pastPaths] }
}

/** All counts of a tenant behind the attribute names of a type in a path, but for names that begin with the last character there is. */
export function countsBehind(tenant: Tenant, path: ServicePath, type: EntityType): KeyRange {
  return { start: countKey(tenant, path, type, lastCharacter), end: countsOf(tenant).end }
}

/** No character stands behind it in the order of keys. */
export const lastCharacter = '\u{10ffff}'

/** The only part of a key of one part, which lmdb gives back without its array. */
export function onlyPart(key: unknown): unknown {
  return Array.isArray(key) ? key[0] : key
}
