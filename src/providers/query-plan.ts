import type { Selector } from '../context/query.js'
import { type RegisteredEntity, registrationTermsOf } from '../registration/registration.js'
import type { RegistrationIndex } from '../registration/registration-index.js'
import {
  type RegisteredSource,
  registeredEntities,
  type SourceLookup,
  sourceOf,
  sourcesOf,
} from '../registration/sources.js'
import type { Steps } from '../slices.js'
import type { AddressedRequest } from './provider-request.js'

/** What one provider is to be asked of one entity [subscriptions 8.2], [NGSIv2 subscriptions 11.2]; `registration` is the first that names it for that. */
export interface QueryForward extends AddressedRequest {
  /** With the type that the client asks for, else the registered one. */
  readonly entity: RegisteredEntity
  /** In the order in which they were asked for; empty for the whole entity. */
  readonly attributes: readonly string[]
}

/** An entity that providers can be asked about. */
export interface AskableEntity extends RegisteredEntity {
  /** Whether the request names it by its id: then who provides every id is asked for this one alone. */
  readonly isNamed: boolean
}

/**
 * The entities that providers can be asked about for these selectors, each once, in the order of asking: those of exact
 * id and type as they are, for all others the registered entities that they match [subscriptions 8.2].
 */
export function* askableEntities(
  index: RegistrationIndex,
  lookup: SourceLookup,
  selectors: readonly Selector[],
): Steps<readonly AskableEntity[]> {
  const entities = new Map<string, AskableEntity>()
  for (const selector of selectors) {
    for (const entity of yield* registeredEntities(index, lookup, selector)) {
      const key = entity.everyId ? `every ${entity.type}` : entityKey(entity) // A key begins with a number.
      const isNamed = selector.id.kind === 'exact'
      if (!entities.has(key) || isNamed) entities.set(key, { ...entity, isNamed })
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
 * all registrations that name the entity count [subscriptions 8.1, 8.2]. Who provides every id is asked for all of them at
 * once, unless the request names this one.
 */
export function forwardsOf(
  index: RegistrationIndex,
  lookup: SourceLookup,
  entity: AskableEntity,
  names: readonly string[],
  isHeld: (name: string) => boolean,
): readonly QueryForward[] {
  const drafts = new Drafts(entity)
  const isAsked = ({ named }: RegisteredSource) =>
    named.everyId === undefined || entity.everyId === true || entity.isNamed
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

/** Who is asked where a registration names an entity, and in which form [NGSIv2 subscriptions 10]. */
export function addressOf({ registration, context: { provider } }: RegisteredSource): AddressedRequest {
  return { provider, registration: registration.id, form: registrationTermsOf(registration).legacy ? 'ngsi1' : 'ngsi2' }
}

/** Tells apart who is asked in which form. */
export function addressKey({ provider, form }: AddressedRequest): string {
  return `${form} ${provider}`
}

interface Draft {
  readonly address: AddressedRequest
  readonly attributes: Set<string>
  whole: boolean
}

/** What is to be asked of an entity, by provider, in the order in which the providers come up. */
class Drafts {
  readonly #entity: AskableEntity
  readonly #drafts = new Map<string, Draft>()

  constructor(entity: AskableEntity) {
    this.#entity = entity
  }

  of(source: RegisteredSource): Draft {
    const address = addressOf(source)
    const key = addressKey(address)
    const held = this.#drafts.get(key)
    if (held !== undefined) return held
    const draft = { address, attributes: new Set<string>(), whole: false }
    this.#drafts.set(key, draft)
    return draft
  }

  all(): readonly QueryForward[] {
    return Array.from(this.#drafts.values(), ({ address, attributes, whole }) => ({
      ...address,
      entity: this.#entity,
      attributes: whole ? [] : [...attributes],
    }))
  }
}
