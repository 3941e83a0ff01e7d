import type { Attribute, Entity } from '../../model/context/entity.js'
import type { Selector } from '../../model/context/query.js'
import { type RegisteredEntity, registrationTermsOf } from '../../model/registration/registration.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import {
  type RegisteredSource,
  registeredEntities,
  type SourceLookup,
  sourceOf,
  sourcesOf,
} from '../../model/registration/sources.js'
import type { Steps } from '../../slices.js'
import type { AddressedRequest } from './provider-request.js'

/**
 * A request to one provider about one entity [subscriptions 8.2], [NGSIv2 subscriptions 11.2]; `registration` is the first that
 * names the provider for it.
 */
export interface QueryForward extends AddressedRequest {
  /** With the type that the client asks for, otherwise the registered one. */
  readonly entity: RegisteredEntity
  /** In the order of the client's request; empty for the whole entity. */
  readonly attributes: readonly string[]
}

/** An entity that providers can be asked for. */
export interface AskableEntity extends RegisteredEntity {
  /** Whether the client's request names it by its id: providers of every id are then asked for this id alone. */
  readonly isNamed: boolean
}

/**
 * The entities that providers can be asked for, each once, in the order of asking: selectors with exact id and type give their
 * own entity, all others the registered entities that they match [subscriptions 8.2].
 */
export function* askableEntities(
  index: RegistrationIndex,
  lookup: SourceLookup,
  selectors: readonly Selector[],
): Steps<readonly AskableEntity[]> {
  const entities = new Map<string, AskableEntity>()
  for (const selector of selectors) {
    for (const entity of yield* registeredEntities(index, lookup, selector)) {
      const key = entity.everyId ? `every ${entity.type}` : entityKey(entity) // Other keys begin with a number.
      const isNamed = selector.id.kind === 'exact'
      if (!entities.has(key) || isNamed) entities.set(key, { ...entity, isNamed })
    }
    yield
  }
  return [...entities.values()]
}

/** A key of id and type. */
export function entityKey({ id, type }: { readonly id: string; readonly type: string }): string {
  return `${id.length}:${id}${type}` // With the length of the id in front, no other id and type give the same key.
}

/**
 * The requests for the parts of an entity that are not held here, one per provider. With names, each attribute is asked of one
 * provider; without, all registrations that name the entity count [subscriptions 8.1, 8.2]. A provider of every id is asked for
 * all of them at once, unless the client's request names this id.
 */
export function forwardsOf(
  index: RegistrationIndex,
  lookup: SourceLookup,
  entity: AskableEntity,
  names: readonly string[],
  isHeld: (name: string) => boolean,
): readonly QueryForward[] {
  const drafts = new PlannedRequests(entity)
  const isRequested = ({ named }: RegisteredSource) =>
    named.everyId === undefined || entity.everyId === true || entity.isNamed
  if (names.length > 0) {
    for (const name of names) {
      const source = isHeld(name) ? undefined : sourceOf(index, lookup, entity, name)
      if (source && isRequested(source)) drafts.of(source).attributes.add(name)
    }
  } else {
    for (const source of sourcesOf(index, lookup, entity).filter(isRequested)) {
      const { attributes } = source.context
      if (attributes.length === 0) drafts.of(source).whole = true
      for (const { name } of attributes) if (!isHeld(name)) drafts.of(source).attributes.add(name)
    }
  }
  return drafts.all()
}

/** The provider of a registration that names an entity, and the form in which it is asked [NGSIv2 subscriptions 10]. */
export function addressOf({ registration, context: { provider } }: RegisteredSource): AddressedRequest {
  return { provider, registration: registration.id, form: registrationTermsOf(registration).legacy ? 'ngsi1' : 'ngsi2' }
}

export function addressKey({ provider, form }: AddressedRequest): string {
  return `${form} ${provider}`
}

interface Draft {
  readonly address: AddressedRequest
  readonly attributes: Set<string>
  whole: boolean
}

/** The requests for one entity, by provider, in the order in which the providers were found. */
class PlannedRequests {
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

/** An entity in a response: one held here, or one from a provider, which has no path and no dates. */
export interface ShownEntity
  extends Pick<Entity, 'id' | 'type'>,
    Partial<Pick<Entity, 'path' | 'created' | 'modified'>> {
  readonly attributes: readonly ShownAttribute[]
  /** Whether the values of one from a provider have more members and items than an entity may have. Some of them are missing then. */
  readonly hasTooManyValues?: boolean
}

/** An attribute in a response; one from a provider has no dates. */
export type ShownAttribute = Omit<Attribute, Dates> & Partial<Pick<Attribute, Dates>>

type Dates = 'created' | 'modified'

/** The key of an attribute instance. */
export function attributeKey({ name, instance }: { readonly name: string; readonly instance: string }): string {
  return `${name.length}:${name}${instance}` // The length comes first, so that no name can imitate an instance.
}
