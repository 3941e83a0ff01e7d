import type { EntityId, Tenant } from '../context/entity.js'
import { compileSelectors } from '../context/match.js'
import { inPaths, type PathRange, type Selector } from '../context/query.js'
import { atOnce, inSlices, Slices, type Steps } from '../slices.js'
import type { Milliseconds } from '../time.js'
import { compareContexts, type IndexedContext } from './indexed-contexts.js'
import type { NamedEntity } from './named-entity.js'
import {
  inForce,
  type RegisteredContext,
  type RegisteredEntity,
  type Registration,
  type RegistrationChange,
  type RegistrationId,
} from './registration.js'
import { TenantRegistrations } from './tenant-registrations.js'

/** Where and when a request looks: registrations in one of the paths that are in force at that moment count. */
export interface Lookup {
  readonly tenant: Tenant
  readonly paths: readonly PathRange[]
  readonly now: Milliseconds
}

/** What discoverContextAvailability asks for [subscriptions 7.2]. */
export interface Discovery {
  /** An entity that one of them matches is meant. */
  readonly selectors: readonly Selector[]
  /** Names of the attributes to show; empty for all. */
  readonly attributes: readonly string[]
}

/** Which registrations are wanted of those that were found; they are counted as registrations, not as contexts. */
interface DiscoveryPage {
  readonly offset: number
  readonly limit: number
}

export const wholeDiscovery: DiscoveryPage = { offset: 0, limit: Number.POSITIVE_INFINITY }

interface Discovered {
  /** In their order, with nothing but the entities and attributes asked for. */
  readonly contexts: readonly RegisteredContext[]
  /** Registrations in all. */
  readonly count: number
}

/**
 * All registrations in memory: one copy for each thread that asks, kept up by the changes that the owner publishes. It
 * reads no clock, so the expired ones, which can still be updated, lie among the others and are passed over.
 */
export class RegistrationIndex {
  readonly #tenants = new Map<Tenant, TenantRegistrations>()
  readonly #sizes = new Map<Tenant, number>()
  readonly #registrations = new Map<RegistrationId, Registration>()

  /** How many registrations there are, expired ones included. */
  get size(): number {
    return this.#registrations.size
  }

  /** Expired ones included, in no particular order. */
  all(): Iterable<Registration> {
    return this.#registrations.values()
  }

  /** The one of this id, expired or not, whatever its tenant. */
  get(id: RegistrationId): Registration | undefined {
    return this.#registrations.get(id)
  }

  /** Whether nothing is registered in the tenant, so that nothing of its requests has to be looked up here. */
  isEmpty(tenant: Tenant): boolean {
    return !this.#tenants.has(tenant)
  }

  apply(changes: readonly RegistrationChange[]): void {
    for (const change of changes) {
      if (change.kind === 'put') this.put(change.registration)
      else this.remove(change.id)
    }
  }

  /** Adds a registration, or replaces the one with its id. */
  put(registration: Registration): void {
    const { id, tenant, contexts } = registration
    this.remove(id)
    const registrations = this.#tenants.get(tenant) ?? new TenantRegistrations()
    this.#tenants.set(tenant, registrations)
    this.#sizes.set(tenant, (this.#sizes.get(tenant) ?? 0) + 1)
    for (const [at, context] of contexts.entries()) registrations.enter({ registration, at, context })
    this.#registrations.set(id, registration)
  }

