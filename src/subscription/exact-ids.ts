import type { Entity, EntityId, EntityType } from '../context/entity.js'
import { inRange } from '../context/query.js'
import { type Audience, Audiences, type Listener, type Triggered, untyped } from './match-group.js'

/** So many listeners to an id are gone through; more are arranged. */
const fewListeners = 8

/**
 * Who listens to entities of exact ids. There are many of them and most have one listener or two, which are held as they
 * are: arranged by type, path and attribute each would take several times the memory.
 */
export class ExactIds {
  readonly #ofId = new Map<EntityId, Single[] | Audiences>()

  get isEmpty(): boolean {
    return this.#ofId.size === 0
  }

  add(id: EntityId, type: EntityType, listener: Listener): void {
    const held = this.#ofId.get(id)
    if (held === undefined) this.#ofId.set(id, [new Single(type, listener)])
    else if (held instanceof Audiences) held.add(type, listener)
    else if (held.length < fewListeners) held.push(new Single(type, listener))
    else this.#ofId.set(id, arranged([...held, new Single(type, listener)]))
  }

  remove(id: EntityId, type: EntityType, listener: Listener): void {
    const held = this.#ofId.get(id)
    if (held === undefined) return
    if (held instanceof Audiences) held.remove(type, listener)
    else {
      const place = held.findIndex((single) => single.is(type, listener))
      if (place !== -1) held.splice(place, 1)
    }
    if (held instanceof Audiences ? held.isEmpty : held.length === 0) this.#ofId.delete(id)
  }

  /** Adds those of the entity's id, path and type. */
  gather(entity: Entity, into: Audience[]): void {
    const held = this.#ofId.get(entity.id)
    if (held === undefined) return
    if (held instanceof Audiences) held.gather(entity, into)
    else for (const single of held) if (single.hears(entity)) into.push(single)
  }

  has(id: EntityId): boolean {
    return this.#ofId.has(id)
  }
}

/** One listener to entities of a type. */
class Single implements Audience {
  readonly #type: EntityType
  readonly #listener: Listener

  constructor(type: EntityType, listener: Listener) {
    this.#type = type
    this.#listener = listener
  }

  is(type: EntityType, listener: Listener): boolean {
    return this.#type === type && this.#listener === listener
  }

  /** An empty type on either side matches any [subscriptions 3.1, points 3 and 4]. */
  hears({ type, path }: Entity): boolean {
    if (type !== this.#type && type !== untyped && this.#type !== untyped) return false
    return inRange(path, this.#listener.subscription.path)
  }

  gatherTriggered(into: Triggered): void {
    const { onChange = [] } = this.#listener.subscription
    if (onChange.length === 0 || onChange.some((name) => into.has(name))) into.add(this.#listener)
  }

  gather(into: Set<Listener>): void {
    into.add(this.#listener)
  }

  addTo(audiences: Audiences): void {
    audiences.add(this.#type, this.#listener)
  }
}

function arranged(singles: readonly Single[]): Audiences {
  const audiences = new Audiences()
  for (const single of singles) single.addTo(audiences)
  return audiences
}
