import { LruCache } from '../../lru-cache.js'
import type { EntityId, Tenant } from '../../model/context/entity.js'
import { lastingPattern } from '../../model/context/pattern.js'
import type { Subscription } from '../../model/subscription/subscription.js'
import { Slices } from '../../slices.js'

/** The longest id [context 4.2]. */
const longestId = 1024

/** The size of the cache of pattern costs. */
const known_bytes = 2 ** 20

/** The parts of a subscription that say which entities it is about. */
export type Comparable = Pick<Subscription, 'tenant' | 'selectors' | 'onChange'>

interface PatternCost {
  /** Steps to match the longest id. */
  readonly steps: number
  /** Transitions that every partition visits when it takes up the pattern. */
  readonly transitions: number
}

interface HeldPattern extends PatternCost {
  holders: number
}

/**
 * What the patterns of a tenant's subscriptions cost an update of an id that is new to its partition, which has to be
 * compared with all of them. Equal ones are compared once.
 */
export class PatternCosts {
  readonly #tenants = new Map<Tenant, Map<string, HeldPattern>>()
  readonly #sums = new Map<Tenant, number>()
  readonly #known = new LruCache<PatternCost>(known_bytes)

  /** Looks at the patterns of a subscription in slices: some take milliseconds. */
  async prepare(subscription: Comparable): Promise<void> {
    const slices = new Slices()
    for (const pattern of patternsOf(subscription)) {
      this.#costOf(subscription.tenant, pattern)
      if (slices.isOver) await slices.next()
    }
  }

  /** The steps of the longest id when these patterns are added. */
  with({ tenant, ...subscription }: Subscription): number {
    const held = this.#tenants.get(tenant)
    const fresh = patternsOf(subscription).filter((pattern) => held?.has(pattern) !== true)
    return fresh.reduce((sum, pattern) => sum + this.#costOf(tenant, pattern).steps, this.#sums.get(tenant) ?? 0)
  }

  /** Transitions that every partition visits when it takes up the subscription. */
  transitions({ tenant, ...subscription }: Subscription): number {
    return patternsOf(subscription).reduce((sum, pattern) => sum + this.#costOf(tenant, pattern).transitions, 0)
  }

  add({ tenant, ...subscription }: Subscription): void {
    for (const pattern of patternsOf(subscription)) {
      const patterns = this.#tenants.get(tenant) ?? new Map<string, HeldPattern>()
      this.#tenants.set(tenant, patterns)
      const held = patterns.get(pattern)
      if (held) {
        held.holders += 1
        continue
      }
      const cost = this.#costOf(tenant, pattern)
      patterns.set(pattern, { ...cost, holders: 1 })
      this.#sums.set(tenant, (this.#sums.get(tenant) ?? 0) + cost.steps)
    }
  }

  remove({ tenant, ...subscription }: Subscription): void {
    const patterns = this.#tenants.get(tenant)
    for (const pattern of patternsOf(subscription)) {
      const held = patterns?.get(pattern)
      if (patterns === undefined || held === undefined) continue
      held.holders -= 1
      if (held.holders > 0) continue
      patterns.delete(pattern)
      this.#sums.set(tenant, (this.#sums.get(tenant) ?? 0) - held.steps)
    }
    if (patterns?.size !== 0) return
    this.#tenants.delete(tenant)
    this.#sums.delete(tenant)
  }

  #costOf(tenant: Tenant, pattern: string): PatternCost {
    const known = this.#tenants.get(tenant)?.get(pattern) ?? this.#known.get(pattern)
    if (known !== undefined) return known
    const { steps, transitions } = lastingPattern(pattern)
    const cost = { steps: steps(longestId), transitions }
    this.#known.put(pattern, cost, 0)
    return cost
  }
}

/** Each once; those of subscriptions that changes do not fire are of no concern to partitions. */
function patternsOf({ selectors, onChange }: Pick<Subscription, 'selectors' | 'onChange'>): readonly string[] {
  if (onChange === undefined || !selectors.some(({ id }) => id.kind === 'pattern')) return []
  return [...new Set(selectors.flatMap(({ id }) => (id.kind === 'pattern' ? [id.pattern] : [])))]
}

/** The subscriptions of a tenant that may be about the same entity. */
interface OfTenant {
  /** With patterns, or to all ids. */
  sought: number
  readonly exact: Map<EntityId, number>
  /** The most of one exact id; nothing when it has to be looked for. */
  most: number | undefined
}

/**
 * How many subscriptions one update of an entity is compared with at most, and may have to be told to: those to its id,
 * and those of its tenant to patterns or to all ids. One with many selectors or names of attributes counts as several.
 */
export class EntityCosts {
  readonly #tenants = new Map<Tenant, OfTenant>()

  /** The most that an entity has which the subscription may be about, when it is added. */
  with(subscription: Subscription): number {
    const { sought, exact } = weightsOf(subscription)
    const held = this.#tenants.get(subscription.tenant)
    let most = sought > 0 ? mostOf(held) : 0
    for (const [id, weight] of exact) most = Math.max(most, weight + (held?.exact.get(id) ?? 0))
    return most + sought + (held?.sought ?? 0)
  }

  add(subscription: Subscription): void {
    const { tenant } = subscription
    const held = this.#tenants.get(tenant) ?? { sought: 0, exact: new Map<EntityId, number>(), most: 0 }
    this.#tenants.set(tenant, held)
    const { sought, exact } = weightsOf(subscription)
    held.sought += sought
    for (const [id, weight] of exact) {
      const after = weight + (held.exact.get(id) ?? 0)
      held.exact.set(id, after)
      if (held.most !== undefined) held.most = Math.max(held.most, after)
    }
  }

  remove(subscription: Subscription): void {
    const { tenant } = subscription
    const held = this.#tenants.get(tenant)
    if (held === undefined) return
    const { sought, exact } = weightsOf(subscription)
    held.sought -= sought
    for (const [id, weight] of exact) {
      const before = held.exact.get(id) ?? 0
      if (before === held.most) held.most = undefined
      if (before > weight) held.exact.set(id, before - weight)
      else held.exact.delete(id)
    }
    if (held.sought === 0 && held.exact.size === 0) this.#tenants.delete(tenant)
  }
}

function mostOf(held: OfTenant | undefined): number {
  if (held === undefined) return 0
  if (held.most !== undefined) return held.most
  let most = 0
  for (const weight of held.exact.values()) most = Math.max(most, weight)
  held.most = most
  return most
}

/** Looking up this many names or selectors takes as long as a notification. */
const lookedUpAsOne = 16

function weightsOf({ selectors, onChange, attributes }: Subscription) {
  const exact = new Map<EntityId, number>()
  if (onChange === undefined) return { sought: 0, exact }
  let sought = 0
  for (const { id } of selectors) {
    if (id.kind === 'exact') exact.set(id.id, (exact.get(id.id) ?? 0) + 1)
    else sought += 1
  }
  const weight = (times: number) =>
    1 + Math.floor((times * Math.max(1, onChange.length) + attributes.length) / lookedUpAsOne)
  for (const [id, times] of exact) exact.set(id, weight(times))
  return { sought: sought === 0 ? 0 : weight(sought), exact }
}
