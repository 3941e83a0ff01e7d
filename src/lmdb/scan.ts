import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Entity, EntityId, EntityType } from '../context/entity.js'
import { compileIds, compileQuery } from '../context/match.js'
import { compareEntities } from '../context/order.js'
import { inPaths, type Page, type Query } from '../context/query.js'
import type { Candidate, Snapshot } from './partition-reader.js'

/** A scan gives way to others of its thread after this time. */
const slice_ms = 5

/** Candidates between two looks at the clock. */
const stride = 64

/**
 * One page of what a query matches, over the snapshots of all partitions, in the order of creation or the one asked
 * for. Reads from the narrowest index that has all results, and no further than the page needs, unless all results are
 * to be counted or sorted [context 7]. `giveWay` lets others run between two slices; when it fails, the scan ends so.
 */
export async function scan(
  snapshots: readonly Snapshot[],
  query: Query,
  giveWay: () => Promise<void> = nextTurn,
): Promise<Page> {
  const counted = query.counted ? quickCount(snapshots, query) : undefined
  const page = query.order.length === 0 ? new CreationPage(query, counted) : new SortedPage(query)
  const matches = compileQuery(query)
  const plain = isPlain(query)
  const mayMatch = compileIds(query.selectors)
  let began = performance.now()
  let looked = 0
  for (const candidate of merged(snapshots.flatMap((snapshot) => streams(snapshot, query)))) {
    looked += 1
    if (looked % stride === 0 && performance.now() - began > slice_ms) {
      await giveWay()
      began = performance.now()
    }
    if (!inPaths(candidate.path, query.paths) || !mayMatch(candidate.id)) continue
    if (plain && page.skips()) continue
    const entity = candidate.load()
    if (entity === undefined || !matches(entity)) continue
    if (page.isFull(entity)) break
  }
  return page.page()
}

/** Gathers the page of results that come in their order already. */
class CreationPage {
  readonly #query: Query
  readonly #known: number | undefined
  readonly #entities: Entity[] = []
  #count = 0

  constructor(query: Query, known: number | undefined) {
    this.#query = query
    this.#known = known
  }

  /** Passes over one result before the page. */
  skips(): boolean {
    if (this.#count >= this.#query.offset) return false
    this.#count += 1
    return true
  }

  /** Takes one more result; says whether the rest is of no interest. */
  isFull(entity: Entity): boolean {
    const { offset, limit, counted } = this.#query
    if (this.#count >= offset && this.#entities.length < limit) this.#entities.push(entity)
    this.#count += 1
    return this.#entities.length >= limit && (!counted || this.#known !== undefined)
  }

  page(): Page {
    return { entities: this.#entities, count: this.#query.counted ? (this.#known ?? this.#count) : undefined }
  }
}

/** Gathers the first results in an order that is known only when all have been seen; holds about twice the page. */
class SortedPage {
  readonly #query: Query
  readonly #compare: (a: Entity, b: Entity) => number
  #best: Entity[] = []
  #count = 0

  constructor(query: Query) {
    this.#query = query
    this.#compare = compareEntities(query.order)
  }

  skips(): boolean {
    return false
  }

  isFull(entity: Entity): boolean {
    this.#best.push(entity)
    this.#count += 1
    if (this.#best.length >= 2 * this.#wanted + stride) this.#cut()
    return false
  }

  page(): Page {
    this.#cut()
    return {
      entities: this.#best.slice(this.#query.offset),
      count: this.#query.counted ? this.#count : undefined,
    }
  }

  get #wanted(): number {
    return this.#query.offset + this.#query.limit
  }

  #cut(): void {
    this.#best = this.#best.sort(this.#compare).slice(0, this.#wanted)
  }
}

/** Streams of candidates, each in the order of creation, that together have every result of a partition. */
function streams(snapshot: Snapshot, { tenant, selectors }: Query): readonly Iterator<Candidate>[] {
  const types = new Set<EntityType>()
  const ids = new Set<EntityId>()
  for (const { id, type } of selectors) {
    if (id.kind === 'exact') ids.add(id.id)
    else if (type === undefined) return [snapshot.all(tenant)]
    else types.add(type)
  }
  const byType = [...types].map((type) => snapshot.ofType(tenant, type))
  return ids.size === 0 ? byType : [snapshot.ofIds(tenant, ids).values(), ...byType]
}

/** Merges streams by place. What several of them have comes once. */
function* merged(streams: readonly Iterator<Candidate>[]): Generator<Candidate> {
  const heads = streams.map((stream) => ({ stream, candidate: next(stream) }))
  try {
    for (let first = lowest(heads); first; first = lowest(heads)) {
      yield first
      for (const head of heads) {
        if (head.candidate?.place === first.place) head.candidate = next(head.stream)
      }
    }
  } finally {
    for (const { stream } of heads) stream.return?.() // Gives the cursors back when the page was full before the end.
  }
}

function lowest(heads: readonly { readonly candidate: Candidate | undefined }[]): Candidate | undefined {
  let first: Candidate | undefined
  for (const { candidate } of heads) {
    if (candidate && (first === undefined || candidate.place < first.place)) first = candidate
  }
  return first
}

function next(stream: Iterator<Candidate>): Candidate | undefined {
  const { value, done } = stream.next()
  return done ? undefined : value
}

/** Whether every id of the types asked for is a result: no attributes named, no scopes. */
function isPlain({ selectors, attributes, scopes }: Query): boolean {
  return attributes.length === 0 && scopes.length === 0 && selectors.every(({ id }) => id.kind === 'any')
}

/** The number of all results where the counts of types tell it. */
function quickCount(snapshots: readonly Snapshot[], query: Query): number | undefined {
  if (!isPlain(query)) return undefined
  const { selectors, tenant, paths } = query
  const types = selectors.some(({ type }) => type === undefined)
    ? undefined
    : new Set(selectors.map(({ type }) => type))
  let count = 0
  for (const snapshot of snapshots) {
    for (const entry of snapshot.counts(tenant)) {
      if (entry.attribute !== undefined || !inPaths(entry.path, paths)) continue
      if (types === undefined || types.has(entry.type)) count += entry.count
    }
  }
  return count
}
