import type { Steps } from '../../slices.js'
import type { EntityId, EntityType } from '../context/entity.js'
import type { Selector } from '../context/query.js'
import { compareContexts, type IndexedContext } from './contexts.js'
import { counting, type Lookup } from './discovery.js'
import { type RegisteredEntity, registrationTermsOf } from './registration.js'
import type { RegistrationIndex } from './registration-index.js'
import type { NamedEntity, TenantRegistrations } from './tenant-registrations.js'

export interface SourceLookup extends Lookup {
  readonly use: 'query' | 'update'
  /** The interface of the request. */
  readonly api: 'ngsi1' | 'ngsi2'
}

/** A context that names an entity. */
export interface RegisteredSource extends IndexedContext {
  /** The entity as it is registered there: it may stand for every id or, without type, for every type. */
  readonly named: RegisteredEntity
}

/**
 * The context whose provider is asked for an attribute of an entity: the first that names both, otherwise the first that names the entity
 * and has no attributes [subscriptions 8.1, NGSIv2 subscriptions 11.1]. Expired and inactive registrations are not asked, nor those
 * with another mode.
 *
 * A registration without type names entities of every type; but if both registration and request are of NGSIv1, only the entity without
 * type. An entity without type is named only by registrations without one.
 */
export function sourceOf(
  index: RegistrationIndex,
  lookup: SourceLookup,
  entity: RegisteredEntity,
  attribute: string,
): RegisteredSource | undefined {
  const naming = namingOf(index, lookup, entity)
  return firstHaving(naming, attribute) ?? firstHaving(naming, '')
}

/** All contexts that name an entity, in the order of creation: for queries that name no attributes [subscriptions 8.2]. */
export function sourcesOf(
  index: RegistrationIndex,
  lookup: SourceLookup,
  entity: RegisteredEntity,
): readonly RegisteredSource[] {
  const sources = new Map<IndexedContext, RegisteredSource>()
  for (const { named, counts } of namingOf(index, lookup, entity)) {
    for (const context of named.contexts) {
      if (!sources.has(context) && counts(context)) sources.set(context, { ...context, named: named.entity })
    }
  }
  return [...sources.values()].sort(compareContexts)
}

/**
 * The registered entities that a selector means, each once, with the type asked for or otherwise its registered type, in the
 * order of the contexts, in steps [subscriptions 8.2, NGSIv2 subscriptions 11.2]. Where every id is registered, an exact id gives
 * itself, and a pattern gives the entity that stands for every id. A registration of NGSIv1 for a whole type names no entity, so
 * no provider could be asked for one.
 */
export function* registeredEntities(
  index: RegistrationIndex,
  lookup: SourceLookup,
  selector: Selector,
): Steps<readonly RegisteredEntity[]> {
  const registrations = index.of(lookup.tenant)
  if (registrations === undefined) return []
  const found = new Map<string, Found>()
  for (const named of registrations.tried(selector, true)) {
    yield
    if (named === undefined || named.entity.id === '') continue
    const entity = entityMeant(selector, named.entity)
    const first = named.contexts.find(countingFor(lookup, named, entity.type))
    if (first) keepFirst(found, { entity, named, first })
  }
  return yield* inOrder(registrations, found.values())
}

/** Whether a provider may be asked for an entity of this id, of any type. */
export function isRegistered(index: RegistrationIndex, lookup: SourceLookup, id: EntityId): boolean {
  const registrations = index.of(lookup.tenant)
  if (registrations === undefined || id === '') return false
  const counts = usable(lookup)
  for (const named of registrations.tried({ id: { kind: 'exact', id }, type: undefined })) {
    if (named?.contexts.some(counts)) return true
  }
  return false
}

/** One way to name an entity, and the test of its contexts. */
interface MatchingName {
  readonly named: NamedEntity
  readonly counts: (context: IndexedContext) => boolean
}

