import { type Effort, unbounded } from './effort.js'
import type { Entity, EntityId, EntityType } from './entity.js'
import { compileFilter } from './filter.js'
import { compileArea } from './geo/compile-area.js'
import { compilePlace } from './geo/compile-place.js'
import type { GeoShape } from './geo/geo-shape.js'
import { locationOf } from './location.js'
import { acceptedPattern, type Pattern } from './pattern.js'
import { inPaths, type Query, type Scope, type Selector } from './query.js'

/**
 * What tells whether an entity is a result of the query: it lives in one of the paths, matches a selector, has one of the
 * attributes named, if any are, and satisfies every scope [context 7.2]. What costs little is asked first. An entity for
 * which that takes more than the effort has left is none.
 */
export function compileQuery(query: Query, effort = unbounded()): (entity: Entity) => boolean {
  const tests: readonly Test[] = [
    ...query.scopes.filter(({ kind }) => isCheap(kind)).map((scope) => compileScope(scope, effort)),
    ({ path }) => inPaths(path, query.paths),
    compileSelectors(query.selectors, effort),
    ...attributeTests(query.attributes),
    ...query.scopes.filter(({ kind }) => !isCheap(kind)).map((scope) => compileScope(scope, effort)),
  ]
  return (entity) => tests.every((test) => test(entity))
}

type Test = (entity: Entity) => boolean

/** What selectors look at. */
type Identified = Pick<Entity, 'id' | 'type'>

function isCheap(kind: Scope['kind']): boolean {
  return kind === 'typed' || kind === 'untyped'
}

function compileScope(scope: Scope, effort: Effort): Test {
  switch (scope.kind) {
    case 'typed':
      return ({ type }) => type !== ''
    case 'untyped':
      return ({ type }) => type === ''
    case 'area':
      return located(compileArea(scope.area, effort))
    case 'place':
      return located(compilePlace(scope.place, effort))
    case 'filter':
      return compileFilter(scope.filter, effort)
  }
}

/**
 * What tells whether an entity matches one of the selectors; a selector without type means every type. Exact ids are
 * looked up, so that a query for many costs no more for each entity than a query for one.
 */
export function compileSelectors(
  selectors: readonly Selector[],
  effort = unbounded(),
): (entity: Identified) => boolean {
  const byId = new Map<EntityId, Set<EntityType | undefined>>()
  const searches: ((entity: Identified) => boolean)[] = []
  for (const { id, type } of selectors) {
    if (id.kind === 'exact') byId.set(id.id, (byId.get(id.id) ?? new Set()).add(type))
    else searches.push(compileSearch(id, type, effort))
  }
  return (entity) => {
    const types = byId.get(entity.id)
    if (types !== undefined && (types.has(entity.type) || types.has(undefined))) return true
    return searches.some((search) => search(entity))
  }
}

/**
 * What tells whether an entity of an id may be a result, whatever its type: for indexes that know the id, so that the
 * record of an entity is read only if it may be.
 */
export function compileIds(selectors: readonly Selector[], effort = unbounded()): (id: EntityId) => boolean {
  const exact = new Set<EntityId>()
  const patterns: Pattern[] = []
  for (const { id } of selectors) {
    if (id.kind === 'any') return () => true
    if (id.kind === 'exact') exact.add(id.id)
    else patterns.push(acceptedPattern(id.pattern))
  }
  return (id) => exact.has(id) || patterns.some((pattern) => finds(pattern, id, effort))
}

function compileSearch(
  id: Exclude<Selector['id'], { kind: 'exact' }>,
  type: EntityType | undefined,
  effort: Effort,
): (entity: Identified) => boolean {
  const ofType = (entity: Identified) => type === undefined || entity.type === type
  if (id.kind === 'any') return ofType
  const pattern = acceptedPattern(id.pattern)
  return (entity) => ofType(entity) && finds(pattern, entity.id, effort)
}

function finds(pattern: Pattern, id: EntityId, effort: Effort): boolean {
  return effort.spend(pattern.steps(id.length)) && pattern.test(id)
}

/** What has no location is nowhere, and nowhere else [context 7.4.1], [NGSIv2 context 10.4]. */
function located(holds: (location: GeoShape) => boolean): Test {
  return (entity) => {
    const location = locationOf(entity)
    return location !== undefined && holds(location)
  }
}

/** No names, or `*` among them, ask for nothing [context 7.3]. */
function attributeTests(names: readonly string[]): readonly Test[] {
  if (names.length === 0 || names.includes('*')) return []
  const wanted = new Set(names)
  return [({ attributes }) => attributes.some(({ name }) => wanted.has(name))]
}
