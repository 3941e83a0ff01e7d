import { inSlicesUntil, Slices, type Steps } from '../../slices.js'
import type { Milliseconds } from '../../time.js'
import type { EntityType, Tenant } from '../context/entity.js'
import { inPaths, type PathRange, type Selector } from '../context/query.js'
import { compareContexts, type IndexedContext } from './contexts.js'
import { type MeantOfTypes, MeantOnce, type Pauses } from './meant-entities.js'
import {
  inForce,
  type RegisteredContext,
  type Registration,
  type RegistrationChange,
  type RegistrationId,
} from './registration.js'
import type { RegistrationIndex } from './registration-index.js'
import type { NamedEntity, TenantRegistrations } from './tenant-registrations.js'

/** Where and when a request looks: at registrations in one of the paths that are in force at that moment. */
export interface Lookup {
  readonly tenant: Tenant
  readonly paths: readonly PathRange[]
  readonly now: Milliseconds
}

/** The question of discoverContextAvailability [subscriptions 7.2]. */
export interface Discovery {
  /** Entities that match one of them are meant. */
  readonly selectors: readonly Selector[]
  /** Names of the attributes to show; empty for all. */
  readonly attributes: readonly string[]
}

/** The question of what is known about what was registered [subscriptions 7.4]. */
export interface DiscoveryOfRegistered extends Discovery {
  /** What is meant beside the selectors, where every id of some types was registered. */
  readonly ofTypes?: MeantOfTypes | undefined
}

/** The page of the found registrations; it counts registrations, not contexts. */
interface DiscoveryPage {
  readonly offset: number
  readonly limit: number
}

export const wholeDiscovery: DiscoveryPage = { offset: 0, limit: Number.POSITIVE_INFINITY }

interface Discovered {
  /** In order, with only the entities and attributes asked for. */
  readonly contexts: readonly RegisteredContext[]
  /** The number of all registrations found. */
  readonly count: number
}

/**
 * Discovers page by page [subscriptions 7.2], in steps, as if `changes` had been applied. The index must not change between the
 * steps.
 */
export function* discovering(
  index: RegistrationIndex,
  lookup: Lookup,
  discovery: DiscoveryOfRegistered,
  page: DiscoveryPage = wholeDiscovery,
  changes: readonly RegistrationChange[] = [],
): Steps<Discovered> {
  const changed = new Set(changes.map((change) => (change.kind === 'put' ? change.registration.id : change.id)))
  const found = new Set<IndexedContext>()
  const meant = new MeantOnce(discovery.selectors, discovery.ofTypes)
  for (const each of finding(index, lookup, discovery, meant)) {
    if (each !== undefined && !changed.has(each.registration.id)) found.add(each)
    yield
  }
  for (const change of changes) {
    if (change.kind === 'put' && change.registration.tenant === lookup.tenant) {
      yield* addAsIfHeld(change.registration, lookup, discovery, meant, found)
    }
  }
  return yield* paged(found, discovery, meant, page)
}

/**
 * Discovers in slices, so that other requests are served in between. A registration that is added meanwhile may be left out; one
 * that is changed meanwhile is shown in either state. Undefined when `isLate` says between two slices that it has taken too long.
 */
export async function discoverInSlices(
  index: RegistrationIndex,
  lookup: Lookup,
  discovery: Discovery,
  page: DiscoveryPage,
  isLate: () => boolean,
): Promise<Discovered | undefined> {
  const slices = new Slices()
  const meant = new MeantOnce(discovery.selectors)
  const found = await inSlicesUntil(gathering(finding(index, lookup, discovery, meant)), isLate, slices)
  if (found === undefined) return undefined
  const isHeld = ({ registration }: IndexedContext) => index.get(registration.id) === registration
  const held = new Set<RegistrationId>()
  for (const each of found) if (isHeld(each)) held.add(each.registration.id)
  for (const each of found) if (!isHeld(each) && held.has(each.registration.id)) found.delete(each)
  return inSlicesUntil(paged(found, discovery, meant, page), isLate, slices)
}

function* gathering(found: Iterable<IndexedContext | undefined>): Steps<Set<IndexedContext>> {
  const gathered = new Set<IndexedContext>()
  for (const each of found) {
    if (each !== undefined) gathered.add(each)
    yield
  }
  return gathered
}

