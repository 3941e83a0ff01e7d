import type { EntityId, EntityType } from '../context/entity.js'
import { acceptedPattern } from '../context/pattern.js'
import type { Selector } from '../context/query.js'
import { type IndexedContext, insertContext, OrderedContexts, removeContext } from './contexts.js'
import type { RegisteredEntity } from './registration.js'

/** Who names what in one tenant, by id and by type, so that what one request asks for does not walk all registrations. */
export class TenantRegistrations {
  readonly #contexts = new OrderedContexts()
  readonly #byType = new Map<EntityType, Map<EntityId, NamedEntity>>()
  /** The entities of an id: the only one, as most are, or those of several types. */
  readonly #byId = new Map<EntityId, NamedEntity | Set<NamedEntity>>()
  /** What stands for the entities of every id. */
  readonly #everyId = new Map<EntityType, NamedEntity>()

  /** Whether nothing is registered. */
  get isEmpty(): boolean {
    return this.#contexts.size === 0
  }

  /** All contexts, by creation. Changes with what is registered. */
  get contexts(): readonly IndexedContext[] {
    return this.#contexts.all
  }

  enter(listed: IndexedContext): void {
    this.#contexts.enter(listed)
    for (const entity of listed.context.entities) {
      const named = this.named(entity)
      if (named === undefined) this.#begin(new NamedEntity(entity, listed))
      else named.enter(listed)
    }
  }

  leave(listed: IndexedContext): void {
    this.#contexts.leave(listed)
    for (const entity of listed.context.entities) {
      const named = this.named(entity)
      if (named === undefined) continue // The context has the entity twice.
      if (!named.leave(listed)) this.#end(named)
    }
  }

  /** The entity of exactly this id and type, or the one that stands for every id of exactly this type. */
  named({ id, type, everyId }: RegisteredEntity): NamedEntity | undefined {
    return everyId ? this.#everyId.get(type) : this.#byType.get(type)?.get(id)
  }

  /**
   * The entities that a selector means, without a type those of every type, in no particular order; those that stand for
   * every id are meant whatever the id. And nothing for every entity that a pattern was tried on in vain: whoever looks
   * may pause there. With `untyped` those without type are meant by every type.
   */
  *tried({ id, type, typePattern }: Selector, untyped = false): Generator<NamedEntity | undefined> {
    const ofType = typeTest(type, typePattern, untyped)
    for (const named of this.#everyId.values()) if (ofType(named.entity.type)) yield named
    if (id.kind === 'exact') {
      for (const named of this.#ofId(id.id)) if (ofType(named.entity.type)) yield named
      return
    }
    const matches = id.kind === 'any' ? () => true : acceptedPattern(id.pattern).test
    for (const [each, ids] of this.#typed(type, untyped)) {
      if (!ofType(each)) yield undefined
      else for (const named of ids.values()) yield matches(named.entity.id) ? named : undefined
    }
  }

  /** The entities by their types: only those that a type leaves. */
  *#typed(type: EntityType | undefined, untyped: boolean): Iterable<[EntityType, ReadonlyMap<EntityId, NamedEntity>]> {
    if (type === undefined) {
      yield* this.#byType
      return
    }
    for (const each of untyped && type !== '' ? [type, '' as EntityType] : [type]) {
      const ids = this.#byType.get(each)
      if (ids !== undefined) yield [each, ids]
    }
  }

  #ofId(id: EntityId): Iterable<NamedEntity> {
    const held = this.#byId.get(id)
    if (held === undefined) return []
    return held instanceof NamedEntity ? [held] : held
  }

