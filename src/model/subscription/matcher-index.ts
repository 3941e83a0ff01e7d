import { LruCache } from '../../lru-cache.js'
import type { Entity, EntityId, EntityType, Tenant } from '../context/entity.js'
import { compileQuery } from '../context/match.js'
import { lastingPattern } from '../context/pattern.js'
import type { Scope, Selector } from '../context/query.js'
import { maxSteps, StepBudget } from '../context/step-budget.js'
import { type Cause, type Change, indexOf, stateOf } from './change.js'
import { otherClock } from './clocks.js'
import { type Version, versionsOf } from './decisions.js'
import { ExactIds } from './exact-ids.js'
import { entry, type IndexedSubscription, type MatchGroup, MatchGroups, untyped } from './match-group.js'
import type { Subscription, SubscriptionClock, SubscriptionId, SubscriptionInForce } from './subscription.js'

/** The version in force of a subscription, and the proposed one while a change is undecided. */
interface IndexedVersions {
  readonly versions: readonly IndexedSubscription[]
  readonly release: () => void
}

/**
 * Finds the subscriptions to an entity. Most updates are of entities without subscriptions, and must not pay for the
 * subscriptions of others: exact ids are looked up, and the results of pattern searches are cached until a pattern is added.
 */
export class MatcherIndex {
  readonly #subscriptions = new Map<SubscriptionId, IndexedVersions>()
  readonly #tenants = new Map<Tenant, TenantIndex>()
  readonly #found: FoundSubscriptions
  readonly #names = new SharedNames()

  /** Caches at most this many bytes of results. */
  constructor(limit_bytes: number) {
    this.#found = new LruCache(limit_bytes)
  }

  get isEmpty(): boolean {
    return this.#subscriptions.size === 0
  }

  /**
   * Adds a subscription, or replaces the one of its id. One that changes do not trigger is not indexed. `release` is called when it is
   * not indexed any more.
   */
  put({ subscription, clock }: SubscriptionInForce, release: () => void): void {
    const { id } = subscription
    this.remove(id)
    const { standing, proposed } = versionsOf(subscription)
    const versions = [
      ...(standing === undefined ? [] : this.#indexed(standing, clock)),
      ...(proposed === undefined ? [] : this.#indexed(proposed, otherClock(clock))),
    ]
    if (versions.length > 0) this.#subscriptions.set(id, { versions, release })
    else release()
  }

  #indexed({ subscription, provisional }: Version, clock: SubscriptionClock): readonly IndexedSubscription[] {
    const { tenant, selectors, onChange, attributes, terms } = subscription
    if (onChange === undefined || terms?.status === 'inactive') return []
    const names = this.#names.take(attributes)
    const indexed = {
      subscription: names === attributes ? subscription : { ...subscription, attributes: names },
      clock,
      accepts: acceptanceOf(subscription),
      provisional,
      lookedAtBy: 0,
    }
    const ofTenant = entry(this.#tenants, tenant, () => new TenantIndex(tenant, this.#found))
    for (const selector of selectors) ofTenant.add(selector, indexed)
    return [indexed]
  }

  remove(id: SubscriptionId): void {
    const held = this.#subscriptions.get(id)
    if (held === undefined) return
    this.#subscriptions.delete(id)
    for (const indexed of held.versions) this.#leave(indexed)
    held.release()
  }

  #leave(indexed: IndexedSubscription): void {
    const { tenant, selectors, attributes } = indexed.subscription
    this.#names.leave(attributes)
    const ofTenant = this.#tenants.get(tenant)
    for (const selector of selectors) ofTenant?.remove(selector, indexed)
    if (ofTenant?.isEmpty) this.#tenants.delete(tenant)
  }

  /** The clock of an indexed subscription, of the version in force if there is one. */
  clockOf(id: SubscriptionId): SubscriptionClock | undefined {
    return this.#subscriptions.get(id)?.versions[0]?.clock
  }

  /** The groups of subscriptions to the entity: by tenant, path, id and type [subscriptions 3.1, points 1, 3 and 4]. */
  groups(tenant: Tenant, entity: Entity): readonly MatchGroup[] {
    return this.#tenants.get(tenant)?.groups(entity) ?? nobody
  }
}

/** Shares equal lists of names: many subscriptions show the same attributes, which are then searched once per change. */
class SharedNames {
  readonly #lists = new Map<string, { readonly names: readonly string[]; holders: number }>()

