import { type Steps, sortedInSteps } from '../../slices.js'
import type { Selector } from '../context/query.js'
import { compareContexts, firstCounting, type IndexedContext } from './contexts.js'
import type { RegisteredEntity } from './registration.js'
import type { RegistrationIndex } from './registration-index.js'
import { countingFor, countingTests, type SourceLookup } from './sources.js'
import type { NamedEntity, TenantRegistrations } from './tenant-registrations.js'

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
  const tests = countingTests(lookup)
  const found = new Map<string, Found>()
  for (const named of registrations.tried(selector, true)) {
    yield
    if (named === undefined || named.entity.id === '') continue
    const entity = entityMeant(selector, named.entity)
    const first = yield* firstCounting(named.contexts, countingFor(tests, named, entity.type))
    if (first) keepFirst(found, { entity, named, first })
  }
  return yield* inOrder(registrations, found.values())
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
    yield
  }
  const entities: RegisteredEntity[] = []
  for (const [{ context }, left] of yield* sortedInSteps([...byFirst], ([a], [b]) => compareContexts(a, b))) {
    const [only] = left.values()
    // The context may have thousands of entities, one for each of as many selectors.
    if (only && left.size === 1) entities.push(only)
    else for (const entity of asGiven(registrations, context.entities, left)) entities.push(entity)
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
