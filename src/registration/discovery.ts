import type { Tenant } from '../context/entity.js'
import { compileSelectors } from '../context/match.js'
import { inPaths, type PathRange, type Selector } from '../context/query.js'
import { inSlices, Slices, type Steps } from '../slices.js'
import type { Milliseconds } from '../time.js'
import { compareContexts, type IndexedContext } from './indexed-contexts.js'
import {
  inForce,
  type RegisteredContext,
  type RegisteredEntity,
  type Registration,
  type RegistrationChange,
  type RegistrationId,
} from './registration.js'
import type { RegistrationIndex } from './registration-index.js'

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
 * What is registered of what is asked for, page by page [subscriptions 7.2], in steps, with what `changes` put and remove
 * as if they had been applied. Whoever takes the steps sees to it that nothing else changes meanwhile.
 */
export function* discovering(
  index: RegistrationIndex,
  lookup: Lookup,
  discovery: Discovery,
  page: DiscoveryPage = wholeDiscovery,
  changes: readonly RegistrationChange[] = [],
): Steps<Discovered> {
  const changed = new Set(changes.map((change) => (change.kind === 'put' ? change.registration.id : change.id)))
  const found = new Set<IndexedContext>()
  let looked = 0
  for (const each of finding(index, lookup, discovery)) {
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
 * The same of what is held, in slices: others are served meanwhile. What is registered anew meanwhile may be left out; a
 * registration that is changed is shown as it was or as it is. Gives nothing when `isLate` says between two slices that it
 * took too long.
 */
export async function discoverInSlices(
  index: RegistrationIndex,
  lookup: Lookup,
  discovery: Discovery,
  page: DiscoveryPage,
  isLate: () => boolean,
): Promise<Discovered | undefined> {
  const slices = new Slices()
  const found = new Set<IndexedContext>()
  for (const each of finding(index, lookup, discovery)) {
    if (each !== undefined) found.add(each)
    if (!slices.isOver) continue
    await slices.next()
    if (isLate()) return undefined
  }
  const isHeld = ({ registration }: IndexedContext) => index.get(registration.id) === registration
  const held = new Set<RegistrationId>()
  for (const each of found) if (isHeld(each)) held.add(each.registration.id)
  for (const each of found) if (!isHeld(each) && held.has(each.registration.id)) found.delete(each)
  return inSlices(paged(found, discovery, page), slices)
}

/** What is asked for, some of it several times, and nothing for every entity that is not. */
function* finding(
  index: RegistrationIndex,
  lookup: Lookup,
  { selectors, attributes }: Discovery,
): Generator<IndexedContext | undefined> {
  const registrations = index.of(lookup.tenant)
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

/** At most this many are looked at between two looks at the clock. */
export const lookedAtOnce = 256

/** What a discovery would find of a registration if it were held. */
function asIfHeld(registration: Registration, lookup: Lookup, discovery: Discovery): readonly IndexedContext[] {
  const isMeant = compileRegistered(discovery.selectors)
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

/** What tells whether a context belongs to a registration that is in force, in one of the paths. */
export function counting({ paths, now }: Lookup): (listed: IndexedContext) => boolean {
  return ({ registration }) => inForce(registration, now) && inPaths(registration.path, paths)
}

/** Leaves of a context what was asked for. */
function narrowing({ selectors, attributes }: Discovery): (context: RegisteredContext) => RegisteredContext {
  const isMeant = compileRegistered(selectors)
  const names = new Set(attributes)
  return (context) => ({
    entities: context.entities.filter(isMeant),
    attributes: names.size === 0 ? context.attributes : context.attributes.filter(({ name }) => names.has(name)),
    provider: context.provider,
  })
}

/**
 * What tells whether selectors mean a registered entity. One that stands for the entities of every id is meant whatever the
 * id of a selector is [NGSIv2 subscriptions 9].
 */
export function compileRegistered(selectors: readonly Selector[]): (entity: RegisteredEntity) => boolean {
  const isMeant = compileSelectors(selectors)
  const ofEveryId = compileSelectors(selectors.map((selector) => ({ ...selector, id: { kind: 'any' } })))
  return (entity) => (entity.everyId ? ofEveryId(entity) : isMeant(entity))
}