  #begin(named: NamedEntity): void {
    const { id, type, everyId } = named.entity
    if (everyId) {
      this.#everyId.set(type, named)
      return
    }
    const ids = this.#byType.get(type) ?? new Map<EntityId, NamedEntity>()
    this.#byType.set(type, ids.set(id, named))
    const held = this.#byId.get(id)
    if (held === undefined) this.#byId.set(id, named)
    else if (held instanceof NamedEntity) this.#byId.set(id, new Set([held, named]))
    else held.add(named)
  }

  #end(named: NamedEntity): void {
    const { id, type, everyId } = named.entity
    if (everyId) {
      this.#everyId.delete(type)
      return
    }
    const ids = this.#byType.get(type)
    ids?.delete(id)
    if (ids?.size === 0) this.#byType.delete(type)
    const held = this.#byId.get(id)
    if (held instanceof Set) held.delete(named)
    if (held === named || (held instanceof Set && held.size === 0)) this.#byId.delete(id)
  }
}

/** What tells whether entities of a registered type are meant. */
function typeTest(
  type: EntityType | undefined,
  typePattern: string | undefined,
  untyped: boolean,
): (registered: EntityType) => boolean {
  if (type !== undefined) return (registered) => registered === type || (untyped && registered === '')
  if (typePattern === undefined) return () => true
  const { test } = acceptedPattern(typePattern)
  return (registered) => (registered === '' ? untyped : test(registered))
}

/** Up to this many names of attributes are searched one by one; more are looked up in a set. */
const fewNames = 16

/**
 * An entity of one id and type with the contexts that name it. Most are named by one context with a few attributes: they
 * are many, so they hold no more than that.
 */
export class NamedEntity {
  readonly entity: RegisteredEntity
  readonly #contexts: IndexedContext[]
  /** How many names the contexts have together. */
  #names: number
  /** By attribute, once there are many names; under the empty name, which no attribute has, those without attributes. */
  #byAttribute: Map<string, IndexedContext[]> | undefined

  /** One that a first context names. */
  constructor(entity: RegisteredEntity, first: IndexedContext) {
    this.entity = entity
    this.#contexts = [first]
    this.#names = namesOf(first).length
    this.#look()
  }

  /** The contexts that name it, in their order. Changes with what is registered. */
  get contexts(): readonly IndexedContext[] {
    return this.#contexts
  }

  /** Those of an attribute, in their order; of the empty name those without attributes. */
  having(name: string): readonly IndexedContext[] {
    if (this.#byAttribute !== undefined) return this.#byAttribute.get(name) ?? none
    const isMeant = ({ context: { attributes } }: IndexedContext): boolean =>
      name === '' ? attributes.length === 0 : attributes.some((attribute) => attribute.name === name)
    return this.#contexts.filter(isMeant)
  }

  enter(listed: IndexedContext): void {
    const before = this.#contexts.length
    insertContext(this.#contexts, listed)
    if (this.#contexts.length === before) return // The context has the entity twice.
    this.#names += namesOf(listed).length
    if (this.#byAttribute === undefined) this.#look()
    else lookUp(this.#byAttribute, listed)
  }

  /** Gives whether a context still names it. */
  leave(listed: IndexedContext): boolean {
    const before = this.#contexts.length
    removeContext(this.#contexts, listed)
    if (this.#contexts.length < before) {
      this.#names -= namesOf(listed).length
      for (const name of namesOf(listed)) {
        const contexts = this.#byAttribute?.get(name)
        if (contexts === undefined) continue
        removeContext(contexts, listed)
        if (contexts.length === 0) this.#byAttribute?.delete(name)
      }
    }
    return this.#contexts.length > 0
  }

  /** From now on names are looked up, if there are enough of them. */
  #look(): void {
    if (this.#names <= fewNames) return
    this.#byAttribute = new Map()
    for (const listed of this.#contexts) lookUp(this.#byAttribute, listed)
  }
}

const none: readonly IndexedContext[] = []

function lookUp(byAttribute: Map<string, IndexedContext[]>, listed: IndexedContext): void {
  for (const name of namesOf(listed)) {
    const contexts = byAttribute.get(name)
    if (contexts === undefined) byAttribute.set(name, [listed])
    else insertContext(contexts, listed)
  }
}

function namesOf({ context: { attributes } }: IndexedContext): readonly string[] {
  return attributes.length === 0 ? withoutAttributes : attributes.map(({ name }) => name)
}

const withoutAttributes: readonly string[] = ['']
