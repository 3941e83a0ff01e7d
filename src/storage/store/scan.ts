import type { EntityId, EntityType, Tenant } from '../../model/context/entity.js'
import { coverOf } from '../../model/context/geo/cells.js'
import { compileIds, compileQuery } from '../../model/context/match.js'
import { CompiledPatterns, literalPrefix } from '../../model/context/pattern.js'
import { inPaths, type Query, type QueryRefusal } from '../../model/context/query.js'
import { maxSteps, StepBudget } from '../../model/context/step-budget.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices, Slices, type Steps, sortedInSteps } from '../../slices.js'
import { mergeSorted } from './merge-sorted.js'
import { type Candidate, costInEntries, type Snapshot } from './partition-reader.js'
import { CreationPage, type RecordPage, SortedPage } from './result-page.js'

/** Index entries between two looks at the clock, where each costs little. */
const stride = 64

const pageTooLarge = err({ kind: 'pageTooLarge' } as const)

export interface ScanLimits {
  /** The limit of the records of the page, of what is kept to sort results, and of the index entries of exact ids, for each of them. */
  readonly page_bytes: number
  /** Lets other work of the thread run between slices. */
  readonly giveWay?: () => Promise<void>
}

/**
 * One page of what a query matches, over the snapshots of all partitions, in the order of creation or the one asked
 * for. Reads from the narrowest index that has all results, and no further than the page needs, unless all results are
 * to be counted or sorted [context 7]. Refuses what takes more memory or steps than a query may, before it takes it.
 */
export async function scan(
  snapshots: readonly Snapshot[],
  query: Query,
  { page_bytes, giveWay }: ScanLimits,
): Promise<Result<RecordPage, QueryRefusal>> {
  const slices = new Slices(giveWay)
  const counted = query.counted ? await inSlices(quickCount(snapshots, query), slices) : undefined
  const page =
    query.order.length === 0 ? new CreationPage(query, counted, page_bytes) : new SortedPage(query, page_bytes)
  const budget = new StepBudget(maxSteps)
  const patterns = new CompiledPatterns()
  const matches = compileQuery(query, budget, patterns)
  const plain = isPlain(query)
  const mayMatch = compileIds(query.selectors, budget, patterns)
  const found = await streams(snapshots, query, page_bytes, slices)
  if (found === undefined) return pageTooLarge
  let unlooked = 0
  let last = -1
  for (const candidate of mergeSorted(found, (a, b) => a.sequence - b.sequence)) {
    if (candidate.sequence === last) continue // It was there before, in this stream or another one.
    last = candidate.sequence
    unlooked += plain ? 1 + costInEntries(candidate.characters) : stride
    if (unlooked >= stride) {
      unlooked = 0
      if (slices.isOver) await slices.next()
    }
    if (!inPaths(candidate.path, query.paths)) continue
    budget.renew()
    if (!mayMatch(candidate.id)) {
      if (budget.isSpent) return err({ kind: 'queryTooCostly' })
      continue
    }
    if (plain && page.skips()) continue
    const text = candidate.read()
    unlooked += costInEntries(text.length)
    const entity = candidate.decode(text)
    const isResult = matches(entity)
    if (budget.isSpent) return err({ kind: 'queryTooCostly' })
    if (!isResult) continue
    const taken = page.take({ candidate, text, entity })
    if (taken === 'tooLarge') return pageTooLarge
    if (taken === 'full') break
  }
  const whole = await inSlices(page.page(), slices)
  return whole === undefined ? pageTooLarge : ok(whole)
}

/**
 * Streams of candidates, each in the order of creation, that together have every result. Those of exact ids, and those of
 * an index that has few, are gathered and sorted first: nothing when those of exact ids take too much memory.
 */
async function streams(
  snapshots: readonly Snapshot[],
  query: Query,
  limit_bytes: number,
  slices: Slices,
): Promise<readonly Iterator<Candidate>[] | undefined> {
  const { tenant, selectors, counted, order } = query
  const types = new Set<EntityType>()
  const ids = new Set<EntityId>()
  let isAnyType = false
  for (const { id, type } of selectors) {
    if (id.kind === 'exact') ids.add(id.id)
    else if (type === undefined) isAnyType = true
    else types.add(type)
  }
  const most = Math.floor(limit_bytes / candidate_bytes)
  if (isAnyType || types.size > 0) {
    // Where all have to be looked at, an index is worth it however many it has.
    const narrow = await inSlices(narrowed(snapshots, query, counted || order.length > 0 ? most : worthSorting), slices)
    const few = narrow && (await gathered(narrow, most, slices))
    if (few !== undefined) return [few]
  }
  if (isAnyType) return snapshots.map((snapshot) => snapshot.all(tenant))
  const byType = snapshots.flatMap((snapshot) => [...types].map((type) => snapshot.ofType(tenant, type)))
  if (ids.size === 0) return byType
  const byId = await gathered(
    snapshots.map((snapshot) => ofIds(snapshot, tenant, ids)),
    most,
    slices,
  )
  return byId && [byId, ...byType]
}

