import { Slices } from '../../slices.js'
import type { Entity, EntityId, EntityType, ServicePath, Tenant } from './entity.js'
import type { Filter } from './filter.js'
import type { Area } from './geo/area.js'
import type { Place } from './geo/place.js'
import type { OrderKey } from './order.js'

/** A service path, alone or with everything below it (`/a/#`) [context 5.2]. */
export interface PathRange {
  readonly path: ServicePath
  readonly below: boolean
}

/** A range of service paths as a header names it. */
export function pathRangeText({ path, below }: PathRange): string {
  if (!below) return path
  return path === '/' ? '/#' : `${path}/#`
}

/**
 * The ids and types that a query asks for. A pattern may match anywhere; without type and type pattern every type is meant
 * [context 7.2].
 */
export interface Selector {
  readonly id:
    | { readonly kind: 'exact'; readonly id: EntityId }
    | { readonly kind: 'pattern'; readonly pattern: string }
    | { readonly kind: 'any' }
  readonly type: EntityType | undefined
  /** A pattern for the type; only where no type is given [NGSIv2 context 8.1, 11.2]. */
  readonly typePattern?: string
}

/** The ids of a pattern. Clients write `.*` for all ids. An index counts entities of any id, but not those of a pattern. */
export function idMeant(pattern: string): Selector['id'] {
  return pattern === '.*' ? { kind: 'any' } : { kind: 'pattern', pattern }
}

/** A condition that every result has to meet [context 7.4]. */
export type Scope =
  | { readonly kind: 'typed' }
  | { readonly kind: 'untyped' }
  | { readonly kind: 'area'; readonly area: Area }
  | { readonly kind: 'place'; readonly place: Place }
  | { readonly kind: 'filter'; readonly filter: Filter }
  /** The type is one of these [NGSIv2 context 8.1]. */
  | { readonly kind: 'types'; readonly types: readonly EntityType[] }

/** The query of queryContext and of all convenience reads; plain data, so that it can be sent to a query thread. */
export interface Query {
  readonly tenant: Tenant
  /** Results are in one of them. */
  readonly paths: readonly PathRange[]
  /** Results match one of them. */
  readonly selectors: readonly Selector[]
  /** A result has at least one of these attributes and shows no others; empty for any [context 7.3]. */
  readonly attributes: readonly string[]
  /** The attributes that results show, whichever of them they have [NGSIv2 context 7.1]; absent: those of `attributes`. */
  readonly shown?: readonly string[]
  /** Results meet all of them. */
  readonly scopes: readonly Scope[]
  /** Empty for the order of creation. */
  readonly order: readonly OrderKey[]
  readonly offset: number
  readonly limit: number
  /** Whether the number of all results is asked for [context 7.6]. */
  readonly counted: boolean
}

/** One page of results, and the number of all if it was asked for. */
export interface Page {
  readonly entities: Entities
  readonly count: number | undefined
}

/** Entities one after the other. They may be made one by one as they are asked for, so that few are in memory. */
export interface Entities extends Iterable<Entity> {
  readonly length: number
}

/** Gathers all of them, giving way to other work of the thread meanwhile. */
export async function gathered(entities: Entities): Promise<readonly Entity[]> {
  if (Array.isArray(entities)) return entities
  const all: Entity[] = []
  const slices = new Slices()
  for (const entity of entities) {
    all.push(entity)
    if (slices.isOver) await slices.next()
  }
  return all
}

/** Why a query can never be answered as it is. */
export type QueryRefusal =
  /** The page, or the values to sort for it, would take more memory than a response may. */
  | { readonly kind: 'pageTooLarge' }
  /** Matching a single entity against its expressions and filters would take too long. */
  | { readonly kind: 'queryTooCostly' }
  /** What was acknowledged is not written where queries read: the disk is full, or a partition is being opened again. */
  | { readonly kind: 'notApplied' }

export function inPaths(path: ServicePath, ranges: readonly PathRange[]): boolean {
  return ranges.some((range) => inRange(path, range))
}

export function inRange(path: ServicePath, range: PathRange): boolean {
  return path === range.path || (range.below && under(path, range.path))
}

function under(path: ServicePath, top: ServicePath): boolean {
  return top === '/' || (path.startsWith(top) && path.charCodeAt(top.length) === 47)
}

/** More names than this are looked up in a set. */
const fewNames = 8

/**
 * The attributes of an entity that a query shows: all instances of the named ones; all attributes without names, or with `*`
 * among them [context 7.3].
 */
export function shownAttributes<Shown extends { readonly name: string }>(
  { attributes }: { readonly attributes: readonly Shown[] },
  names: readonly string[],
): readonly Shown[] {
  if (names.length === 0 || names.includes('*')) return attributes
  if (names.length <= fewNames) return attributes.filter(({ name }) => names.includes(name))
  const shown = new Set(names)
  return attributes.filter(({ name }) => shown.has(name))
}