  take(names: readonly string[]): readonly string[] {
    if (names.length === 0) return names
    const list = entry(this.#lists, JSON.stringify(names), () => ({ names, holders: 0 }))
    list.holders += 1
    return list.names
  }

  leave(names: readonly string[]): void {
    if (names.length === 0) return
    const key = JSON.stringify(names)
    const list = this.#lists.get(key)
    if (list === undefined) return
    list.holders -= 1
    if (list.holders === 0) this.#lists.delete(key)
  }
}

/** Results of pattern searches, by tenant and entity. */
type FoundSubscriptions = LruCache<readonly MatchGroup[]>

const nobody: readonly MatchGroup[] = []

/** Longer results are not cached, which bounds the size of a cache entry. */
const mostRemembered = 64

const reference_bytes = 8

/** The groups of a pattern, or of all ids. */
interface Search {
  readonly finds: (id: EntityId) => boolean
  readonly groups: MatchGroups
}

type Sought = Exclude<Selector['id'], { kind: 'exact' }>

/** The index of one tenant. */
class TenantIndex {
  readonly #tenant: Tenant
  readonly #found: FoundSubscriptions
  readonly #exact = new ExactIds()
  /** By pattern, so that equal patterns are tested once. */
  readonly #searches = new Map<string, Search>()
  readonly #searchesOf = new Map<EntityType, Set<Search>>()

  constructor(tenant: Tenant, found: FoundSubscriptions) {
    this.#tenant = tenant
    this.#found = found
  }

  get isEmpty(): boolean {
    return this.#exact.isEmpty && this.#searches.size === 0
  }

  add({ id, type = untyped }: Selector, indexed: IndexedSubscription): void {
    if (id.kind === 'exact') this.#exact.add(id.id, type, indexed)
    else this.#addSought(id, type, indexed)
  }

  remove({ id, type = untyped }: Selector, indexed: IndexedSubscription): void {
    if (id.kind === 'exact') this.#exact.remove(id.id, type, indexed)
    else this.#removeSought(id, type, indexed)
  }

  groups(entity: Entity): readonly MatchGroup[] {
    const sought = this.#mayFind(entity.type) ? this.#sought(entity) : nobody
    if (!this.#exact.has(entity.id)) return sought
    const all = [...sought]
    this.#exact.gather(entity, all)
    return all
  }

  #addSought(id: Sought, type: EntityType, indexed: IndexedSubscription): void {
    const search = entry(this.#searches, keyOf(id), () => ({ finds: findsOf(id), groups: new MatchGroups() }))
    const isNew = search.groups.add(type, indexed)
    entry(this.#searchesOf, type, newSearches).add(search)
    if (isNew) this.#found.clear()
  }

  #removeSought(id: Sought, type: EntityType, indexed: IndexedSubscription): void {
    const search = this.#searches.get(keyOf(id))
    if (!search?.groups.remove(type, indexed)) return
    // Cached results may still hold the group; it is empty, so they need not be dropped.
    if (search.groups.isEmpty) this.#searches.delete(keyOf(id))
    if (search.groups.has(type)) return
    const ofType = this.#searchesOf.get(type)
    ofType?.delete(search)
    if (ofType?.size === 0) this.#searchesOf.delete(type)
  }

  /** Whether there is any pattern for the type. Every pattern may mean an entity without type. */
  #mayFind(type: EntityType): boolean {
    if (this.#searches.size === 0) return false
    return type === untyped || this.#searchesOf.has(untyped) || this.#searchesOf.has(type)
  }

  #sought(entity: Entity): readonly MatchGroup[] {
    const name = this.#nameOf(entity)
    const remembered = this.#found.get(name)
    if (remembered) return remembered
    const found = this.#search(entity)
    if (found.length <= mostRemembered) this.#found.put(name, found, found.length * reference_bytes)
    return found
  }

