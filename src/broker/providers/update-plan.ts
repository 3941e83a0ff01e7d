import type { EntityId, EntityType } from '../../model/context/entity.js'
import type { GivenAttribute } from '../../model/context/update.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import { type EntitySources, type SourceLookup, SourceSearch } from '../../model/registration/sources.js'
import type { Steps } from '../../slices.js'
import type { AddressedRequest } from './provider-request.js'
import { Addresses, type KeyedAddress } from './query-plan.js'

/** Attributes of an update that are not held here, for one entity. */
export interface Lacking {
  readonly id: EntityId
  /** The types under which the entity may be registered, in the order of preference. */
  readonly types: readonly EntityType[]
  readonly attributes: readonly GivenAttribute[]
}

/** The attributes that one provider is asked to update, of one entity. */
export interface Share {
  readonly id: EntityId
  /** The type under which the provider was found. */
  readonly type: EntityType
  readonly attributes: readonly GivenAttribute[]
}

/**
 * One request to one provider, with all that it is asked to update [subscriptions 8.3]; `registration` is the first that names
 * the provider for it.
 */
export interface UpdateForward extends AddressedRequest {
  readonly shares: readonly Share[]
}

/** How the lacking attributes of an entity are shared out. */
export interface Sharing {
  /** In the order of asking. */
  readonly shares: readonly Share[]
  /** Attributes that no registration covers. */
  readonly unfound: readonly GivenAttribute[]
}

interface UpdatePlan {
  readonly forwards: readonly UpdateForward[]
  /** One for each entity, in order. */
  readonly sharings: readonly Sharing[]
}

/** Assigns what is not held here to providers: one request for each, with all its entities [subscriptions 8.1, 8.3]. */
export function* planUpdate(
  index: RegistrationIndex,
  lookup: SourceLookup,
  lacking: readonly Lacking[],
): Steps<UpdatePlan> {
  const search = new SourceSearch(index, lookup)
  const addresses = new Addresses()
  const forwards = new Map<string, UpdateForward & { readonly shares: Share[] }>()
  const sharings: Sharing[] = []
  for (const entity of lacking) {
    const shared = new Shared(entity.id)
    const unfound: GivenAttribute[] = []
    const typed = entity.types.map((type) => ({ type, sources: search.of({ id: entity.id, type }) }))
    for (const attribute of entity.attributes) {
      const found = yield* providerOf(typed, addresses, attribute.name)
      if (found === undefined) unfound.push(attribute)
      else shared.add(found, attribute)
      yield
    }
    for (const { key, address, share } of shared.drafts) {
      const forward = forwards.get(key) ?? { ...address, shares: [] }
      forwards.set(key, forward)
      forward.shares.push(share)
    }
    sharings.push({ shares: shared.drafts.map(({ share }) => share), unfound })
    yield
  }
  return { forwards: [...forwards.values()], sharings }
}

/** The entity under one of its types. */
interface TypedSources {
  readonly type: EntityType
  readonly sources: EntitySources
}

interface Addressee extends KeyedAddress {
  readonly type: EntityType
}

function* providerOf(typed: readonly TypedSources[], addresses: Addresses, name: string): Steps<Addressee | undefined> {
  for (const { type, sources } of typed) {
    const source = yield* sources.having(name)
    if (source === undefined) continue
    const addressed = addresses.of(source)
    if (isNameable(addressed.address, name)) return { ...addressed, type }
  }
  return undefined
}

/** In the form of NGSIv2, attributes with the names of an entity's identifiers cannot be expressed. */
function isNameable({ form }: AddressedRequest, name: string): boolean {
  return form === 'ngsi1' || (name !== 'id' && name !== 'type')
}

interface Draft extends KeyedAddress {
  readonly share: Share & { readonly attributes: GivenAttribute[] }
}

/** The shares of one entity, in the order in which their providers were found. */
class Shared {
  readonly drafts: Draft[] = []
  readonly #id: EntityId
  readonly #byType = new Map<EntityType, Map<string, Draft>>()

  constructor(id: EntityId) {
    this.#id = id
  }

  add({ type, key, address }: Addressee, attribute: GivenAttribute): void {
    const ofType = this.#byType.get(type) ?? new Map<string, Draft>()
    const held = ofType.get(key)
    if (held !== undefined) {
      held.share.attributes.push(attribute)
      return
    }
    const draft = { key, address, share: { id: this.#id, type, attributes: [attribute] } }
    this.drafts.push(draft)
    this.#byType.set(type, ofType.set(key, draft))
  }
}
