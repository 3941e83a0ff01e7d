import type { Entity, EntityId, EntityType, ServicePath, Tenant } from './entity.js'
import type { Filter } from './filter.js'
import type { OrderKey } from './order.js'
import type { Area } from './surface.js'

/** A service path, alone or with everything under it (`/a/#`) [context 5.2]. */
export interface PathRange {
  readonly path: ServicePath
  readonly below: boolean
}

/** Which ids and types a query asks for. A pattern is searched anywhere in the id; no type means any [context 7.2]. */
export interface Selector {
  readonly id:
    | { readonly kind: 'exact'; readonly id: EntityId }
    | { readonly kind: 'pattern'; readonly pattern: string }
    | { readonly kind: 'any' }
  readonly type: EntityType | undefined
}

/** A condition that every result has to meet [context 7.4]. */
export type Scope =
  | { readonly kind: 'typed' }
  | { readonly kind: 'untyped' }
  | { readonly kind: 'area'; readonly area: Area }
  | { readonly kind: 'filter'; readonly filter: Filter }

/** What queryContext and every convenience read ask for; plain data, so that it can cross to a query thread. */
export interface Query {
  readonly tenant: Tenant
  /** An entity in one of them is meant. */
  readonly paths: readonly PathRange[]
  /** An entity that one of them matches is meant. */
  readonly selectors: readonly Selector[]
  /** Names of the attributes to show; empty for all. */
  readonly attributes: readonly string[]
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
  readonly entities: readonly Entity[]
  readonly count: number | undefined
}

/** Whether an entity's path lies in one of the ranges. */
export function inPaths(path: ServicePath, ranges: readonly PathRange[]): boolean {
  return ranges.some((range) => path === range.path || (range.below && under(path, range.path)))
}

function under(path: ServicePath, top: ServicePath): boolean {
  return top === '/' || (path.startsWith(top) && path.charCodeAt(top.length) === 47)
}

/**
 * The attributes of an entity that a query shows: those named, all instances of each; all without names, or with `*`
 * among them [context 7.3].
 */
export function shownAttributes<Shown extends { readonly name: string }>(
  { attributes }: { readonly attributes: readonly Shown[] },
  names: readonly string[],
): readonly Shown[] {
  if (names.length === 0 || names.includes('*')) return attributes
  const isNamed = names.length > 8 ? new Set(names) : undefined
  return attributes.filter(({ name }) => (isNamed ? isNamed.has(name) : names.includes(name)))
}