  remove(id: RegistrationId): void {
    const held = this.#registrations.get(id)
    if (held === undefined) return
    const { tenant, contexts } = held
    const left = (this.#sizes.get(tenant) ?? 0) - 1
    if (left > 0) {
      const registrations = this.#tenants.get(tenant)
      for (const [at, context] of contexts.entries()) registrations?.leave({ registration: held, at, context })
      this.#sizes.set(tenant, left)
    } else {
      this.#tenants.delete(tenant)
      this.#sizes.delete(tenant)
    }
    this.#registrations.delete(id)
  }

  /** What is registered of what is asked for, page by page [subscriptions 7.2]. */
  discover(lookup: Lookup, discovery: Discovery, page: DiscoveryPage = wholeDiscovery): Discovered {
    return atOnce(this.discovering(lookup, discovery, page))
  }

  /**
   * As `discover`, in steps, with what `changes` put and remove as if they had been applied. Whoever takes the steps sees
   * to it that nothing else changes meanwhile.
   */
  *discovering(
    lookup: Lookup,
    discovery: Discovery,
    page: DiscoveryPage = wholeDiscovery,
    changes: readonly RegistrationChange[] = [],
  ): Steps<Discovered> {
    const changed = new Set(changes.map((change) => (change.kind === 'put' ? change.registration.id : change.id)))
    const found = new Set<IndexedContext>()
    let looked = 0
    for (const each of this.#finding(lookup, discovery)) {
      if (each !== undefined && !changed.has(each.registration.id)) found.add(each)
      looked += 1
      if (looked % lookedAtOnce === 0) yield
    }
    for (const change of changes) {
      if (change.kind === 'put' && change.registration.tenant === lookup.tenant) {
        for (const listed of asIfHeld(change.registration, lookup, discovery)) found.add(listed)
      }
    }
    return yield* paged(found, discovery, page)
  }

  /**
   * As `discover`, in slices: others are served meanwhile. What is registered anew meanwhile may be left out; a registration
   * that is changed is shown as it was or as it is. Gives nothing when `isLate` says between two slices that it took too long.
   */
  async discoverInSlices(
    lookup: Lookup,
    discovery: Discovery,
    page: DiscoveryPage,
    isLate: () => boolean,
  ): Promise<Discovered | undefined> {
    const slices = new Slices()
    const found = new Set<IndexedContext>()
    for (const each of this.#finding(lookup, discovery)) {
      if (each !== undefined) found.add(each)
      if (!slices.isOver) continue
      await slices.next()
      if (isLate()) return undefined
    }
    const isHeld = ({ registration }: IndexedContext) => this.#registrations.get(registration.id) === registration
    const held = new Set<RegistrationId>()
    for (const each of found) if (isHeld(each)) held.add(each.registration.id)
    for (const each of found) if (!isHeld(each) && held.has(each.registration.id)) found.delete(each)
    return inSlices(paged(found, discovery, page), slices)
  }

  /**
   * Who is to be asked for an attribute of an entity: the first that names both, else the first that names the entity
   * and has no attributes. An entity without type is named only by registrations without one [subscriptions 8.1].
   */
  providerOf(lookup: Lookup, entity: RegisteredEntity, attribute: string): string | undefined {
    return this.sourceOf(lookup, entity, attribute)?.context.provider
  }

  /** As `providerOf`, with the registration that says so. */
  sourceOf(lookup: Lookup, entity: RegisteredEntity, attribute: string): IndexedContext | undefined {
    const named = this.#tenants.get(lookup.tenant)?.named(entity)
    const counts = counting(lookup)
    const first = (name: string): IndexedContext | undefined => named?.having(name).find(counts)
    return first(attribute) ?? first('')
  }

  /** All contexts that name an entity, by creation: for queries that name no attributes [subscriptions 8.2]. */
  naming(lookup: Lookup, entity: RegisteredEntity): readonly RegisteredContext[] {
    return this.sources(lookup, entity).map(({ context }) => context)
  }

  /** As `naming`, with the registrations that they belong to. */
  sources(lookup: Lookup, entity: RegisteredEntity): readonly IndexedContext[] {
    const listed = this.#tenants.get(lookup.tenant)?.named(entity)?.contexts ?? []
    return listed.filter(counting(lookup))
  }

  /**
   * The registered entities that a selector means, each once with its registered type, by the first context that names
   * it and as they are given there, in steps [subscriptions 8.2]. What is registered for a whole type names no entity, so that nobody could be asked for it.
   */
  *entities(lookup: Lookup, selector: Selector): Steps<readonly RegisteredEntity[]> {
    const registrations = this.#tenants.get(lookup.tenant)
    if (registrations === undefined) return []
    const counts = counting(lookup)
    const byFirst = new Map<IndexedContext, Set<NamedEntity>>()
    let looked = 0
    for (const named of registrations.tried(selector)) {
      looked += 1
      if (looked % lookedAtOnce === 0) yield
      const first = named === undefined || named.entity.id === '' ? undefined : named.contexts.find(counts)
      if (named && first) byFirst.set(first, (byFirst.get(first) ?? new Set()).add(named))
    }
    const entities: RegisteredEntity[] = []
    for (const [{ context }, left] of [...byFirst].sort(([a], [b]) => compareContexts(a, b))) {
      const [only] = left
      // The context may have thousands of entities, of which each of as many selectors means one.
      if (only && left.size === 1) entities.push(only.entity)
      else {
        for (const entity of context.entities) {
          const named = registrations.named(entity)
          if (named !== undefined && left.delete(named)) entities.push(entity)
          if (left.size === 0) break
        }
      }
      looked += 1
      if (looked % lookedAtOnce === 0) yield
    }
    return entities
  }

  /** Whether an entity of this id is registered, of whatever type. */
  isRegistered(lookup: Lookup, id: EntityId): boolean {
    const registrations = this.#tenants.get(lookup.tenant)
    if (registrations === undefined || id === '') return false
    const counts = counting(lookup)
    for (const named of registrations.tried({ id: { kind: 'exact', id }, type: undefined })) {
      if (named?.contexts.some(counts)) return true
    }
    return false
  }

  /** What is asked for, some of it several times, and nothing for every entity that is not. */
  *#finding(lookup: Lookup, { selectors, attributes }: Discovery): Generator<IndexedContext | undefined> {
    const registrations = this.#tenants.get(lookup.tenant)
    if (registrations === undefined) return
    const counts = counting(lookup)
    for (const selector of selectors) {
      for (const named of registrations.tried(selector)) {
        if (named === undefined) yield undefined
        else {
          const lists = attributes.length === 0 ? [named.contexts] : attributes.map((name) => named.having(name))
          // Copies: whoever looks may pause, and the lists may change then.
          for (const list of lists) yield* list.filter(counts)
        }
      }
    }
  }
}

