import type { EntityId, EntityType } from '../../model/context/entity.js'
import type { GivenAttribute } from '../../model/context/update.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import { type SourceLookup, sourceOf } from '../../model/registration/sources.js'
import type { Steps } from '../../slices.js'
import type { AddressedRequest } from './provider-request.js'
import { addressKey, addressOf } from './query-plan.js'

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
  const forwards = new Map<string, UpdateForward & { readonly shares: Share[] }>()
  const sharings: Sharing[] = []
  for (const entity of lacking) {
    const shared = new Map<string, Draft>()
    const unfound: GivenAttribute[] = []
    for (const attribute of entity.attributes) {
      const found = providerOf(index, lookup, entity, attribute.name)
      if (found === undefined) unfound.push(attribute)
      else share(shared, found, entity.id, attribute)
    }
    for (const { address, share } of shared.values()) {
      const key = addressKey(address)
      const forward = forwards.get(key) ?? { ...address, shares: [] }
      forwards.set(key, forward)
      forward.shares.push(share)
    }
    sharings.push({ shares: Array.from(shared.values(), ({ share }) => share), unfound })
    yield
  }
  return { forwards: [...forwards.values()], sharings }
}

interface Addressee {
  readonly address: AddressedRequest
  readonly type: EntityType
}

interface Draft extends Addressee {
  readonly share: Share & { readonly attributes: GivenAttribute[] }
}

function providerOf(
  index: RegistrationIndex,
  lookup: SourceLookup,
  { id, types }: Lacking,
  name: string,
): Addressee | undefined {
  for (const type of types) {
    const source = sourceOf(index, lookup, { id, type }, name)
    const address = source && addressOf(source)
    if (address && isNameable(address, name)) return { address, type }
  }
  return undefined
}

/** In the form of NGSIv2, attributes with the names of an entity's identifiers cannot be expressed. */
function isNameable({ form }: AddressedRequest, name: string): boolean {
  return form === 'ngsi1' || (name !== 'id' && name !== 'type')
}

function share(shared: Map<string, Draft>, found: Addressee, id: EntityId, attribute: GivenAttribute): void {
  const { address, type } = found
  const key = `${type.length}:${type}${addressKey(address)}`
  const draft = shared.get(key) ?? { ...found, share: { id, type, attributes: [] } }
  shared.set(key, draft)
  draft.share.attributes.push(attribute)
}
