import {
  compareBytes,
  type Entity,
  type EntityId,
  type EntityType,
  type ServicePath,
  type Tenant,
} from '../../../model/context/entity.js'
import type { Box } from '../../../model/context/geo/bounds.js'
import { atLevel, type CellRange, coverOfBoxes } from '../../../model/context/geo/cells.js'
import { locationAttribute } from '../../../model/context/location.js'
import type { Sequence } from '../../../threads/shared-memory/sequences.js'
import { idsBeginning, type Key, type KeyRange } from '../../records/keys.js'
import { decodeLocated } from '../../records/record.js'
import { cellsAt } from '../index-entries.js'
import { mergeSorted } from '../merge-sorted.js'
import { Candidate, type Snapshot } from '../partition-reader.js'

/** The indexes that a page may be read from. */
export const walkedIndexes = ['sequence', 'id', 'cell'] as const
export type WalkedIndex = (typeof walkedIndexes)[number]

/** The position of an index entry in the order over all partitions: texts as bytes, numbers by size. */
export type Position = readonly (string | number)[]

/** An entity that an index names, at its place in the order. */
export interface Positioned {
  readonly position: Position
  readonly id: EntityId
  readonly path: ServicePath
  /** The type, if the index has it. */
  readonly type: EntityType | undefined
  read(): string | undefined
  decode(text: string): Entity
  /** Whether this is the first of the entries of the entity that the walk meets. */
  isFirst(entity: Entity): boolean
}

interface Walk {
  readonly tenant: Tenant
  readonly type: EntityType | undefined
  readonly prefix: string | undefined
  readonly area: Box | undefined
  readonly after: { readonly index: WalkedIndex; readonly position: Position } | undefined
}

/** The narrowest index for a query, and its entries behind the cursor in the order of the index over all partitions. */
export function entriesAfter(
  snapshots: readonly Snapshot[],
  walk: Walk,
): { readonly index: WalkedIndex; readonly entries: Iterable<Positioned> } {
  const index = indexOf(walk)
  // A cursor of another index is ignored: the walk starts from the beginning.
  const after = walk.after?.index === index ? walk.after.position : undefined
  const streams = snapshots.map((snapshot) => {
    if (index === 'id') return byId(snapshot, walk.tenant, asciiOf(walk.prefix), after)
    if (index === 'cell' && walk.area !== undefined) return byCell(snapshot, walk.tenant, walk.area, after)
    return bySequence(snapshot, walk, after)
  })
  return { index, entries: mergeSorted(streams, (a, b) => compare(a.position, b.position)) }
}

function indexOf({ prefix, area }: Walk): WalkedIndex {
  if (asciiOf(prefix) !== '') return 'id'
  return area === undefined ? 'sequence' : 'cell'
}

/** The ASCII characters at the start of a prefix, which the index can look up. */
function asciiOf(prefix = ''): string {
  return /^[ -~]*/.exec(prefix)?.[0] ?? ''
}

function compare(a: Position, b: Position): number {
  for (let at = 0; at < a.length; at += 1) {
    const [left, right] = [a[at], b[at]]
    const order =
      typeof left === 'string' && typeof right === 'string' ? compareBytes(left, right) : Number(left) - Number(right)
    if (order !== 0) return order
  }
  return 0
}

function* bySequence(snapshot: Snapshot, { tenant, type }: Walk, [after = -1]: Position = []): Generator<Positioned> {
  const found = type === undefined ? snapshot.all(tenant, Number(after)) : snapshot.ofType(tenant, type, Number(after))
  for (const candidate of found) yield positioned(candidate, [candidate.sequence], type)
}

function* byId(snapshot: Snapshot, tenant: Tenant, prefix: string, after: Position | undefined): Generator<Positioned> {
  const range = idsBeginning(tenant, prefix)
  const start = after === undefined ? range.start : [tenant, ...after]
  for (const { key, value } of snapshot.entries('ids', { start, end: range.end })) {
    const [, id, path, type] = key.map(String)
    const position = [id ?? '', path ?? '', type ?? '']
    if (after !== undefined && compare(position, after) <= 0) continue
    const located = { id: (id ?? '') as EntityId, path: (path ?? '') as ServicePath }
    const candidate = new Candidate(snapshot, tenant, Number(value) as Sequence, located)
    yield positioned(candidate, position, (type ?? '') as EntityType)
  }
}

function* byCell(snapshot: Snapshot, tenant: Tenant, area: Box, after: Position | undefined): Generator<Positioned> {
  const cover = coverOfBoxes([area])
  for (const range of snapshot.cellRanges(tenant, cover)) {
    const rest = behind(range, tenant, after)
    if (rest === undefined) continue
    for (const { key, value } of snapshot.entries('cells', rest)) {
      const position = key.slice(1)
      if (after !== undefined && compare(position, after) <= 0) continue
      const candidate = new Candidate(snapshot, tenant, Number(key[3]) as Sequence, decodeLocated(value))
      const isFirst = (entity: Entity) => isFirstCell(entity, cover, position)
      yield { ...positioned(candidate, position, undefined), isFirst }
    }
  }
}

/** The part of a range of cells behind a position; undefined when the whole range lies before it. */
function behind(range: KeyRange, tenant: Tenant, after: Position | undefined): KeyRange | undefined {
  if (after === undefined) return range
  if (compare(range.end.slice(1), after.slice(0, 2)) <= 0) return undefined
  const key: Key = [tenant, ...after]
  return compare(after.slice(0, 2), range.start.slice(1)) > 0 ? { start: key, end: range.end } : range
}

/** Whether none of the entity's other cells comes before this one in the cover: a shape may lie in several. */
function isFirstCell(entity: Entity, cover: readonly CellRange[], [level = 0, number = 0]: Position): boolean {
  return cellsAt(locationAttribute(entity)).every((cell) => {
    const isBefore = cell.level < Number(level) || (cell.level === level && cell.number < Number(number))
    return (
      !isBefore || !atLevel(cover, cell.level).some(({ first, last }) => first <= cell.number && cell.number <= last)
    )
  })
}

function positioned(candidate: Candidate, position: Position, type: EntityType | undefined): Positioned {
  return {
    position,
    id: candidate.id,
    path: candidate.path,
    type,
    read: () => candidate.read(),
    decode: (text) => candidate.decode(text),
    isFirst: () => true,
  }
}

/** Degrees to a tenth of a metre: cells are half a metre wide. */
export function rounded(degrees: number): number {
  return Math.round(degrees * 1e6) / 1e6
}
