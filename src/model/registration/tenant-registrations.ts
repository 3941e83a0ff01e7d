import type { EntityId, EntityType } from '../context/entity.js'
import { acceptedPattern } from '../context/pattern.js'
import type { Selector } from '../context/query.js'
import { type IndexedContext, insertContext, OrderedContexts, removeContext } from './contexts.js'
import type { RegisteredEntity } from './registration.js'

/** The registrations of one tenant, indexed by id and type, so that no request walks all of them. */
export class TenantRegistrations {
  readonly #contexts = new OrderedContexts()
  readonly #byType = new Map<EntityType, Map<EntityId, NamedEntity>>()
  /** The entities of an id: mostly a single one, otherwise those of several types. */
  readonly #byId = new Map<EntityId, NamedEntity | Set<NamedEntity>>()
  /** The entities that stand for every id. */
  readonly #everyId = new Map<EntityType, NamedEntity>()

  get isEmpty(): boolean {
    return this.#contexts.size === 0
  }

  /** All contexts, in the order of creation; a live view. */
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
   * The entities that a selector means (without a type: of every type), in no particular order; those that stand for every id
   * always match. Yields undefined for each entity that a pattern did not match, where the caller may pause. With `untyped` every
   * type also means entities without type.
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

  /** The entities of the types that are meant, by type. */
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

/** A test of registered types. */
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

/** Up to this many attribute names are searched linearly; more are looked up in a map. */
const fewNames = 16

/**
 * An entity of one id and type, with the contexts that name it. There are many, mostly named by one context with a few
 * attributes, so the object is kept small.
 */
export class NamedEntity {
  readonly entity: RegisteredEntity
  readonly #contexts: IndexedContext[]
  /** The number of attribute names in all contexts. */
  #names: number
  /** By attribute, once there are many names; contexts without attributes are under the empty name, which no attribute has. */
  #byAttribute: Map<string, IndexedContext[]> | undefined

  constructor(entity: RegisteredEntity, first: IndexedContext) {
    this.entity = entity
    this.#contexts = [first]
    this.#names = namesOf(first).length
    this.#look()
  }

  /** The contexts that name it, in order; a live view. */
  get contexts(): readonly IndexedContext[] {
    return this.#contexts
  }

  /** The contexts of an attribute, in order; for the empty name, those without attributes. */
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

  /** Removes a context; gives whether others still name the entity. */
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

  /** Starts to look names up, if there are enough of them. */
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
