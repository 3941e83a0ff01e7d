import type { Entity, EntityType } from '../context/entity.js'
import { inRange, type PathRange } from '../context/query.js'
import type { SubscriptionInForce } from './subscription.js'

/** A subscription as the index holds it. */
export interface Listener extends SubscriptionInForce {
  /** The number of the last change that triggered it. */
  triggeredBy: number
}

/** Subscriptions that mean an entity. */
export interface Audience {
  /** Adds those that the change triggers [subscriptions 3.1, point 5]. */
  gatherTriggered(into: Triggered): void
  /** Adds all of them. */
  gather(into: Set<Listener>): void
}

/** The subscriptions that one change triggers, each once, however many of its selectors match. */
export class Triggered {
  /** Names of the attributes that count as changed. */
  readonly changed: readonly string[]
  readonly #number: number
  readonly #listeners: Listener[] = []
  #names: ReadonlySet<string> | undefined
  #lastOrder = 0
  #isInOrder = true

  /** No other change of this partition may have the number. */
  constructor(number: number, changed: readonly string[]) {
    this.#number = number
    this.changed = changed
  }

  /** Whether an attribute has changed. */
  has(name: string): boolean {
    this.#names ??= new Set(this.changed)
    return this.#names.has(name)
  }

  add(listener: Listener): void {
    if (listener.triggeredBy === this.#number) return
    listener.triggeredBy = this.#number
    this.#listeners.push(listener)
    const { order } = listener.subscription
    if (order < this.#lastOrder) this.#isInOrder = false
    this.#lastOrder = order
  }

  /** In the order of creation: the same turn makes the same notices. */
  get listeners(): readonly Listener[] {
    const listeners = this.#listeners
    // They mostly are, and to compare very many takes as long as all the rest of this.
    return this.#isInOrder ? listeners : listeners.sort((a, b) => a.subscription.order - b.subscription.order)
  }
}

/** Subscriptions that mean the same entities, arranged by what triggers them. */
class ArrangedAudience implements Audience {
  readonly #path: PathRange
  readonly #ofAny = new Set<Listener>()
  readonly #ofName = new Map<string, Set<Listener>>()

  constructor(path: PathRange) {
    this.#path = path
  }

  get isEmpty(): boolean {
    return this.#ofAny.size === 0 && this.#ofName.size === 0
  }

  /** Whether it means the entities of this one's path [subscriptions 3.1, point 3]. */
  hears({ path }: Entity): boolean {
    return inRange(path, this.#path)
  }

  add(listener: Listener): void {
    const { onChange = [] } = listener.subscription
    if (onChange.length === 0) this.#ofAny.add(listener)
    for (const name of onChange) entry(this.#ofName, name, newSet<Listener>).add(listener)
  }

  remove(listener: Listener): void {
    this.#ofAny.delete(listener)
    for (const name of listener.subscription.onChange ?? []) {
      const listeners = this.#ofName.get(name)
      listeners?.delete(listener)
      if (listeners?.size === 0) this.#ofName.delete(name)
    }
  }

  gatherTriggered(into: Triggered): void {
    for (const listener of this.#ofAny) into.add(listener)
    if (this.#ofName.size < into.changed.length) {
      for (const [name, listeners] of this.#ofName) if (into.has(name)) for (const one of listeners) into.add(one)
    } else {
      for (const name of into.changed) for (const one of this.#ofName.get(name) ?? nobody) into.add(one)
    }
  }

  gather(into: Set<Listener>): void {
    for (const listener of this.#ofAny) into.add(listener)
    for (const listeners of this.#ofName.values()) for (const listener of listeners) into.add(listener)
  }
}

const nobody: readonly Listener[] = []

/** The audiences of one exact id, or of one pattern: by type, the empty text for any, and by path. */
export class Audiences {
  readonly #ofType = new Map<EntityType, Map<string, ArrangedAudience>>()

  get isEmpty(): boolean {
    return this.#ofType.size === 0
  }

  has(type: EntityType): boolean {
    return this.#ofType.has(type)
  }

  /** Adds a listener; gives whether there is a new audience. */
  add(type: EntityType, listener: Listener): boolean {
    const { path } = listener.subscription
    const ofPath = entry(this.#ofType, type, newMap<string, ArrangedAudience>)
    const before = ofPath.size
    entry(ofPath, nameOf(path), () => new ArrangedAudience(path)).add(listener)
    return ofPath.size > before
  }

  /** Removes a listener; gives whether an audience is gone. */
  remove(type: EntityType, listener: Listener): boolean {
    const ofPath = this.#ofType.get(type)
    const name = nameOf(listener.subscription.path)
    const audience = ofPath?.get(name)
    if (!ofPath || !audience) return false
    audience.remove(listener)
    if (!audience.isEmpty) return false
    ofPath.delete(name)
    if (ofPath.size === 0) this.#ofType.delete(type)
    return true
  }

  /** Adds those of the entity's path and type; an empty type on either side matches any [subscriptions 3.1, point 4]. */
  gather(entity: Entity, into: Audience[]): void {
    if (entity.type === untyped) {
      for (const audiences of this.#ofType.values()) gatherIn(audiences, entity, into)
    } else {
      gatherIn(this.#ofType.get(entity.type), entity, into)
      gatherIn(this.#ofType.get(untyped), entity, into)
    }
  }
}

/** The type of entities without one, and of selectors for any. */
export const untyped = '' as EntityType

function gatherIn(
  audiences: ReadonlyMap<string, ArrangedAudience> | undefined,
  entity: Entity,
  into: Audience[],
): void {
  if (audiences === undefined) return
  for (const audience of audiences.values()) if (audience.hears(entity)) into.push(audience)
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

/** What a map holds under a key, made if need be. */
export function entry<Key, Item>(map: Map<Key, Item>, key: Key, make: () => Item): Item {
  const held = map.get(key)
  if (held !== undefined) return held
  const made = make()
  map.set(key, made)
  return made
}
