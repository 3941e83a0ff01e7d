import type { Attribute, Entity } from '../../model/context/entity.js'
import type { Selector } from '../../model/context/query.js'
import { registeredEntities } from '../../model/registration/registered-entities.js'
import {
  type RegisteredContext,
  type RegisteredEntity,
  registrationTermsOf,
} from '../../model/registration/registration.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import { type RegisteredSource, type SourceLookup, SourceSearch, sourcesOf } from '../../model/registration/sources.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { Unavailable } from '../front-end/unavailable.js'
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
 * own entity, all others the registered entities that they match [subscriptions 8.2]. Refuses when several ids are registered with so
 * many types that each of them means thousands of entities.
 */
export function* askableEntities(
  index: RegistrationIndex,
  lookup: SourceLookup,
  selectors: readonly Selector[],
): Steps<Result<Iterable<AskableEntity>, Unavailable>> {
  const entities = new Map<string, AskableEntity>()
  let ofIds = 0
  for (const selector of selectors) {
    const isNamed = selector.id.kind === 'exact'
    const found = yield* registeredEntities(index, lookup, selector)
    if (isNamed) ofIds += found.length
    if (ofIds > mostOfIds && selectors.length > 1) return err({ kind: 'typesTooMany' })
    for (const entity of found) {
      const key = entity.everyId ? `every ${entity.type}` : entityKey(entity) // Other keys begin with a number.
      if (!entities.has(key) || isNamed) entities.set(key, { ...entity, isNamed })
      yield
    }
    yield
  }
  return ok(entities.values())
}

/** Several ids of a query, each with the types under which it is registered, may mean this many entities. */
const mostOfIds = 20_000

/** A key of id and type. */
export function entityKey({ id, type }: { readonly id: string; readonly type: string }): string {
  return `${id.length}:${id}${type}` // With the length of the id in front, no other id and type give the same key.
}

/**
 * Plans the requests for the entities of one read. With names, each attribute is asked of one provider; without, all registrations
 * that name the entity count [subscriptions 8.1, 8.2]. A provider of every id is asked for all of them at once, unless the client's
 * request names this id.
 */
export class QueryPlanner {
  readonly #index: RegistrationIndex
  readonly #lookup: SourceLookup
  readonly #names: readonly string[]
  readonly #most: number
  readonly #search: SourceSearch

  /** Plans the requests for attributes of these names, or of any name without one; at most `most` for one entity. */
  constructor(index: RegistrationIndex, lookup: SourceLookup, names: readonly string[], most: number) {
    this.#index = index
    this.#lookup = lookup
    this.#names = names
    this.#most = most
    this.#search = new SourceSearch(index, lookup)
  }

  /** The requests for the parts of an entity that are not held here, one per provider, in steps. */
  *forwardsOf(entity: AskableEntity, isHeld: (name: string) => boolean): Steps<readonly QueryForward[]> {
    const drafts = new PlannedRequests(entity, this.#most)
    const isRequested = ({ named }: RegisteredSource) =>
      named.everyId === undefined || entity.everyId === true || entity.isNamed
    if (this.#names.length > 0) {
      const sources = this.#search.of(entity)
      for (const name of this.#names) {
        const source = isHeld(name) ? undefined : yield* sources.having(name)
        if (source && isRequested(source)) drafts.of(source)?.attributes.add(name)
        yield
      }
    } else {
      for (const source of sourcesOf(this.#index, this.#lookup, entity)) {
        if (source && isRequested(source)) drafts.addAll(source, isHeld)
        yield
      }
    }
    return drafts.all()
  }
}

/** The provider of a registration that names an entity, and the form in which it is asked [NGSIv2 subscriptions 10]. */
function addressOf({ registration, context: { provider } }: RegisteredSource): AddressedRequest {
  return { provider, registration: registration.id, form: registrationTermsOf(registration).legacy ? 'ngsi1' : 'ngsi2' }
}

/** An address, and a text that only requests to the same provider in the same form have. */
export interface KeyedAddress {
  readonly address: AddressedRequest
  readonly key: string
}

/** The addresses of sources. The URL of a provider may be long, and many attributes have the same source: its key is made once. */
export class Addresses {
  readonly #known = new Map<RegisteredContext, KeyedAddress>()

  of(source: RegisteredSource): KeyedAddress {
    const known = this.#known.get(source.context)
    if (known !== undefined) return known
    const address = addressOf(source)
    const keyed = { address, key: `${address.form} ${address.provider}` }
    this.#known.set(source.context, keyed)
    return keyed
  }
}

interface Draft {
  readonly address: AddressedRequest
  readonly attributes: Set<string>
  whole: boolean
}

/** The requests for one entity, by provider, in the order in which the providers were found. */
class PlannedRequests {
  readonly #entity: AskableEntity
  readonly #most: number
  readonly #addresses = new Addresses()
  readonly #drafts = new Map<string, Draft>()

  constructor(entity: AskableEntity, most: number) {
    this.#entity = entity
    this.#most = most
  }

  /** The request to the provider of a source; undefined when there are as many as may be forwarded. */
  of(source: RegisteredSource): Draft | undefined {
    const { address, key } = this.#addresses.of(source)
    const held = this.#drafts.get(key)
    if (held !== undefined || this.#drafts.size >= this.#most) return held
    const draft = { address, attributes: new Set<string>(), whole: false }
    this.#drafts.set(key, draft)
    return draft
  }

  /** Asks for all attributes of a source that are not held here. */
  addAll(source: RegisteredSource, isHeld: (name: string) => boolean): void {
    const { attributes } = source.context
    const names = attributes.map(({ name }) => name).filter((name) => !isHeld(name))
    if (attributes.length > 0 && names.length === 0) return
    const draft = this.of(source)
    if (draft === undefined) return
    if (attributes.length === 0) draft.whole = true
    for (const name of names) draft.attributes.add(name)
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
