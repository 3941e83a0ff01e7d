import type { EntityId, EntityType } from '../context/entity.js'
import { acceptedPattern } from '../context/pattern.js'
import type { Selector } from '../context/query.js'
import type { IndexedContext } from './indexed-contexts.js'
import { NamedEntity } from './named-entity.js'
import type { RegisteredEntity } from './registration.js'

/** Who names what in one tenant, by id and by type, so that what one request asks for does not walk all registrations. */
export class TenantRegistrations {
  readonly #byType = new Map<EntityType, Map<EntityId, NamedEntity>>()
  /** The entities of an id: the only one, as most are, or those of several types. */
  readonly #byId = new Map<EntityId, NamedEntity | Set<NamedEntity>>()

  enter(listed: IndexedContext): void {
    for (const entity of listed.context.entities) {
      const named = this.named(entity)
      if (named === undefined) this.#begin(new NamedEntity(entity, listed))
      else named.enter(listed)
    }
  }

  leave(listed: IndexedContext): void {
    for (const entity of listed.context.entities) {
      const named = this.named(entity)
      if (named === undefined) continue // The context has the entity twice.
      if (!named.leave(listed)) this.#end(named)
    }
  }

  /** The entity of exactly this id and type. */
  named({ id, type }: RegisteredEntity): NamedEntity | undefined {
    return this.#byType.get(type)?.get(id)
  }

  /**
   * The entities that a selector means, without a type those of every type, in no particular order; and nothing for every
   * entity that a pattern was tried on in vain: whoever looks may pause there.
   */
  *tried({ id, type }: Selector): Generator<NamedEntity | undefined> {
    if (id.kind === 'exact') {
      for (const named of this.#ofId(id.id)) if (type === undefined || named.entity.type === type) yield named
      return
    }
    const matches = id.kind === 'any' ? () => true : acceptedPattern(id.pattern).test
    for (const ids of type === undefined ? this.#byType.values() : [this.#byType.get(type)]) {
      for (const named of ids?.values() ?? []) yield matches(named.entity.id) ? named : undefined
    }
  }

  #ofId(id: EntityId): Iterable<NamedEntity> {
    const held = this.#byId.get(id)
    if (held === undefined) return []
    return held instanceof NamedEntity ? [held] : held
  }

  #begin(named: NamedEntity): void {
    const { id, type } = named.entity
    const ids = this.#byType.get(type) ?? new Map<EntityId, NamedEntity>()
    this.#byType.set(type, ids.set(id, named))
    const held = this.#byId.get(id)
    if (held === undefined) this.#byId.set(id, named)
    else if (held instanceof NamedEntity) this.#byId.set(id, new Set([held, named]))
    else held.add(named)
  }

  #end(named: NamedEntity): void {
    const { id, type } = named.entity
    const ids = this.#byType.get(type)
    ids?.delete(id)
    if (ids?.size === 0) this.#byType.delete(type)
    const held = this.#byId.get(id)
    if (held instanceof Set) held.delete(named)
    if (held === named || (held instanceof Set && held.size === 0)) this.#byId.delete(id)
  }
}
