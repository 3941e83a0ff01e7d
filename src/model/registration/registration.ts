import type { Brand } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { EntityId, EntityType, ServicePath, Tenant } from '../context/entity.js'

/** 24 lower-case hexadecimal digits, the first eight of which are the second of creation [subscriptions 1.4]. */
export type RegistrationId = Brand<string, 'RegistrationId'>

/** A source of context: who provides what, in one tenant and service path, for a time, whichever interface made it [subscriptions 7.1, NGSIv2 subscriptions 10]. */
export interface Registration {
  readonly id: RegistrationId
  /** Its number in the order of creation, which it keeps when it is replaced. */
  readonly order: number
  readonly tenant: Tenant
  readonly path: ServicePath
  /** It is found before this moment, not at it; `never` for one that does not expire. */
  readonly expires: Milliseconds
  /** One that NGSIv2 made has exactly one. */
  readonly contexts: readonly RegisteredContext[]
  /** What only NGSIv2 says of it; nothing for one that NGSIv1 made. */
  readonly terms?: RegistrationTerms | undefined
  /** Of what notifyContextAvailability told: the subscription that it came with, empty for none [subscriptions 7.5]. */
  readonly copiedFrom?: string | undefined
}

/** For which requests a provider is asked [NGSIv2 subscriptions 10, 11.1]. */
export const forwardingModes = ['all', 'none', 'query', 'update'] as const
export type ForwardingMode = (typeof forwardingModes)[number]

/** One that is not active is shown and found, but its provider is not asked [NGSIv2 subscriptions 10]. */
export const registrationStatuses = ['active', 'inactive'] as const
export type RegistrationStatus = (typeof registrationStatuses)[number]

/** What NGSIv2 says of a registration beside what is registered [NGSIv2 subscriptions 10]. */
export interface RegistrationTerms {
  /** Empty for none. */
  readonly description: string
  readonly status: RegistrationStatus
  readonly mode: ForwardingMode
  /** Whether the provider is asked in the form of NGSIv1. */
  readonly legacy: boolean
}

/** The terms of a registration; those of NGSIv1 are active, for all requests, and asked in its form [NGSIv2 subscriptions 9]. */
export function registrationTermsOf({ terms }: Pick<Registration, 'terms'>): RegistrationTerms {
  return terms ?? ngsi1Terms
}

const ngsi1Terms: RegistrationTerms = { description: '', status: 'active', mode: 'all', legacy: true }

/** One `contextRegistration`: these attributes of these entities are to be had from this provider. */
export interface RegisteredContext {
  /** One without entities is never found. */
  readonly entities: readonly RegisteredEntity[]
  /** Empty when the provider answers for the whole entity. */
  readonly attributes: readonly RegisteredAttribute[]
  /** What clients of NGSIv1 call `providingApplication`; nobody has checked that it is a URL. */
  readonly provider: string
  /** Its position when it was registered, where others before it are gone since. */
  readonly ordinal?: number | undefined
}

/**
 * The empty id stands for the entities of a type, the empty type for an entity without one [subscriptions 7.3, 7.6]; NGSIv2
 * means entities of every type by it [NGSIv2 subscriptions 11.1].
 */
export interface RegisteredEntity {
  /** `.*` where every id is meant, which is a registered id like others where it is not. */
  readonly id: EntityId
  readonly type: EntityType
  /** Whether it stands for the entities of every id [NGSIv2 subscriptions 10]. */
  readonly everyId?: true
}

/** The id that an entity that stands for those of every id is shown with [NGSIv2 subscriptions 9]. */
export const everyIdPattern = '.*' as EntityId

/** Most entries that a registration may have. */
export const maxEntries = 5000

/** How many entries a registration has: each of its entities is entered with each attribute wherever registrations are looked up. */
export function entriesOf(contexts: Iterable<EntitiesAndAttributes>): number {
  let entries = 0
  for (const { entities = [], attributes = [] } of contexts) {
    entries += Math.max(1, entities.length) * Math.max(1, attributes.length)
  }
  return entries
}

interface EntitiesAndAttributes {
  readonly entities?: readonly unknown[]
  readonly attributes?: readonly unknown[]
}

export interface RegisteredAttribute {
  readonly name: string
  readonly type: string
  /** Stored and shown, without effect. */
  readonly isDomain: boolean
}

/** A change of what is registered, as every copy of the index is told it. */
export type RegistrationChange =
  /** New, or the replacement of the one with the same id. */
  | { readonly kind: 'put'; readonly registration: Registration }
  | { readonly kind: 'remove'; readonly id: RegistrationId }

/** Whether a registration or an availability subscription is in force: until the moment of its expiry, not at it. */
export function inForce({ expires }: { readonly expires: Milliseconds }, now: Milliseconds): boolean {
  return now < expires
}