/** At most this many are looked at between two looks at the clock. */
const lookedAtOnce = 256

/** What a discovery would find of a registration if it were held. */
function asIfHeld(registration: Registration, lookup: Lookup, discovery: Discovery): readonly IndexedContext[] {
  const isMeant = compileSelectors(discovery.selectors)
  const names = new Set(discovery.attributes)
  return registration.contexts
    .map((context, at) => ({ registration, at, context }))
    .filter(counting(lookup))
    .filter(({ context }) => names.size === 0 || context.attributes.some(({ name }) => names.has(name)))
    .filter(({ context }) => context.entities.some(isMeant))
}

/** A page of what was found, in order. */
function* paged(found: ReadonlySet<IndexedContext>, discovery: Discovery, page: DiscoveryPage): Steps<Discovered> {
  const narrow = narrowing(discovery)
  const contexts: RegisteredContext[] = []
  let [count, looked] = [0, 0]
  let last: Registration | undefined
  for (const { registration, context } of [...found].sort(compareContexts)) {
    if (registration !== last) count += 1
    last = registration
    if (count > page.offset && count - page.offset <= page.limit) contexts.push(narrow(context))
    looked += 1
    if (looked % lookedAtOnce === 0) yield
  }
  return { contexts, count }
}

function counting({ paths, now }: Lookup): (listed: IndexedContext) => boolean {
  return ({ registration }) => inForce(registration, now) && inPaths(registration.path, paths)
}

/** Leaves of a context what was asked for. */
function narrowing({ selectors, attributes }: Discovery): (context: RegisteredContext) => RegisteredContext {
  const isMeant = compileSelectors(selectors)
  const names = new Set(attributes)
  return (context) => ({
    entities: context.entities.filter(isMeant),
    attributes: names.size === 0 ? context.attributes : context.attributes.filter(({ name }) => names.has(name)),
    provider: context.provider,
  })
}
