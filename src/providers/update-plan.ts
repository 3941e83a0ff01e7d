import type { EntityId, EntityType } from '../context/entity.js'
import type { GivenAttribute } from '../context/update.js'
import type { RegistrationId } from '../registration/registration.js'
import type { RegistrationIndex } from '../registration/registration-index.js'
import { type SourceLookup, sourceOf } from '../registration/sources.js'
import type { Steps } from '../slices.js'
import { isAsked } from './query-plan.js'

/** Attributes of an update that are not held here, of one entity. */
export interface Lacking {
  readonly id: EntityId
  /** The types under which it may be registered, the one that goes first first. */
  readonly types: readonly EntityType[]
  readonly attributes: readonly GivenAttribute[]
}

/** What a provider is asked to update of one entity. */
export interface Share {
  readonly id: EntityId
  /** Under which the provider was found. */
  readonly type: EntityType
  readonly attributes: readonly GivenAttribute[]
}

/** One request: all that one provider is asked to update [subscriptions 8.3]. */
export interface UpdateForward {
  readonly provider: string
  /** The first registration that names it for what is asked. */
  readonly registration: RegistrationId
  readonly shares: readonly Share[]
}

/** How what is lacking of an entity is shared out. */
export interface Sharing {
  /** In the order of asking. */
  readonly shares: readonly Share[]
  /** What nobody is registered for. */
  readonly unfound: readonly GivenAttribute[]
}

interface UpdatePlan {
  readonly forwards: readonly UpdateForward[]
  /** One for each entity, in their order. */
  readonly sharings: readonly Sharing[]
}

/** Which provider gets what of an update is not held here: one request for each, with all its entities [subscriptions 8.1, 8.3]. */
export function* planUpdate(
  index: RegistrationIndex,
  lookup: SourceLookup,
  lacking: readonly Lacking[],
): Steps<UpdatePlan> {
  const forwards = new Map<string, { readonly registration: RegistrationId; readonly shares: Share[] }>()
  const sharings: Sharing[] = []
  for (const entity of lacking) {
    const shared = new Map<string, Draft>()
    const unfound: GivenAttribute[] = []
    for (const attribute of entity.attributes) {
      const found = providerOf(index, lookup, entity, attribute.name)
      if (found === undefined) unfound.push(attribute)
      else share(shared, found, entity.id, attribute)
    }
    for (const { provider, registration, share } of shared.values()) {
      const forward = forwards.get(provider) ?? { registration, shares: [] }
      forwards.set(provider, forward)
      forward.shares.push(share)
    }
    sharings.push({ shares: Array.from(shared.values(), ({ share }) => share), unfound })
    yield
  }
  return { forwards: Array.from(forwards, ([provider, forward]) => ({ provider, ...forward })), sharings }
}

interface Addressee {
  readonly provider: string
  readonly registration: RegistrationId
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
    if (source && isAsked(source)) {
      return { provider: source.context.provider, registration: source.registration.id, type }
    }
  }
  return undefined
}

function share(shared: Map<string, Draft>, source: Addressee, id: EntityId, attribute: GivenAttribute): void {
  const { provider, type } = source
  const key = `${type.length}:${type}${provider}`
  const draft = shared.get(key) ?? { ...source, share: { id, type, attributes: [] } }
  shared.set(key, draft)
  draft.share.attributes.push(attribute)
}