function* ofIds(snapshot: Snapshot, tenant: Tenant, ids: ReadonlySet<EntityId>): Generator<Candidate> {
  for (const id of ids) yield* snapshot.ofId(tenant, id)
}

/** The number of candidates that take about as long to gather and sort as a page of an ordered index. */
const worthSorting = 2048

/**
 * Candidates of an index that has every result and no more than this many entries: of where entities are, or of how their ids
 * begin. Nothing when there is none.
 */
function* narrowed(
  snapshots: readonly Snapshot[],
  { tenant, selectors, scopes }: Query,
  most: number,
): Steps<readonly Iterable<Candidate>[] | undefined> {
  const cover = coverOf(scopes)
  if (cover !== undefined) {
    const left = yield* leftOf(most, snapshots, (snapshot, limit) => snapshot.countInCells(tenant, cover, limit))
    if (left >= 0) return snapshots.map((snapshot) => snapshot.inCells(tenant, cover))
  }
  const ids = new Set<EntityId>()
  const typed: TypedPrefix[] = []
  for (const { id, type } of selectors) {
    const prefix = id.kind === 'pattern' ? literalPrefix(id.pattern) : undefined
    if (id.kind === 'exact') ids.add(id.id)
    else if (prefix === undefined) return undefined
    else typed.push({ prefix, type })
  }
  const prefixes = shortestOf(typed)
  let left = most
  for (const { prefix } of prefixes) {
    left = yield* leftOf(left, snapshots, (snapshot, limit) => snapshot.countWithPrefix(tenant, prefix, limit))
    if (left < 0) return undefined
  }
  return snapshots.flatMap((snapshot) => [
    ofIds(snapshot, tenant, ids),
    ...prefixes.map(({ prefix, types }) => snapshot.withPrefix(tenant, prefix, types)),
  ])
}

/** What is left of a number of entries behind those of all snapshots, each counted up to what is left; negative when there are more. */
function* leftOf(
  most: number,
  snapshots: readonly Snapshot[],
  count: (snapshot: Snapshot, limit: number) => Steps<number>,
): Steps<number> {
  let left = most
  for (const snapshot of snapshots) {
    left -= yield* count(snapshot, left + 1)
    if (left < 0) return left
    yield
  }
  return left
}

interface TypedPrefix {
  readonly prefix: string
  readonly type: EntityType | undefined
}

interface PrefixOfTypes {
  readonly prefix: string
  /** Undefined for every type. */
  readonly types: ReadonlySet<EntityType> | undefined
}

/** The prefixes that do not begin with another one, so that no entry of an index is read twice; each with the types of all that begin with it. */
function shortestOf(typed: readonly TypedPrefix[]): readonly PrefixOfTypes[] {
  const typesOf = new Map<string, Set<EntityType | undefined>>()
  let shortest: string | undefined
  for (const { prefix, type } of [...typed].sort((a, b) => (a.prefix < b.prefix ? -1 : Number(a.prefix > b.prefix)))) {
    if (shortest === undefined || !prefix.startsWith(shortest)) shortest = prefix
    const types = typesOf.get(shortest)
    if (types === undefined) typesOf.set(shortest, new Set([type]))
    else types.add(type)
  }
  return [...typesOf].map(([prefix, types]) => {
    const given = [...types].filter((type) => type !== undefined)
    return { prefix, types: given.length < types.size ? undefined : new Set(given) }
  })
}

/** All candidates in the order of creation, some of them more than once; undefined when there are more than the limit. */
async function gathered(
  found: readonly Iterable<Candidate>[],
  most: number,
  slices: Slices,
): Promise<Iterator<Candidate> | undefined> {
  const candidates: Candidate[] = []
  for (const stream of found) {
    for (const candidate of stream) {
      if (candidates.length === most) return undefined
      candidates.push(candidate)
      if (candidates.length % stride === 0 && slices.isOver) await slices.next()
    }
  }
  const sorted = await inSlices(
    sortedInSteps(candidates, (a, b) => a.sequence - b.sequence),
    slices,
  )
  return sorted.values()
}

/** The memory of an entry of the index of ids, with its id and path. */
const candidate_bytes = 250

/** Whether every id of the types asked for is a result: no attributes named, no scopes. */
function isPlain({ selectors, attributes, scopes }: Query): boolean {
  const isAnyId = selectors.every(({ id, typePattern }) => id.kind === 'any' && typePattern === undefined)
  return attributes.length === 0 && scopes.length === 0 && isAnyId
}

/** The number of all results where the counts of types tell it. */
function* quickCount(snapshots: readonly Snapshot[], query: Query): Steps<number | undefined> {
  if (!isPlain(query)) return undefined
  const { selectors, tenant, paths } = query
  const types = selectors.some(({ type }) => type === undefined)
    ? undefined
    : new Set(selectors.map(({ type }) => type))
  let count = 0
  let entries = 0
  for (const snapshot of snapshots) {
    for (const entry of snapshot.typeCounts(tenant)) {
      entries += 1
      if (entries % stride === 0) yield
      if (entry.attribute !== undefined || !inPaths(entry.path, paths)) continue
      if (types === undefined || types.has(entry.type)) count += entry.count
    }
  }
  return count
}
