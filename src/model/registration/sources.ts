import type { Steps } from '../../slices.js'
import type { EntityId, EntityType, Tenant } from '../context/entity.js'
import { behind, compareContexts, firstCounting, type IndexedContext } from './contexts.js'
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
 * Finds the providers for one request. Among many contexts of an entity, what counts is searched for once, however often the request
 * names the entity, or attributes that the contexts do not have.
 */
export class SourceSearch {
  readonly #index: RegistrationIndex
  readonly #tenant: Tenant
  readonly #tests: CountingTests
  readonly #firsts: Firsts = new Map()

  constructor(index: RegistrationIndex, lookup: SourceLookup) {
    this.#index = index
    this.#tenant = lookup.tenant
    this.#tests = countingTests(lookup)
  }

  of(entity: RegisteredEntity): EntitySources {
    return new EntitySources(namingOf(this.#index.of(this.#tenant), this.#tests, entity), this.#firsts)
  }
}

/** The contexts that name one entity. */
export class EntitySources {
  readonly #naming: readonly MatchingName[]
  readonly #firsts: Firsts
  /** The first that has no attributes, once it was searched for. */
  #whole: { readonly source: RegisteredSource | undefined } | undefined

  constructor(naming: readonly MatchingName[], firsts: Firsts) {
    this.#naming = naming
    this.#firsts = firsts
  }

  /**
   * The context whose provider is asked for an attribute: the first that names both, otherwise the first that names the entity and has
   * no attributes, in steps [subscriptions 8.1, NGSIv2 subscriptions 11.1]. Expired and inactive registrations are not asked, nor those
   * with another mode.
   *
   * A registration without type names entities of every type; but if both registration and request are of NGSIv1, only the entity
   * without type. An entity without type is named only by registrations without one.
   */
  *having(attribute: string): Steps<RegisteredSource | undefined> {
    const source = yield* this.#first(attribute)
    if (source !== undefined) return source
    this.#whole ??= { source: yield* this.#first('') }
    return this.#whole.source
  }

  *#first(name: string): Steps<RegisteredSource | undefined> {
    let first: RegisteredSource | undefined
    for (const { named, counts } of this.#naming) {
      const context = yield* this.#firstOf(named, counts, name)
      if (context && (first === undefined || compareContexts(context, first) < 0)) {
        first = { ...context, named: named.entity }
      }
    }
    return first
  }

  *#firstOf(named: NamedEntity, counts: CountingTest, name: string): Steps<IndexedContext | undefined> {
    const contexts = named.having(name)
    if (contexts.length <= fewContexts) return contexts.find(counts)
    const ofTest = this.#firsts.get(counts) ?? new Map<NamedEntity, Map<string, IndexedContext | undefined>>()
    const ofNamed = ofTest.get(named) ?? new Map<string, IndexedContext | undefined>()
    if (ofNamed.has(name)) return ofNamed.get(name)
    const first = yield* firstCounting(contexts, counts)
    this.#firsts.set(counts, ofTest.set(named, ofNamed.set(name, first)))
    return first
  }
}

/** Up to this many contexts are searched each time. */
const fewContexts = 16

/** What was found among many contexts, by the test, the name of the entity and the attribute. */
type Firsts = Map<CountingTest, Map<NamedEntity, Map<string, IndexedContext | undefined>>>

/**
 * All contexts that name an entity, each once, in the order of creation: for queries that name no attributes [subscriptions 8.2].
 * Yields undefined for registrations that do not count, where the caller may pause.
 */
export function* sourcesOf(
  index: RegistrationIndex,
  lookup: SourceLookup,
  entity: RegisteredEntity,
): Generator<RegisteredSource | undefined> {
  const naming = namingOf(index.of(lookup.tenant), countingTests(lookup), entity)
  // Copies of the lists: the caller may pause, and the lists may change then.
  const lists = naming.map(({ named, counts }) => ({ named, counts, contexts: [...named.contexts], at: 0 }))
  for (;;) {
    let first: (typeof lists)[number] | undefined
    let context: IndexedContext | undefined
    for (const list of lists) {
      const next = list.contexts[list.at]
      if (next === undefined || (context !== undefined && compareContexts(next, context) >= 0)) continue
      first = list
      context = next
    }
    if (first === undefined || context === undefined) return
    if (!first.counts(context)) {
      first.at = behind(first.contexts, context, first.at)
      yield undefined
      continue
    }
    yield { ...context, named: first.named.entity }
    for (const list of lists) if (list.contexts[list.at] === context) list.at += 1
  }
}

/**
 * Whether a provider may be asked for an entity of this id, of any type. Where many registrations of the id cannot be used, it is not
 * found out whether another one can.
 */
export function isRegistered(index: RegistrationIndex, lookup: SourceLookup, id: EntityId): boolean {
  const registrations = index.of(lookup.tenant)
  if (registrations === undefined || id === '') return false
  const counts = usable(lookup)
  for (const named of registrations.tried({ id: { kind: 'exact', id }, type: undefined })) {
    if (named === undefined) continue
    const search = firstCounting(named.contexts, counts).next()
    if (search.done !== true || search.value !== undefined) return true
  }
  return false
}

type CountingTest = (context: IndexedContext) => boolean

/** The tests of the contexts that name an entity, which differ by their types. */
interface CountingTests {
  /** The registered type is that of the entity, or the request means registrations without type for every type. */
  readonly sameType: CountingTest
  /** The registration has no type, and a request of NGSIv1 means it for every type only if NGSIv2 made it. */
  readonly otherType: CountingTest
}

/** The tests for one request. */
export function countingTests(lookup: SourceLookup): CountingTests {
  const sameType = usable(lookup)
  if (lookup.api === 'ngsi2') return { sameType, otherType: sameType }
  return { sameType, otherType: (context) => context.registration.terms !== undefined && sameType(context) }
}

/** One way to name an entity, and the test of its contexts. */
interface MatchingName {
  readonly named: NamedEntity
  readonly counts: CountingTest
}

/** The ways in which an entity may be named, the most specific first. */
function namingOf(
  registrations: TenantRegistrations | undefined,
  tests: CountingTests,
  { id, type, everyId }: RegisteredEntity,
): readonly MatchingName[] {
  if (registrations === undefined) return []
  const types = type === '' ? [type] : [type, untyped]
  const ways: readonly RegisteredEntity[] = [
    ...(everyId ? [] : types.map((each) => ({ id, type: each }))),
    ...types.map((each) => ({ id, type: each, everyId: true as const })),
  ]
  return ways.flatMap((way) => {
    const named = registrations.named(way)
    return named === undefined ? [] : [{ named, counts: countingFor(tests, named, type) }]
  })
}

const untyped = '' as EntityType

/** A test whether a context with such a name is asked for the entity under a type. */
export function countingFor(tests: CountingTests, { entity }: NamedEntity, type: EntityType): CountingTest {
  return entity.type === type ? tests.sameType : tests.otherType
}

/** A test whether the provider of a context may be asked at all [NGSIv2 subscriptions 11.1]. */
function usable(lookup: SourceLookup): CountingTest {
  const counts = counting(lookup)
  return (context) => {
    const { status, mode } = registrationTermsOf(context.registration)
    return status === 'active' && (mode === 'all' || mode === lookup.use) && counts(context)
  }
}
