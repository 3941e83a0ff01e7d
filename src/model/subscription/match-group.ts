import type { Entity, EntityType } from '../context/entity.js'
import { inRange, type PathRange } from '../context/query.js'
import type { StepBudget } from '../context/step-budget.js'
import { type Change, hears, hearsMoreThanChanges } from './change.js'
import type { Provisional } from './decisions.js'
import type { SubscriptionInForce } from './subscription.js'

/** A subscription as the index holds it. */
export interface IndexedSubscription extends SubscriptionInForce {
  /**
   * For rules of NGSIv2: whether selectors and expression hold for the entity; takes its steps from the budget [NGSIv2
   * subscriptions 4.1].
   */
  readonly accepts: ((change: Change, budget: StepBudget) => boolean) | undefined
  /** The mark of its notices while a change of the subscription is undecided. */
  readonly provisional: Provisional | undefined
  /** The number of the last change that was tested for it. */
  lookedAtBy: number
}

/** Subscriptions to the same entities. */
export interface MatchGroup {
  /** Adds those that the change triggers [subscriptions 3.1, point 5], [NGSIv2 subscriptions 4.1, point 4]. */
  gatherTriggered(into: Triggered): void
  /** Adds all of them. */
  gather(into: Set<IndexedSubscription>): void
}

/** The subscriptions that one change triggers, each once, however many of its selectors match. */
export class Triggered {
  readonly change: Change
  readonly #number: number
  readonly #subscriptions: IndexedSubscription[] = []
  #names: ReadonlySet<string> | undefined
  #lastOrder = 0
  #isInOrder = true

  /** The number has to be unique among the changes of this partition. */
  constructor(number: number, change: Change) {
    this.#number = number
    this.change = change
  }

  has(name: string): boolean {
    this.#names ??= new Set(this.change.changed)
    return this.#names.has(name)
  }