  #search(entity: Entity): readonly MatchGroup[] {
    const { type } = entity
    const found: MatchGroup[] = []
    if (type === untyped) {
      for (const search of this.#searches.values()) gatherFound(search, entity, found)
    } else {
      for (const search of this.#searchesOf.get(type) ?? none) gatherFound(search, entity, found)
      for (const search of this.#searchesOf.get(untyped) ?? none) {
        if (!search.groups.has(type)) gatherFound(search, entity, found)
      }
    }
    return found.length === 0 ? nobody : found
  }

  /**
   * Tenants and paths have no spaces, and the length of the type stands before it, so different entities have different names.
   */
  #nameOf({ path, id, type }: Entity): string {
    return `${this.#tenant} ${path} ${type.length} ${type}${id}`
  }
}

const none: readonly Search[] = []

function gatherFound({ finds, groups }: Search, entity: Entity, into: MatchGroup[]): void {
  if (finds(entity.id)) groups.gather(entity, into)
}

/** A pattern may be any text, the empty one included, so `all ids` has a key that no pattern has. */
function keyOf(id: Sought): string {
  return id.kind === 'any' ? 'any' : `pattern ${id.pattern}`
}

function findsOf(id: Sought): Search['finds'] {
  return id.kind === 'any' ? () => true : lastingPattern(id.pattern).test
}

function newSearches(): Set<Search> {
  return new Set()
}

/** A clock for subscriptions that are only searched, never notified. */
const noClock = { moments: new BigInt64Array(1), at: 0 }

/**
 * Whether a subscription is about an entity of its tenant, by path, id, type and all its other conditions, found as the
 * partitions find it [subscriptions 3.1], [NGSIv2 subscriptions 4.1].
 */
export function meansEntity(subscription: Subscription, entity: Entity): boolean {
  const { tenant, terms, onChange = [] } = subscription
  const condition = terms?.condition && { ...terms.condition, scopes: [] }
  const meant: Subscription = { ...subscription, onChange, terms: terms && { ...terms, status: 'active', condition } }
  const index = new MatcherIndex(0)
  index.put({ subscription: meant, clock: noClock }, () => {})
  const found = new Set<IndexedSubscription>()
  for (const group of index.groups(tenant, entity)) group.gather(found)
  const state = stateOf(tenant, entity)
  return [...found].some(({ accepts }) => accepts === undefined || accepts(state, new StepBudget(maxSteps)))
}

/**
 * Whether a template expression is true for the entity of a change; false when that takes more than the step budget has [NGSIv2
 * subscriptions 4.1, 6.3].
 */
export type ConditionEvaluator = (expression: string, change: Change, cause: Cause, budget: StepBudget) => boolean

/**
 * The test of selectors and expression of a subscription with rules of NGSIv2; undefined for one without an expression to which
 * the index already finds the right entities [NGSIv2 subscriptions 4.1]. The test is false when it takes more steps than it may.
 */
function acceptanceOf(subscription: Subscription): ((change: Change, budget: StepBudget) => boolean) | undefined {
  const { terms, tenant, path, selectors } = subscription
  const condition = terms?.condition
  if (condition === undefined) return undefined
  const own = new StepBudget(maxSteps)
  const matches = compileQuery(
    {
      ...{ tenant, paths: [path], selectors, attributes: [], scopes: condition.scopes },
      ...{ order: [], offset: 0, limit: 0, counted: false },
    },
    own,
  )
  const needed = attributesNeeded(condition.scopes)
  return (change, budget) => {
    const most = budget.left
    own.renew(most)
    if (needed.some((name) => indexOf(change).after(name) === undefined)) return false
    const isMatch = matches(change.entity)
    return budget.spend(most - own.left) && isMatch
  }
}

/**
 * The attributes of `mq` statements. No statement holds without its attribute; in a query, by contrast, the metadata of an absent
 * attribute count as absent [NGSIv2 subscriptions 4.1].
 */
function attributesNeeded(scopes: readonly Scope[]): readonly string[] {
  return scopes.flatMap((scope) => {
    if (scope.kind !== 'filter' || scope.filter.on !== 'metadata') return []
    return scope.filter.statements.flatMap(({ path: [name = ''] }) => name)
  })
}
