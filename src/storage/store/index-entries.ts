import type { Attribute, Entity, Tenant } from '../../model/context/entity.js'
import { type Cell, cellsOf } from '../../model/context/geo/cells.js'
import { locationAttribute, shapeOfLocation } from '../../model/context/location.js'
import { expirationOf } from '../../model/context/value.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'
import type { Environment } from '../environment/environment.js'
import { behindExpired, cellKey, expirationKey, idKey, type Key, typeKey } from '../records/keys.js'
import { decodeLocated, encodeLocated } from '../records/record.js'
import type { Expired } from '../records/store.js'
import type { EntityWrite } from '../records/turn-record.js'

/** The databases that lead to the records: by id, by type, by expiration [NGSIv2 context 3.4], by location [NGSIv2 context 10.4]. */
export const indexes = ['ids', 'types', 'expirations', 'cells'] as const
export type IndexName = (typeof indexes)[number]

/** An entry that an index has for an entity. */
export interface IndexEntry {
  readonly index: IndexName
  readonly key: Key
  readonly value: string
}

/** Everything that the indexes hold of an entity. */
export function entriesOf(tenant: Tenant, entity: Entity): readonly IndexEntry[] {
  const { id, path, type, sequence } = entity
  return [
    { index: 'ids', key: idKey(tenant, id, path, type), value: String(sequence) },
    { index: 'types', key: typeKey(tenant, type, sequence), value: encodeLocated(entity) },
    ...changingEntriesOf(tenant, entity),
  ]
}

/** The entries that an update can change: id, path, type and sequence of an entity stay as they are. */
function changingEntriesOf(tenant: Tenant, entity: Entity): readonly IndexEntry[] {
  const value = encodeLocated(entity)
  const entries: IndexEntry[] = cellsAt(locationAttribute(entity)).map((cell) => {
    return { index: 'cells', key: cellKey(tenant, cell, entity.sequence), value }
  })
  const expires = expirationOf(entity)
  if (expires !== undefined) {
    entries.push({ index: 'expirations', key: expirationKey(expires, tenant, entity.sequence), value })
  }
  return entries
}

/** An entry that a write puts, or removes when it has no value. */
export type EntryChange = Omit<IndexEntry, 'value'> & { readonly value: string | undefined }

const unchanged: readonly EntryChange[] = []

/** What a write of an entity changes in the indexes. Most updates change nothing in them. */
export function entryChangesOf(write: EntityWrite): readonly EntryChange[] {
  const { tenant, entity } = write
  const before = write.kind === 'put' ? write.before : entity
  const after = write.kind === 'put' ? entity : undefined
  const isUpdate = before !== undefined && after !== undefined
  if (isUpdate && isIndexedAlike(before, after)) return unchanged
  const entriesIn = isUpdate ? changingEntriesOf : entriesOf
  const former = before === undefined ? [] : entriesIn(tenant, before)
  const entries = after === undefined ? [] : entriesIn(tenant, after)
  return [
    ...former
      .filter(({ index, key }) => !hasEntry(entries, index, key))
      .map(({ index, key }) => ({ index, key, value: undefined })),
    ...entries.filter(({ index, key }) => !hasEntry(former, index, key)),
  ]
}

/** Carries out changes of the indexes, within a transaction. */
export function writeEntries(databases: Pick<Environment, IndexName>, changes: readonly EntryChange[]): void {
  for (const { index, key, value } of changes) {
    if (value === undefined) databases[index].removeSync(key)
    else databases[index].putSync(key, value)
  }
}

/** Whether an entry of the index with this key is among entries. */
export function hasEntry(entries: readonly IndexEntry[], of: IndexName, key: Key): boolean {
  return entries.some((entry) => {
    return entry.index === of && entry.key.length === key.length && entry.key.every((part, at) => part === key[at])
  })
}

/** The entities that have expired at a time, by expiration, at most `limit`. */
export function expiredIn({ expirations }: Environment, time: Milliseconds, limit: number): readonly Expired[] {
  const found: Expired[] = []
  for (const { key, value } of expirations.getRange({ end: behindExpired(time), limit })) {
    const [, tenant, sequence] = key
    found.push({ tenant: String(tenant) as Tenant, sequence: Number(sequence) as Sequence, ...decodeLocated(value) })
  }
  return found
}

/** The cells in which a location lies; none if the attribute is no location. */
export function cellsAt(location: Attribute | undefined): readonly Cell[] {
  const shape = location && shapeOfLocation(location)
  return shape === undefined ? [] : cellsOf(shape)
}

/** Whether two states of one entity have the same entries. */
function isIndexedAlike(before: Entity, after: Entity): boolean {
  return (
    expirationOf(before) === expirationOf(after) && isSameLocation(locationAttribute(before), locationAttribute(after))
  )
}

function isSameLocation(a: Attribute | undefined, b: Attribute | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.value === b.value && a.type === b.type)
}