/** The ways in which an entity may be named, the most specific first. */
function namingOf(
  index: RegistrationIndex,
  lookup: SourceLookup,
  { id, type, everyId }: RegisteredEntity,
): readonly MatchingName[] {
  const registrations = index.of(lookup.tenant)
  if (registrations === undefined) return []
  const types = type === '' ? [type] : [type, untyped]
  const ways: readonly RegisteredEntity[] = [
    ...(everyId ? [] : types.map((each) => ({ id, type: each }))),
    ...types.map((each) => ({ id, type: each, everyId: true as const })),
  ]
  return ways.flatMap((way) => {
    const named = registrations.named(way)
    return named === undefined ? [] : [{ named, counts: countingFor(lookup, named, type) }]
  })
}

const untyped = '' as EntityType

function firstHaving(naming: readonly MatchingName[], name: string): RegisteredSource | undefined {
  let first: RegisteredSource | undefined
  for (const { named, counts } of naming) {
    const context = named.having(name).find(counts)
    if (context && (first === undefined || compareContexts(context, first) < 0)) {
      first = { ...context, named: named.entity }
    }
  }
  return first
}

/** A test whether a context with such a name is asked for the entity under a type. */
function countingFor(
  lookup: SourceLookup,
  { entity }: NamedEntity,
  type: EntityType,
): (context: IndexedContext) => boolean {
  const counts = usable(lookup)
  if (entity.type === type || lookup.api === 'ngsi2') return counts
  return (context) => context.registration.terms !== undefined && counts(context)
}

/** A test whether the provider of a context may be asked at all [NGSIv2 subscriptions 11.1]. */
function usable(lookup: SourceLookup): (context: IndexedContext) => boolean {
  const counts = counting(lookup)
  return (context) => {
    const { status, mode } = registrationTermsOf(context.registration)
    return status === 'active' && (mode === 'all' || mode === lookup.use) && counts(context)
  }
}

interface Found {
  readonly entity: RegisteredEntity
  readonly named: NamedEntity
  readonly first: IndexedContext
}

/** The entity to ask for where a selector means a registered one. */
function entityMeant({ id, type }: Selector, registered: RegisteredEntity): RegisteredEntity {
  if (id.kind === 'exact') return { id: id.id, type: type ?? registered.type }
  return type === undefined || type === registered.type ? registered : { ...registered, type }
}

function keepFirst(found: Map<string, Found>, one: Found): void {
  const { id, type, everyId = false } = one.entity
  const key = `${everyId}${id.length}:${id}${type}`
  const held = found.get(key)
  if (held === undefined || compareContexts(one.first, held.first) < 0) found.set(key, one)
}

/** Ordered by the first context that names each entity, then as they are given there. */
function* inOrder(registrations: TenantRegistrations, found: Iterable<Found>): Steps<readonly RegisteredEntity[]> {
  const byFirst = new Map<IndexedContext, Map<NamedEntity, RegisteredEntity>>()
  for (const { entity, named, first } of found) {
    byFirst.set(first, (byFirst.get(first) ?? new Map<NamedEntity, RegisteredEntity>()).set(named, entity))
  }
  const entities: RegisteredEntity[] = []
  for (const [{ context }, left] of [...byFirst].sort(([a], [b]) => compareContexts(a, b))) {
    const [only] = left.values()
    // The context may have thousands of entities, one for each of as many selectors.
    if (only && left.size === 1) entities.push(only)
    else entities.push(...asGiven(registrations, context.entities, left))
    yield
  }
  return entities
}

function* asGiven(
  registrations: TenantRegistrations,
  given: readonly RegisteredEntity[],
  left: Map<NamedEntity, RegisteredEntity>,
): Generator<RegisteredEntity> {
  for (const registered of given) {
    const named = registrations.named(registered)
    const entity = named && left.get(named)
    if (named === undefined || entity === undefined) continue
    left.delete(named)
    yield entity
    if (left.size === 0) return
  }
}
