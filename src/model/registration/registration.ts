import type { Brand } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { EntityId, EntityType, ServicePath, Tenant } from '../context/entity.js'

/** 24 lower-case hexadecimal digits; the first eight are the second of creation [subscriptions 1.4]. */
export type RegistrationId = Brand<string, 'RegistrationId'>

/**
 * A source of context: who provides what, in one tenant and service path, for a time, through whichever interface it was made
 * [subscriptions 7.1, NGSIv2 subscriptions 10].
 */
export interface Registration {
  readonly id: RegistrationId
  /** Its number in the order of creation, which a replacement keeps. */
  readonly order: number
  readonly tenant: Tenant
  readonly path: ServicePath
  /** It is found before this moment, not at it; `never` for one that does not expire. */
  readonly expires: Milliseconds
  /** Exactly one if NGSIv2 made it. */
  readonly contexts: readonly RegisteredContext[]
  /** The part that only NGSIv2 has; absent if NGSIv1 made it. */
  readonly terms?: RegistrationTerms | undefined
  /** For copies by notifyContextAvailability: the subscription of the notification, empty for none [subscriptions 7.5]. */
  readonly copiedFrom?: string | undefined
}

/** The kinds of requests that are forwarded to a provider [NGSIv2 subscriptions 10, 11.1]. */
export const forwardingModes = ['all', 'none', 'query', 'update'] as const
export type ForwardingMode = (typeof forwardingModes)[number]

/** An inactive registration is shown and found, but its provider is not asked [NGSIv2 subscriptions 10]. */
export const registrationStatuses = ['active', 'inactive'] as const
export type RegistrationStatus = (typeof registrationStatuses)[number]

/** The part of a registration that only NGSIv2 has [NGSIv2 subscriptions 10]. */
export interface RegistrationTerms {
  readonly description: string
  readonly status: RegistrationStatus
  readonly mode: ForwardingMode
  /** Whether the provider is asked in the form of NGSIv1. */
  readonly legacy: boolean
}

/**
 * The terms of a registration; those of NGSIv1 are active, for all requests, and in the form of NGSIv1 [NGSIv2 subscriptions 9].
 */
export function registrationTermsOf({ terms }: Pick<Registration, 'terms'>): RegistrationTerms {
  return terms ?? ngsi1Terms
}

const ngsi1Terms: RegistrationTerms = { description: '', status: 'active', mode: 'all', legacy: true }

/** A `contextRegistration`: this provider has these attributes of these entities. */
export interface RegisteredContext {
  /** A context without entities is never found. */
  readonly entities: readonly RegisteredEntity[]
  /** Empty when the provider has the whole entity. */
  readonly attributes: readonly RegisteredAttribute[]
  /** `providingApplication` in NGSIv1; not checked to be a URL. */
  readonly provider: string
  /** Its original position, when contexts before it were removed. */
  readonly ordinal?: number | undefined
}

/**
 * A registered entity. The empty id stands for all entities of a type, the empty type for an entity without one [subscriptions
 * 7.3, 7.6]; for NGSIv2 the empty type stands for entities of every type [NGSIv2 subscriptions 11.1].
 */
export interface RegisteredEntity {
  /** `.*` where every id is meant (`everyId`); otherwise `.*` is an ordinary id. */
  readonly id: EntityId
  readonly type: EntityType
  /** Whether it stands for the entities of every id [NGSIv2 subscriptions 10]. */
  readonly everyId?: true
}

/** The id under which an entity is shown that stands for every id [NGSIv2 subscriptions 9]. */
export const everyIdPattern = '.*' as EntityId

/** The most entries of a registration. */
export const maxEntries = 5000

/** The number of index entries of a registration: each of its entities is entered with each attribute. */
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

/** A change of registrations, as it is published to every copy of the index. */
export type RegistrationChange =
  /** A new registration, or the replacement of the one with the same id. */
  | { readonly kind: 'put'; readonly registration: Registration }
  | { readonly kind: 'remove'; readonly id: RegistrationId }

/** Whether a registration or an availability subscription is in force: until the moment of its expiry, not at it. */
export function inForce({ expires }: { readonly expires: Milliseconds }, now: Milliseconds): boolean {
  return now < expires
}
