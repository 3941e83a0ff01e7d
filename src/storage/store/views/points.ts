import type { EntityId, EntityType, Tenant } from '../../../model/context/entity.js'
import { type Box, boundsOfShape, inBoxes } from '../../../model/context/geo/bounds.js'
import { type CellRange, coverOfBoxes, middleOf } from '../../../model/context/geo/cells.js'
import { locationOf } from '../../../model/context/location.js'
import { inRange, type PathRange, type QueryRefusal } from '../../../model/context/query.js'
import { ok, type Result } from '../../../result.js'
import type { Slices } from '../../../slices.js'
import { idInPath, type Key, type KeyRange, typeFrom } from '../../records/keys.js'
import { decodeLocated } from '../../records/record.js'
import type { Snapshot } from '../partition-reader.js'
import { rounded } from './walk.js'

export interface PointsQuery {
  readonly tenant: Tenant
  readonly type: EntityType | undefined
  readonly path: PathRange
  readonly area: Box
  readonly limit: number
}

/** The positions of entities, to half a metre, and the number of further entries in the area. */
export interface LocatedPoints {
  /** Longitude and latitude in turn. */
  readonly points: readonly number[]
  /** About the number of entries in the area that were not read; some of them may have another type or path. */
  readonly beyond: number
}

interface Stretch {
  readonly snapshot: Snapshot
  readonly range: KeyRange
  readonly entries: number
}

/** Partitions to read at least: ids are spread over all of them, so a few represent the others. */
const leastRead = 8

/**
 * Where entities in an area are, from the index of cells alone. If there are more than may be shown, only as many partitions are read as
 * give about that many; where even a few partitions have more, every n-th entry of each key range is read, so that the picture stays the
 * same, only thinner. An entity that is no point counts where its cells are.
 */
export async function points(
  snapshots: readonly Snapshot[],
  query: PointsQuery,
  slices: Slices,
): Promise<Result<LocatedPoints, QueryRefusal>> {
  const few = query.type === undefined ? undefined : await ofFewType(snapshots, query, query.type, slices)
  if (few !== undefined) return ok(few)
  const cover = coverOfBoxes([query.area])
  const stretches: Stretch[] = []
  let [entries, read] = [0, 0]
  for (const snapshot of snapshots) {
    const own = stretchesOf(snapshot, query.tenant, cover)
    const count = own.reduce((sum, stretch) => sum + stretch.entries, 0)
    if (read >= leastRead && entries + count > query.limit) break
    stretches.push(...own)
    entries += count
    read += 1
    if (slices.isOver) await slices.next()
  }
  const inAll = Math.round((entries * snapshots.length) / read)
  const found: number[] = []
  let looked = 0
  for (const entry of thinned(stretches, Math.max(1, entries / query.limit))) {
    if (looked === query.limit) break // Sums of fractions may leave room for one more.
    looked += 1
    const point = pointOf(entry, query)
    if (point !== undefined) found.push(...point)
    if (slices.isOver) await slices.next()
  }
  return ok({ points: found, beyond: inAll - looked })
}

function stretchesOf(snapshot: Snapshot, tenant: Tenant, cover: readonly CellRange[]): readonly Stretch[] {
  const ranges = [...snapshot.cellRanges(tenant, cover)]
  return ranges.flatMap((range) => {
    const entries = snapshot.countOf('cells', range)
    return entries === 0 ? [] : [{ snapshot, range, entries }]
  })
}

/** All entities of a type that has no more than may be shown, by the index of types. */
async function ofFewType(
  snapshots: readonly Snapshot[],
  { tenant, path, area, limit }: PointsQuery,
  type: EntityType,
  slices: Slices,
): Promise<LocatedPoints | undefined> {
  const range = typeFrom(tenant, type, 0)
  let left = limit
  for (const snapshot of snapshots) left -= snapshot.countOf('types', range)
  if (left < 0) return undefined
  const found: number[] = []
  for (const snapshot of snapshots) {
    for (const candidate of snapshot.ofType(tenant, type)) {
      if (slices.isOver) await slices.next()
      if (!inRange(candidate.path, path)) continue
      const location = locationOf(candidate.decode(candidate.read()))
      const [box] = location === undefined ? [] : boundsOfShape(location)
      if (box === undefined) continue
      const point = { longitude: (box.west + box.east) / 2, latitude: (box.south + box.north) / 2 }
      if (inBoxes([area], point)) found.push(rounded(point.longitude), rounded(point.latitude))
    }
  }
  return { points: found, beyond: 0 }
}

/** An entry of the index, with its value if it was read. */
interface CellEntry {
  readonly snapshot: Snapshot
  readonly key: Key
  readonly value?: string
}

/** Every n-th index entry, counted through all key ranges. */
function* thinned(stretches: readonly Stretch[], step: number): Generator<CellEntry> {
  let [before, due] = [0, 0]
  for (const { snapshot, range, entries } of stretches) {
    if (step === 1) for (const entry of snapshot.entries('cells', range)) yield { snapshot, ...entry }
    let [start, at] = [range.start, before]
    for (; step > 1 && due < before + entries; due += step) {
      const index = Math.floor(due)
      const key = snapshot.keyAfter('cells', { start, end: range.end }, index - at)
      if (key === undefined) break
      yield { snapshot, key }
      start = key
      at = index
    }
    before += entries
  }
}

function pointOf(
  { snapshot, key, value }: CellEntry,
  { tenant, type, path, area }: PointsQuery,
): readonly [number, number] | undefined {
  const [, level, number] = key
  const point = middleOf({ level: Number(level), number: Number(number) })
  if (!inBoxes([area], point)) return undefined
  if (type !== undefined || path.path !== '/' || !path.below) {
    const text = value ?? cellValue(snapshot, key)
    const located = decodeLocated(text)
    if (!inRange(located.path, path)) return undefined
    if (type !== undefined && !isOfType(snapshot, tenant, located, type)) return undefined
  }
  return [rounded(point.longitude), rounded(point.latitude)]
}

function cellValue(snapshot: Snapshot, key: Key): string {
  for (const { value } of snapshot.entries('cells', { start: key })) return value
  throw new Error('a key of the index of cells has no value')
}

function isOfType(
  snapshot: Snapshot,
  tenant: Tenant,
  { id, path }: ReturnType<typeof decodeLocated>,
  type: EntityType,
): boolean {
  for (const { key } of snapshot.entries('ids', idInPath(tenant, id as EntityId, path)))
    if (key[3] === type) return true
  return false
}
