import { DamagedRecord } from '../../../faults.js'
import type { Entity, EntityType, ServicePath, Tenant } from '../../../model/context/entity.js'
import { type Box, boundsOfShape } from '../../../model/context/geo/bounds.js'
import { locationOf } from '../../../model/context/location.js'
import { compileIds, compileQuery } from '../../../model/context/match.js'
import { CompiledPatterns } from '../../../model/context/pattern.js'
import { inPaths, type PathRange, type Query, type QueryRefusal } from '../../../model/context/query.js'
import { maxSteps, StepBudget } from '../../../model/context/step-budget.js'
import { err, ok, type Result } from '../../../result.js'
import { inSlices, type Slices, type Steps } from '../../../slices.js'
import type { Snapshot } from '../partition-reader.js'
import { entriesAfter, type Position, type Positioned, rounded, type WalkedIndex } from './walk.js'

/** Which entities a page shows: all that is given has to hold. */
export interface BrowseQuery {
  readonly tenant: Tenant
  readonly type: EntityType | undefined
  /** The prefix of the id. */
  readonly prefix: string | undefined
  /** A regular expression that was accepted, which matches somewhere in the id. */
  readonly pattern: string | undefined
  readonly path: PathRange
  /** The name of an attribute that the entity must have. */
  readonly attribute: string | undefined
  /** The area in which its location lies, at least partly. */
  readonly area: Box | undefined
  readonly limit: number
  /** Whether the first page has the total. */
  readonly counted: boolean
  /** The index entry behind which the page begins. */
  readonly after: Cursor | undefined
}

/** Where a page ended: the entry of its index that was looked at last. */
export interface Cursor {
  readonly index: WalkedIndex
  readonly position: Position
}

export interface BrowsedPage {
  readonly entities: readonly BrowsedEntity[]
  /** Where the next page begins; undefined at the end. A short or empty page need not be the last. */
  readonly next: Cursor | undefined
  /** The number of index entries that were read. */
  readonly looked: number
  /** On the first page, the total, exact or estimated; undefined where counting would take a scan. */
  readonly total: { readonly count: number; readonly exact: boolean } | undefined
}

/** An entity in a list. */
export interface BrowsedEntity extends Pick<Entity, 'id' | 'type' | 'path' | 'created' | 'modified'> {
  readonly attributes: number
  /** The first names. */
  readonly names: readonly string[]
  /** The middle of its location, if it has one: longitude and latitude. */
  readonly location: readonly [longitude: number, latitude: number] | undefined
}

/** The time after which a page ends, so that the next one can be requested. */
const budget_ms = 80
/** The entries that each page reads regardless of time, so that every page advances. */
const leastLooked = 256
/** Names that are shown of each entity. */
const mostNames = 12

/** One page of entities, in the order of the index that has all of them and fewest others. */
export async function browse(
  snapshots: readonly Snapshot[],
  query: BrowseQuery,
  limit_bytes: number,
  slices: Slices,
): Promise<Result<BrowsedPage, QueryRefusal>> {
  const begun_ms = performance.now()
  const budget = new StepBudget(maxSteps)
  const stored = queryOf(query)
  const patterns = new CompiledPatterns()
  const [matches, mayMatch] = [compileQuery(stored, budget, patterns), compileIds(stored.selectors, budget, patterns)]
  const { index, entries } = entriesAfter(snapshots, query)
  const entities: BrowsedEntity[] = []
  let [looked, bytes] = [0, 0]
  let last: Position | undefined
  let isMore = false
  for (const candidate of entries) {
    if (entities.length === query.limit || bytes > limit_bytes || isSpent(looked, begun_ms)) {
      isMore = true
      break
    }
    looked += 1
    last = candidate.position
    if (slices.isOver) await slices.next()
    budget.renew()
    if (isPassedOver(candidate, query) || !mayMatch(candidate.id)) {
      if (budget.isSpent) return err({ kind: 'queryTooCostly' })
      continue
    }
    const text = candidate.read()
    if (text === undefined) throw new DamagedRecord(`an index names an entity that has no record: ${candidate.id}`)
    bytes += text.length
    const entity = candidate.decode(text)
    const fits = matches(entity) && candidate.isFirst(entity) && liesIn(entity, query.area)
    if (budget.isSpent) return err({ kind: 'queryTooCostly' })
    if (fits) entities.push(shown(entity))
  }
  const next = isMore && last !== undefined ? { index, position: last } : undefined
  const isFirst = query.counted && query.after === undefined
  const total = isFirst ? await inSlices(totalOf(snapshots, query, entities, next), slices) : undefined
  return ok({ entities, next, looked, total })
}

function isSpent(looked: number, begun_ms: number): boolean {
  return looked >= leastLooked && looked % 16 === 0 && performance.now() - begun_ms > budget_ms
}

function isPassedOver({ id, path, type }: Positioned, query: BrowseQuery): boolean {
  if (!inPaths(path, [query.path])) return true
  if (query.prefix !== undefined && !id.startsWith(query.prefix)) return true
  return query.type !== undefined && type !== undefined && type !== query.type
}

function queryOf({ tenant, path, type, pattern, attribute }: BrowseQuery): Query {
  const id = pattern === undefined ? ({ kind: 'any' } as const) : ({ kind: 'pattern', pattern } as const)
  return {
    ...{ tenant, paths: [path], selectors: [{ id, type }], attributes: attribute === undefined ? [] : [attribute] },
    ...{ scopes: [], order: [], offset: 0, limit: 0, counted: false },
  }
}

function liesIn(entity: Entity, area: Box | undefined): boolean {
  if (area === undefined) return true
  const location = locationOf(entity)
  return location !== undefined && boundsOfShape(location).some((box) => meets(box, area))
}

function meets(a: Box, b: Box): boolean {
  return a.south <= b.north && a.north >= b.south && a.west <= b.east && a.east >= b.west
}

function shown(entity: Entity): BrowsedEntity {
  const { id, type, path, created, modified, attributes } = entity
  const names = [...new Set(attributes.slice(0, 2 * mostNames).map(({ name }) => name))].slice(0, mostNames)
  return { id, type, path, created, modified, attributes: attributes.length, names, location: middleOfLocation(entity) }
}

function middleOfLocation(entity: Entity): BrowsedEntity['location'] {
  const location = locationOf(entity)
  const [box] = location === undefined ? [] : boundsOfShape(location)
  return box && [rounded((box.west + box.east) / 2), rounded((box.south + box.north) / 2)]
}

/** The total: by the counts for types, paths and attributes; for prefixes and areas counted in their index, up to a limit. */
function* totalOf(
  snapshots: readonly Snapshot[],
  { tenant, type, prefix, pattern, path, attribute, area }: BrowseQuery,
  entities: readonly BrowsedEntity[],
  next: Cursor | undefined,
): Steps<BrowsedPage['total']> {
  if (next === undefined) return { count: entities.length, exact: true }
  if (prefix !== undefined || pattern !== undefined || area !== undefined) return undefined
  let count = 0
  for (const snapshot of snapshots) {
    for (const each of attribute === undefined ? snapshot.typeCounts(tenant) : snapshot.counts(tenant)) {
      yield
      if (each.attribute !== attribute || (type !== undefined && each.type !== type)) continue
      if (inPaths(each.path as ServicePath, [path])) count += each.count
    }
  }
  return { count, exact: true }
}