  /** Adds a subscription if the change triggers it. It is tested once, however many attributes lead to it. */
  consider(indexed: IndexedSubscription): void {
    if (indexed.lookedAtBy === this.#number) return
    indexed.lookedAtBy = this.#number
    if (!isHeard(indexed, this.change)) return
    this.#subscriptions.push(indexed)
    const { order } = indexed.subscription
    if (order < this.#lastOrder) this.#isInOrder = false
    this.#lastOrder = order
  }

  /** In the order of creation, so that every replica makes the same notices. */
  get subscriptions(): readonly IndexedSubscription[] {
    const subscriptions = this.#subscriptions
    // They are mostly in order, and sorting very many takes as long as all the rest of this.
    return this.#isInOrder ? subscriptions : subscriptions.sort((a, b) => a.subscription.order - b.subscription.order)
  }
}

/** Subscriptions to the same entities, indexed by the attributes that trigger them. */
class PathMatchGroup implements MatchGroup {
  readonly #path: PathRange
  readonly #ofAny = new Set<IndexedSubscription>()
  readonly #ofName = new Map<string, Set<IndexedSubscription>>()
  /** Those that are also notified of updates without a change, or of removals. */
  readonly #attentive = new Set<IndexedSubscription>()

  constructor(path: PathRange) {
    this.#path = path
  }

  get isEmpty(): boolean {
    return this.#ofAny.size === 0 && this.#ofName.size === 0 && this.#attentive.size === 0
  }

  /** Whether it means the entity's path [subscriptions 3.1, point 3]. */
  matches({ path }: Entity): boolean {
    return inRange(path, this.#path)
  }

  add(indexed: IndexedSubscription): void {
    const { onChange = [] } = indexed.subscription
    if (hearsMoreThanChanges(indexed.subscription)) {
      this.#attentive.add(indexed)
      return
    }
    if (onChange.length === 0) this.#ofAny.add(indexed)
    for (const name of onChange) entry(this.#ofName, name, newSet<IndexedSubscription>).add(indexed)
  }

  remove(indexed: IndexedSubscription): void {
    this.#ofAny.delete(indexed)
    this.#attentive.delete(indexed)
    for (const name of indexed.subscription.onChange ?? []) {
      const subscriptions = this.#ofName.get(name)
      subscriptions?.delete(indexed)
      if (subscriptions?.size === 0) this.#ofName.delete(name)
    }
  }

  gatherTriggered(into: Triggered): void {
    const { change } = into
    for (const indexed of this.#attentive) into.consider(indexed)
    if (change.kind !== 'put' || change.changed.length === 0) return
    for (const indexed of this.#ofAny) into.consider(indexed)
    if (this.#ofName.size < change.changed.length) {
      for (const [name, subscriptions] of this.#ofName)
        if (into.has(name)) for (const one of subscriptions) into.consider(one)
    } else {
      for (const name of change.changed) for (const one of this.#ofName.get(name) ?? nobody) into.consider(one)
    }
  }

  gather(into: Set<IndexedSubscription>): void {
    for (const indexed of this.#ofAny) into.add(indexed)
    for (const indexed of this.#attentive) into.add(indexed)
    for (const subscriptions of this.#ofName.values()) for (const indexed of subscriptions) into.add(indexed)
  }
}

const nobody: readonly IndexedSubscription[] = []

/** By the rules of NGSIv1 every subscription that a changed attribute leads to is triggered. */
function isHeard({ subscription: { onChange = [], terms } }: IndexedSubscription, change: Change): boolean {
  return terms?.condition === undefined || hears(onChange, terms.condition, change)
}

/** The groups of one exact id, or of one pattern: by type, the empty text for any, and by path. */
export class MatchGroups {
  readonly #ofType = new Map<EntityType, Map<string, PathMatchGroup>>()

  get isEmpty(): boolean {
    return this.#ofType.size === 0
  }

  has(type: EntityType): boolean {
    return this.#ofType.has(type)
  }

  /** Adds a subscription; gives whether that made a new group. */
  add(type: EntityType, indexed: IndexedSubscription): boolean {
    const { path } = indexed.subscription
    const ofPath = entry(this.#ofType, type, newMap<string, PathMatchGroup>)
    const before = ofPath.size
    entry(ofPath, nameOf(path), () => new PathMatchGroup(path)).add(indexed)
    return ofPath.size > before
  }

  /** Removes a subscription; gives whether that removed a group. */
  remove(type: EntityType, indexed: IndexedSubscription): boolean {
    const ofPath = this.#ofType.get(type)
    const name = nameOf(indexed.subscription.path)
    const group = ofPath?.get(name)
    if (!ofPath || !group) return false
    group.remove(indexed)
    if (!group.isEmpty) return false
    ofPath.delete(name)
    if (ofPath.size === 0) this.#ofType.delete(type)
    return true
  }

  /** Adds the groups of the entity's path and type; an empty type on either side matches any [subscriptions 3.1, point 4]. */
  gather(entity: Entity, into: MatchGroup[]): void {
    if (entity.type === untyped) {
      for (const groups of this.#ofType.values()) gatherIn(groups, entity, into)
    } else {
      gatherIn(this.#ofType.get(entity.type), entity, into)
      gatherIn(this.#ofType.get(untyped), entity, into)
    }
  }
}

/** The type of entities without one, and of selectors for any. */
export const untyped = '' as EntityType

function gatherIn(groups: ReadonlyMap<string, PathMatchGroup> | undefined, entity: Entity, into: MatchGroup[]): void {
  if (groups === undefined) return
  for (const group of groups.values()) if (group.matches(entity)) into.push(group)
}

function nameOf({ path, below }: PathRange): string {
  return below ? `${path}/#` : path
}

function newSet<Item>(): Set<Item> {
  return new Set()
}

function newMap<Key, Item>(): Map<Key, Item> {
  return new Map()
}

/** The item of a map under a key; it is made if the key is missing. */
export function entry<Key, Item>(map: Map<Key, Item>, key: Key, make: () => Item): Item {
  const held = map.get(key)
  if (held !== undefined) return held
  const made = make()
  map.set(key, made)
  return made
}
