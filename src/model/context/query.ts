import { Slices } from '../../slices.js'
import type { Entity, EntityId, EntityType, ServicePath, Tenant } from './entity.js'
import type { Filter } from './filter.js'
import type { Area } from './geo/area.js'
import type { Place } from './geo/place.js'
import type { OrderKey } from './order.js'

/** A service path, alone or with everything under it (`/a/#`) [context 5.2]. */
export interface PathRange {
  readonly path: ServicePath
  readonly below: boolean
}

/** Which ids and types a query asks for. Patterns are searched anywhere; without a type, and a pattern for it, any is meant [context 7.2]. */
export interface Selector {
  readonly id:
    | { readonly kind: 'exact'; readonly id: EntityId }
    | { readonly kind: 'pattern'; readonly pattern: string }
    | { readonly kind: 'any' }
  readonly type: EntityType | undefined
  /** What the type has to match; only where no type is given [NGSIv2 context 8.1, 11.2]. */
  readonly typePattern?: string
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

/** What queryContext and every convenience read ask for; plain data, so that it can cross to a query thread. */
export interface Query {
  readonly tenant: Tenant
  /** An entity in one of them is meant. */
  readonly paths: readonly PathRange[]
  /** An entity that one of them matches is meant. */
  readonly selectors: readonly Selector[]
  /** Names of attributes of which a result has one at least, and shows no others; empty for any [context 7.3]. */
  readonly attributes: readonly string[]
  /** Names of the attributes that results show, whichever of them they have [NGSIv2 context 7.1]; else the others. */
  readonly shown?: readonly string[]
  /** All must hold. */
  readonly scopes: readonly Scope[]
  /** Empty for the order of creation. */
  readonly order: readonly OrderKey[]
  readonly offset: number
  readonly limit: number
  /** Whether the number of all results is asked for [context 7.6]. */
  readonly counted: boolean
}

/** What a query gives: one page, and the number of all results if it was asked for. */
export interface Page {
  readonly entities: Entities
  readonly count: number | undefined
}

/** Entities one after the other. They may be made one by one as they are asked for, so that few are in memory. */
export interface Entities extends Iterable<Entity> {
  readonly length: number
}

/** All of them at once; other work of the thread goes on meanwhile. */
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

/** Why a query cannot be answered as it is, whenever it is asked. */
export type QueryRefusal =
  /** The page, or what has to be sorted for it, takes more memory than a response may. */
  | { readonly kind: 'pageTooLarge' }
  /** To match its expressions and filters with one of the entities takes too long. */
  | { readonly kind: 'queryTooCostly' }

/** Whether an entity's path lies in one of the ranges. */
export function inPaths(path: ServicePath, ranges: readonly PathRange[]): boolean {
  return ranges.some((range) => inRange(path, range))
}

/** As `inPaths` with one range. */
export function inRange(path: ServicePath, range: PathRange): boolean {
  return path === range.path || (range.below && under(path, range.path))
}

function under(path: ServicePath, top: ServicePath): boolean {
  return top === '/' || (path.startsWith(top) && path.charCodeAt(top.length) === 47)
}

/** More names are looked up. */
const fewNames = 8

/**
 * The attributes of an entity that a query shows: those named, all instances of each; all without names, or with `*`
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
