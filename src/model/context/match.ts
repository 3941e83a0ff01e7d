import type { Entity, EntityId, EntityType } from './entity.js'
import { compileFilter } from './filter.js'
import { compileArea, compilePlace } from './geo/compile.js'
import type { GeoShape } from './geo/shape.js'
import { locationOf } from './location.js'
import { CompiledPatterns, type Pattern } from './pattern.js'
import { inPaths, type Query, type Scope, type Selector } from './query.js'
import { type StepBudget, unbounded } from './step-budget.js'

/**
 * Compiles a query to a test of entities: the entity is in one of the paths, matches a selector, has one of the named attributes,
 * if any are named, and meets every scope [context 7.2]. Cheap conditions are tested first. An entity that takes more steps than
 * the budget has left is no result.
 */
export function compileQuery(
  query: Query,
  budget = unbounded(),
  patterns = new CompiledPatterns(),
): (entity: Entity) => boolean {
  const tests: readonly Test[] = [
    ...query.scopes.flatMap(typeTests),
    ({ path }) => inPaths(path, query.paths),
    compileSelectors(query.selectors, budget, patterns),
    ...attributeTests(query.attributes),
    ...query.scopes.flatMap((scope) => contentTests(scope, budget, patterns)),
  ]
  return (entity) => tests.every((test) => test(entity))
}

/** Compiles the conditions on id and type to a test. */
export function compileHeads(
  { scopes, selectors }: Pick<Query, 'scopes' | 'selectors'>,
  budget = unbounded(),
): (entity: Identified) => boolean {
  const tests = [...scopes.flatMap(typeTests), compileSelectors(selectors, budget)]
  return (entity) => tests.every((test) => test(entity))
}

type Test = (entity: Entity) => boolean

type Identified = Pick<Entity, 'id' | 'type'>

/** The conditions of a scope on the type of an entity. */
function typeTests(scope: Scope): readonly ((entity: Identified) => boolean)[] {
  switch (scope.kind) {
    case 'typed':
      return [({ type }) => type !== '']
    case 'untyped':
      return [({ type }) => type === '']
    case 'types': {
      const types = new Set(scope.types)
      return [({ type }) => types.has(type)]
    }
    default:
      return []
  }
}

/** The conditions of a scope on the attributes of an entity. */
function contentTests(scope: Scope, budget: StepBudget, patterns: CompiledPatterns): readonly Test[] {
  switch (scope.kind) {
    case 'area':
      return [located(compileArea(scope.area, budget))]
    case 'place':
      return [located(compilePlace(scope.place, budget))]
    case 'filter':
      return [compileFilter(scope.filter, budget, patterns)]
    default:
      return []
  }
}

/**
 * Compiles selectors to a test whether an entity matches one of them; a selector without type means every type. Exact ids are
 * looked up, so that a query for many ids costs no more per entity than a query for one.
 */
export function compileSelectors(
  selectors: readonly Selector[],
  budget = unbounded(),
  patterns = new CompiledPatterns(),
): (entity: Identified) => boolean {
  const byId = new Map<EntityId, TypesMeant>()
  const byPattern = new Map<string, TypesMeant>()
  for (const { id, type, typePattern } of selectors) {
    if (id.kind === 'exact') typesOf(byId, id.id, budget).add(type, typePattern, patterns)
    else typesOf(byPattern, id.kind === 'any' ? anyId : id.pattern, budget).add(type, typePattern, patterns)
  }
  const searches = [...byPattern].map(([pattern, types]) => ({ pattern: patterns.of(pattern), types }))
  return (entity) => {
    if (byId.get(entity.id)?.has(entity.type) === true) return true
    return searches.some(({ pattern, types }) => types.has(entity.type) && finds(pattern, entity.id, budget))
  }
}

/** The pattern that every id matches. */
const anyId = ''

function typesOf<Key>(types: Map<Key, TypesMeant>, key: Key, budget: StepBudget): TypesMeant {
  const meant = types.get(key) ?? new TypesMeant(budget)
  types.set(key, meant)
  return meant
}

/** The union of the types of all selectors of one id, or of one pattern of ids. */
class TypesMeant {
  readonly #budget: StepBudget
  readonly #exact = new Set<EntityType>()
  readonly #patterns = new Map<string, Pattern>()
  #isAny = false

  constructor(budget: StepBudget) {
    this.#budget = budget
  }

  add(type: EntityType | undefined, pattern: string | undefined, patterns: CompiledPatterns): void {
    if (type !== undefined) this.#exact.add(type)
    else if (pattern === undefined) this.#isAny = true
    else this.#patterns.set(pattern, patterns.of(pattern))
  }

  has(type: EntityType): boolean {
    if (this.#isAny || this.#exact.has(type)) return true
    for (const pattern of this.#patterns.values()) if (finds(pattern, type, this.#budget)) return true
    return false
  }
}

/**
 * Compiles a test whether an entity of an id may be a result, whatever its type: indexes know the id and read the record of an
 * entity only if it may be one.
 */
export function compileIds(
  selectors: readonly Selector[],
  budget = unbounded(),
  compiled = new CompiledPatterns(),
): (id: EntityId) => boolean {
  const exact = new Set<EntityId>()
  const expressions = new Set<string>()
  for (const { id } of selectors) {
    if (id.kind === 'any') return () => true
    if (id.kind === 'exact') exact.add(id.id)
    else expressions.add(id.pattern)
  }
  const patterns = [...expressions].map((expression) => compiled.of(expression))
  return (id) => exact.has(id) || patterns.some((pattern) => finds(pattern, id, budget))
}

function finds(pattern: Pattern, text: EntityId | EntityType, budget: StepBudget): boolean {
  return budget.spend(pattern.steps(text.length)) && pattern.test(text)
}

/** An entity without a location meets no geographical condition, inverted ones included [context 7.4.1], [NGSIv2 context 10.4]. */
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
