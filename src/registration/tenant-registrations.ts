import type { EntityId, EntityType } from '../context/entity.js'
import { acceptedPattern } from '../context/pattern.js'
import type { Selector } from '../context/query.js'
import { type Listed, OrderedContexts } from './ordered.js'
import type { RegisteredEntity } from './registration.js'

/** An entity of one id and type with the contexts that name it. */
export interface NamedEntity {
  readonly entity: RegisteredEntity
  readonly contexts: OrderedContexts
  /** By attribute; under the empty name, which no attribute has, those without attributes. */
  readonly byAttribute: Map<string, OrderedContexts>
}

/** Who names what in one tenant, by id and by type, so that what one request asks for does not walk all registrations. */
export class TenantRegistrations {
  readonly #byId = new Map<EntityId, Map<EntityType, NamedEntity>>()
  readonly #byType = new Map<EntityType, Map<EntityId, NamedEntity>>()

  enter(listed: Listed): void {
    for (const entity of listed.context.entities) {
      const named = this.named(entity) ?? this.#begin(entity)
      named.contexts.add(listed)
      for (const name of namesOf(listed)) {
        const contexts = named.byAttribute.get(name) ?? new OrderedContexts()
        named.byAttribute.set(name, contexts)
        contexts.add(listed)
      }
    }
  }

  leave(listed: Listed): void {
    for (const entity of listed.context.entities) {
      const named = this.named(entity)
      if (named === undefined) continue // The context has the entity twice.
      named.contexts.remove(listed)
      for (const name of namesOf(listed)) {
        const contexts = named.byAttribute.get(name)
        contexts?.remove(listed)
        if (contexts?.all.length === 0) named.byAttribute.delete(name)
      }
      if (named.contexts.all.length === 0) this.#end(entity)
    }
  }

  /** The entity of exactly this id and type. */
  named({ id, type }: RegisteredEntity): NamedEntity | undefined {
    return this.#byId.get(id)?.get(type)
  }

  /** The entities that a selector means; without a type those of every type. In no particular order. */
  *meant(selector: Selector): Generator<NamedEntity> {
    for (const named of this.tried(selector)) if (named !== undefined) yield named
  }

  /** As `meant`, with nothing for every entity that a pattern was tried on in vain: whoever looks may pause there. */
  *tried({ id, type }: Selector): Generator<NamedEntity | undefined> {
    if (id.kind === 'exact') {
      for (const named of this.#byId.get(id.id)?.values() ?? []) {
        if (type === undefined || named.entity.type === type) yield named
      }
      return
    }
    const matches = id.kind === 'any' ? () => true : acceptedPattern(id.pattern).test
    for (const ids of type === undefined ? this.#byType.values() : [this.#byType.get(type)]) {
      for (const named of ids?.values() ?? []) yield matches(named.entity.id) ? named : undefined
    }
  }

  #begin(entity: RegisteredEntity): NamedEntity {
    const named = { entity, contexts: new OrderedContexts(), byAttribute: new Map() }
    const types = this.#byId.get(entity.id) ?? new Map()
    this.#byId.set(entity.id, types.set(entity.type, named))
    const ids = this.#byType.get(entity.type) ?? new Map()
    this.#byType.set(entity.type, ids.set(entity.id, named))
    return named
  }

  #end({ id, type }: RegisteredEntity): void {
    const types = this.#byId.get(id)
    types?.delete(type)
    if (types?.size === 0) this.#byId.delete(id)
    const ids = this.#byType.get(type)
    ids?.delete(id)
    if (ids?.size === 0) this.#byType.delete(type)
  }
}

function namesOf({ context: { attributes } }: Listed): readonly string[] {
  return attributes.length === 0 ? [''] : attributes.map(({ name }) => name)
}
