import type { Brand } from '../brand.js'
import type { EntityId, EntityType, ServicePath, Tenant } from '../context/entity.js'
import type { Milliseconds } from '../time.js'

/** 24 lower-case hexadecimal digits, the first eight of which are the second of creation [subscriptions 1.4]. */
export type RegistrationId = Brand<string, 'RegistrationId'>

/** A source of context: who provides what, in one tenant and service path, for a time [subscriptions 7.1]. */
export interface Registration {
  readonly id: RegistrationId
  /** Its number in the order of creation, which it keeps when it is replaced. */
  readonly order: number
  readonly tenant: Tenant
  readonly path: ServicePath
  /** It is found before this moment, not at it. */
  readonly expires: Milliseconds
  readonly contexts: readonly RegisteredContext[]
  /** Of what notifyContextAvailability told: the subscription that it came with, empty for none [subscriptions 7.5]. */
  readonly copiedFrom?: string | undefined
}

/** One `contextRegistration`: these attributes of these entities are to be had from this provider. */
export interface RegisteredContext {
  /** One without entities is never found. */
  readonly entities: readonly RegisteredEntity[]
  /** Empty when the provider answers for the whole entity. */
  readonly attributes: readonly RegisteredAttribute[]
  /** What clients call `providingApplication`; nobody has checked that it is a URL. */
  readonly provider: string
}

/** The empty id stands for the entities of a type, the empty type for an entity without one [subscriptions 7.3, 7.6]. */
export interface RegisteredEntity {
  readonly id: EntityId
  readonly type: EntityType
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