/** The contexts asked for, possibly repeated, and undefined for every entity that does not match. */
function* finding(
  index: RegistrationIndex,
  lookup: Lookup,
  discovery: DiscoveryOfRegistered,
  meant: MeantOnce,
): Generator<IndexedContext | undefined> {
  const registrations = index.of(lookup.tenant)
  if (registrations === undefined) return
  const counts = counting(lookup)
  const { attributes } = discovery
  const tried = new Set<NamedEntity>()
  for (const named of naming(registrations, discovery, meant)) {
    if (named === undefined || tried.has(named)) {
      yield undefined
      continue
    }
    tried.add(named)
    const lists = attributes.length === 0 ? [named.contexts] : attributes.map((name) => named.having(name))
    // Filtered copies: the caller may pause, and the lists may change then.
    for (const list of lists) yield* list.filter(counts)
  }
}

/** The entities asked for, possibly repeated, and undefined for every one that does not match. */
function* naming(
  registrations: TenantRegistrations,
  { selectors, ofTypes }: DiscoveryOfRegistered,
  meant: MeantOnce,
): Generator<NamedEntity | undefined> {
  // Those that stand for every id match whatever the id of a selector: they are tried once, not for each selector.
  for (const named of registrations.ofEveryId(typesOf(selectors, ofTypes))) {
    yield (yield* meant.has(named.entity)) ? named : undefined
  }
  for (const selector of selectors) yield* registrations.ofIds(selector)
  if (ofTypes !== undefined) yield* namingOfTypes(registrations, ofTypes)
}

/** The types of all that is meant; undefined where something is meant of every type. */
function typesOf(
  selectors: readonly Selector[],
  ofTypes: MeantOfTypes | undefined,
): ReadonlySet<EntityType> | undefined {
  const types = new Set(ofTypes?.types)
  for (const { type } of selectors) {
    if (type === undefined) return undefined
    types.add(type)
  }
  return types
}

/** The ids that are named are looked up; patterns are tried on what is registered of the types. */
function* namingOfTypes(registrations: TenantRegistrations, ofTypes: MeantOfTypes): Generator<NamedEntity | undefined> {
  const searched = new Set<EntityType | undefined>()
  for (const { id, type } of ofTypes.selectors) if (id.kind !== 'exact') searched.add(type)
  for (const selector of ofTypes.selectors) {
    if (selector.id.kind !== 'exact') continue
    for (const named of registrations.ofIds(selector)) {
      yield named && ofTypes.types.has(named.entity.type) ? named : undefined
    }
  }
  for (const type of searched.has(undefined) ? ofTypes.types : searched) {
    if (type === undefined || !ofTypes.types.has(type)) continue
    for (const named of registrations.ofIds({ id: { kind: 'any' }, type })) {
      yield named && (yield* ofTypes.has(named.entity)) ? named : undefined
    }
  }
}

/** Adds what a discovery would find of a registration if it were held. */
function* addAsIfHeld(
  registration: Registration,
  lookup: Lookup,
  { attributes }: Discovery,
  meant: MeantOnce,
  found: Set<IndexedContext>,
): Steps<void> {
  const counts = counting(lookup)
  const names = new Set(attributes)
  for (const [at, context] of registration.contexts.entries()) {
    const listed = { registration, at, context }
    if (!counts(listed)) return
    if (names.size > 0 && !context.attributes.some(({ name }) => names.has(name))) continue
    if (yield* hasMeant(context, meant)) found.add(listed)
  }
}

function* hasMeant({ entities }: RegisteredContext, meant: MeantOnce): Pauses<boolean> {
  for (const entity of entities) {
    if (yield* meant.has(entity)) return true
    yield
  }
  return false
}

/** A page of the contexts found, in order, with only what was asked for. */
function* paged(
  found: ReadonlySet<IndexedContext>,
  { attributes }: Discovery,
  meant: MeantOnce,
  page: DiscoveryPage,
): Steps<Discovered> {
  const names = new Set(attributes)
  const contexts: RegisteredContext[] = []
  let count = 0
  let last: Registration | undefined
  for (const { registration, context } of [...found].sort(compareContexts)) {
    if (registration !== last) count += 1
    last = registration
    yield
    if (count <= page.offset || count - page.offset > page.limit) continue
    contexts.push({
      entities: yield* meant.of(context.entities),
      attributes: names.size === 0 ? context.attributes : context.attributes.filter(({ name }) => names.has(name)),
      provider: context.provider,
    })
  }
  return { contexts, count }
}

/** A test whether a context belongs to a registration in force in one of the paths. */
export function counting({ paths, now }: Lookup): (listed: IndexedContext) => boolean {
  return ({ registration }) => inForce(registration, now) && inPaths(registration.path, paths)
}
