import type { Selector } from '../context/query.js'
import type { IndexedContext } from '../registration/indexed-contexts.js'
import { type RegisteredEntity, type RegistrationId, registrationTermsOf } from '../registration/registration.js'
import type { RegistrationIndex } from '../registration/registration-index.js'
import {
  type RegisteredSource,
  registeredEntities,
  type SourceLookup,
  sourceOf,
  sourcesOf,
} from '../registration/sources.js'
import type { Steps } from '../slices.js'

/** What one provider is to be asked of one entity [subscriptions 8.2]. */
export interface QueryForward {
  readonly provider: string
  /** The first registration that names it for what is asked. */
  readonly registration: RegistrationId
  /** With its registered type. */
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
  lookup: SourceLookup,
  selectors: readonly Selector[],
): Steps<readonly RegisteredEntity[]> {
  const entities = new Map<string, RegisteredEntity>()
  for (const selector of selectors) {
    for (const entity of yield* registeredEntities(index, lookup, selector)) {
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
  lookup: SourceLookup,
  entity: RegisteredEntity,
  names: readonly string[],
  isHeld: (name: string) => boolean,
): readonly QueryForward[] {
  const drafts = new Drafts(entity)
  if (names.length > 0) {
    for (const name of names) {
      const source = isHeld(name) ? undefined : sourceOf(index, lookup, entity, name)
      if (source && isAsked(source)) drafts.of(source).attributes.add(name)
    }
  } else {
    for (const source of sourcesOf(index, lookup, entity).filter(isAsked)) {
      const { attributes } = source.context
      if (attributes.length === 0) drafts.of(source).whole = true
      for (const { name } of attributes) if (!isHeld(name)) drafts.of(source).attributes.add(name)
    }
  }
  return drafts.all()
}

/** Whether a provider can be asked: in the form of NGSIv1 so far, which a registration of NGSIv2 has to say [NGSIv2 subscriptions 10]. */
export function isAsked({ registration }: IndexedContext): boolean {
  return registrationTermsOf(registration).legacy
}

interface Draft {
  readonly provider: string
  readonly entity: RegisteredEntity
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

  of({ registration, context: { provider }, named: { type } }: RegisteredSource): Draft {
    const key = `${type.length}:${type}${provider}`
    const held = this.#drafts.get(key)
    if (held !== undefined) return held
    const entity = type === this.#entity.type ? this.#entity : { ...this.#entity, type }
    const draft = { provider, entity, registration: registration.id, attributes: new Set<string>(), whole: false }
    this.#drafts.set(key, draft)
    return draft
  }

  all(): readonly QueryForward[] {
    return Array.from(this.#drafts.values(), ({ provider, registration, entity, attributes, whole }) => ({
      ...{ provider, registration, entity },
      attributes: whole ? [] : [...attributes],
    }))
  }
}
