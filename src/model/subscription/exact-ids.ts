import type { Entity, EntityId, EntityType } from '../context/entity.js'
import { inRange } from '../context/query.js'
import { hearsMoreThanChanges } from './change.js'
import { type IndexedSubscription, type MatchGroup, MatchGroups, type Triggered, untyped } from './match-group.js'

/** Up to this many subscriptions to an id are searched linearly; more are indexed by type and path. */
const fewSubscriptions = 8

/**
 * The subscriptions to exact ids. There are many ids, and most have one or two subscriptions, which are kept in an array: an
 * index by type, path and attribute for each id would take several times the memory.
 */
export class ExactIds {
  readonly #ofId = new Map<EntityId, Single[] | MatchGroups>()

  get isEmpty(): boolean {
    return this.#ofId.size === 0
  }

  add(id: EntityId, type: EntityType, indexed: IndexedSubscription): void {
    const held = this.#ofId.get(id)
    if (held === undefined) this.#ofId.set(id, [new Single(type, indexed)])
    else if (held instanceof MatchGroups) held.add(type, indexed)
    else if (held.length < fewSubscriptions) held.push(new Single(type, indexed))
    else this.#ofId.set(id, arranged([...held, new Single(type, indexed)]))
  }

  remove(id: EntityId, type: EntityType, indexed: IndexedSubscription): void {
    const held = this.#ofId.get(id)
    if (held === undefined) return
    if (held instanceof MatchGroups) held.remove(type, indexed)
    else {
      const position = held.findIndex((single) => single.is(type, indexed))
      if (position !== -1) held.splice(position, 1)
    }
    if (held instanceof MatchGroups ? held.isEmpty : held.length === 0) this.#ofId.delete(id)
  }

  /** Adds the groups of the entity's id, path and type. */
  gather(entity: Entity, into: MatchGroup[]): void {
    const held = this.#ofId.get(entity.id)
    if (held === undefined) return
    if (held instanceof MatchGroups) held.gather(entity, into)
    else for (const single of held) if (single.matches(entity)) into.push(single)
  }

  has(id: EntityId): boolean {
    return this.#ofId.has(id)
  }
}

/** A subscription to entities of one type. */
class Single implements MatchGroup {
  readonly #type: EntityType
  readonly #indexed: IndexedSubscription

  constructor(type: EntityType, indexed: IndexedSubscription) {
    this.#type = type
    this.#indexed = indexed
  }

  is(type: EntityType, indexed: IndexedSubscription): boolean {
    return this.#type === type && this.#indexed === indexed
  }

  /** An empty type on either side matches any [subscriptions 3.1, points 3 and 4]. */
  matches({ type, path }: Entity): boolean {
    if (type !== this.#type && type !== untyped && this.#type !== untyped) return false
    return inRange(path, this.#indexed.subscription.path)
  }

  gatherTriggered(into: Triggered): void {
    const { subscription } = this.#indexed
    const { onChange = [] } = subscription
    const { kind, changed } = into.change
    const isFound =
      kind === 'put' && changed.length > 0 && (onChange.length === 0 || onChange.some((name) => into.has(name)))
    if (isFound || hearsMoreThanChanges(subscription)) into.consider(this.#indexed)
  }

  gather(into: Set<IndexedSubscription>): void {
    into.add(this.#indexed)
  }

  addTo(groups: MatchGroups): void {
    groups.add(this.#type, this.#indexed)
  }
}

function arranged(singles: readonly Single[]): MatchGroups {
  const groups = new MatchGroups()
  for (const single of singles) single.addTo(groups)
  return groups
}
