import type { Selector } from '../context/query.js'
import type { IndexedContext } from '../registration/indexed-contexts.js'
import type { RegisteredEntity, RegistrationId } from '../registration/registration.js'
import type { Lookup, RegistrationIndex } from '../registration/registration-index.js'
import type { Steps } from '../slices.js'

/** What one provider is to be asked of one entity [subscriptions 8.2]. */
export interface QueryForward {
  readonly provider: string
  /** The first registration that names it for what is asked. */
  readonly registration: RegistrationId
  readonly entity: RegisteredEntity
  /** In the order in which they were asked for; empty for the whole entity. */
  readonly attributes: readonly string[]
}

/**
 * The entities that providers can be asked about for these selectors, each once, in the order of asking: those of exact
 * id and type as they are, for all others the registered entities that they match [subscriptions 8.2].
 */
export function* askableEntities(
  index: RegistrationIndex,
  lookup: Lookup,
  selectors: readonly Selector[],
): Steps<readonly RegisteredEntity[]> {
  const entities = new Map<string, RegisteredEntity>()
  for (const { id, type } of selectors) {
    for (const entity of yield* index.entities(lookup, { id, type })) {
      const key = entityKey(entity)
      if (!entities.has(key)) entities.set(key, entity)
    }
    yield
  }
  return [...entities.values()]
}

/** Tells entities apart by id and type. */
export function entityKey({ id, type }: { readonly id: string; readonly type: string }): string {
  return `${id.length}:${id}${type}` // With the length of the id in front, no other id and type give the same key.
}

/**
 * Whom to ask for what of an entity is not held here, each provider once. With names each goes to one provider; without,
 * all registrations that name the entity count [subscriptions 8.1, 8.2].
 */
export function forwardsOf(
  index: RegistrationIndex,
  lookup: Lookup,
  entity: RegisteredEntity,
  names: readonly string[],
  isHeld: (name: string) => boolean,
): readonly QueryForward[] {
  const drafts = new Drafts(entity)
  if (names.length > 0) {
    for (const name of names) {
      const source = isHeld(name) ? undefined : index.sourceOf(lookup, entity, name)
      if (source) drafts.of(source).attributes.add(name)
    }
  } else {
    for (const source of index.sources(lookup, entity)) {
      const { attributes } = source.context
      if (attributes.length === 0) drafts.of(source).whole = true
      for (const { name } of attributes) if (!isHeld(name)) drafts.of(source).attributes.add(name)
    }
  }
  return drafts.all()
}

interface Draft {
  readonly registration: RegistrationId
  readonly attributes: Set<string>
  whole: boolean
}

/** What is to be asked of an entity, by provider, in the order in which the providers come up. */
class Drafts {
  readonly #entity: RegisteredEntity
  readonly #drafts = new Map<string, Draft>()

  constructor(entity: RegisteredEntity) {
    this.#entity = entity
  }

  of({ registration, context }: IndexedContext): Draft {
    const held = this.#drafts.get(context.provider)
    if (held !== undefined) return held
    const draft = { registration: registration.id, attributes: new Set<string>(), whole: false }
    this.#drafts.set(context.provider, draft)
    return draft
  }

  all(): readonly QueryForward[] {
    return Array.from(this.#drafts, ([provider, { registration, attributes, whole }]) => ({
      ...{ provider, registration, entity: this.#entity },
      attributes: whole ? [] : [...attributes],
    }))
  }
}
