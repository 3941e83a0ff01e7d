import type { EntityId, EntityType } from '../context/entity.js'
import { acceptedPattern } from '../context/pattern.js'
import type { Selector } from '../context/query.js'
import { type IndexedContext, insertContexts, OrderedContexts, removeContexts } from './contexts.js'
import type { RegisteredEntity, Registration } from './registration.js'

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

  /** Enters all contexts of a registration, in order. */
  enter(contexts: readonly IndexedContext[]): void {
    const entered = new Map<NamedEntity, IndexedContext[]>()
    for (const listed of contexts) {
      this.#contexts.enter(listed)
      for (const entity of listed.context.entities) push(entered, this.named(entity) ?? this.#begin(entity), listed)
    }
    for (const [named, naming] of entered) named.enter(naming)
  }

  /** Removes a registration of which all contexts were entered. */
  leave(registration: Registration): void {
    this.#contexts.leave(registration)
    for (const { entities } of registration.contexts) {
      for (const entity of entities) {
        const named = this.named(entity)
        // The registration may name the entity again and again.
        if (named !== undefined && !named.leave(registration)) this.#end(named)
      }
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
  *tried(selector: Selector, untyped = false): Generator<NamedEntity | undefined> {
    const { type, typePattern } = selector
    const ofType = typeTest(type, typePattern, untyped)
    const types = type === undefined ? undefined : withUntyped(type, untyped)
    for (const named of this.ofEveryId(types)) if (ofType(named.entity.type)) yield named
    yield* this.ofIds(selector, untyped)
  }

  /** The entities that stand for every id, of these types or of all. */
  *ofEveryId(types: Iterable<EntityType> | undefined): Generator<NamedEntity> {
    if (types === undefined) {
      yield* this.#everyId.values()
      return
    }
    for (const type of types) {
      const named = this.#everyId.get(type)
      if (named !== undefined) yield named
    }
  }

  /** As `tried`, without the entities that stand for every id. */
  *ofIds({ id, type, typePattern }: Selector, untyped = false): Generator<NamedEntity | undefined> {
    const ofType = typeTest(type, typePattern, untyped)
    if (id.kind === 'exact') {
      for (const named of this.#ofId(id.id, type, untyped)) if (ofType(named.entity.type)) yield named
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
    for (const each of withUntyped(type, untyped)) {
      const ids = this.#byType.get(each)
      if (ids !== undefined) yield [each, ids]
    }
  }

  /** The entities of an id, with a type at least those of it. */
  #ofId(id: EntityId, type: EntityType | undefined, untyped: boolean): Iterable<NamedEntity> {
    if (type !== undefined) return withUntyped(type, untyped).flatMap((each) => this.#byType.get(each)?.get(id) ?? [])
    const held = this.#byId.get(id)
    if (held === undefined) return []
    return held instanceof NamedEntity ? [held] : held
  }

  #begin(entity: RegisteredEntity): NamedEntity {
    const named = new NamedEntity(entity)
    const { id, type, everyId } = entity
    if (everyId) {
      this.#everyId.set(type, named)
      return named
    }
    const ids = this.#byType.get(type) ?? new Map<EntityId, NamedEntity>()
    this.#byType.set(type, ids.set(id, named))
    const held = this.#byId.get(id)
    if (held === undefined) this.#byId.set(id, named)
    else if (held instanceof NamedEntity) this.#byId.set(id, new Set([held, named]))
    else held.add(named)
    return named
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

/** The registered types that a type means. */
function withUntyped(type: EntityType, untyped: boolean): readonly EntityType[] {
  return untyped && type !== '' ? [type, '' as EntityType] : [type]
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
  readonly #contexts: IndexedContext[] = []
  /** The number of attribute names in all contexts. */
  #names = 0
  /** By attribute, once there are many names; contexts without attributes are under the empty name, which no attribute has. */
  #byAttribute: Map<string, IndexedContext[]> | undefined

  constructor(entity: RegisteredEntity) {
    this.entity = entity
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

  /** Enters the contexts of a registration that name it, in order. */
  enter(entered: readonly IndexedContext[]): void {
    insertContexts(this.#contexts, entered)
    for (const listed of entered) this.#names += namesOf(listed).length
    if (this.#byAttribute === undefined) {
      if (this.#names > fewNames) this.#byAttribute = byAttribute(this.#contexts)
      return
    }
    for (const [name, having] of byAttribute(entered)) {
      const contexts = this.#byAttribute.get(name)
      if (contexts === undefined) this.#byAttribute.set(name, having)
      else insertContexts(contexts, having)
    }
  }

  /** Removes the contexts of a registration; gives whether others still name the entity. */
  leave(registration: Registration): boolean {
    const left = removeContexts(this.#contexts, registration)
    if (left.length === 0) return this.#contexts.length > 0
    const names = new Set<string>()
    for (const listed of left) {
      this.#names -= namesOf(listed).length
      if (this.#byAttribute !== undefined) for (const name of namesOf(listed)) names.add(name)
    }
    for (const name of names) {
      const contexts = this.#byAttribute?.get(name)
      if (contexts === undefined) continue
      removeContexts(contexts, registration)
      if (contexts.length === 0) this.#byAttribute?.delete(name)
    }
    return this.#contexts.length > 0
  }
}

const none: readonly IndexedContext[] = []

/** The contexts of each attribute, in the order of the contexts. */
function byAttribute(contexts: readonly IndexedContext[]): Map<string, IndexedContext[]> {
  const having = new Map<string, IndexedContext[]>()
  for (const listed of contexts) for (const name of namesOf(listed)) push(having, name, listed)
  return having
}

/** Adds a context to those of a key, unless it was the last to be added: a context may name an entity or an attribute twice. */
function push<Key>(lists: Map<Key, IndexedContext[]>, key: Key, listed: IndexedContext): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [listed])
  else if (list.at(-1) !== listed) list.push(listed)
}

function namesOf({ context: { attributes } }: IndexedContext): readonly string[] {
  return attributes.length === 0 ? withoutAttributes : attributes.map(({ name }) => name)
}

const withoutAttributes: readonly string[] = ['']
