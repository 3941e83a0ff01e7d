import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'
import type { EntityId, EntityType, Metadata, ServicePath, Tenant, Value } from './entity.js'
import type { Excess } from './entity-size.js'
import type { ShapeMalformed } from './geo/shape-parse.js'

export const updateActions = ['APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE'] as const
export type UpdateAction = (typeof updateActions)[number]

/** An attribute as a request gives it. */
export interface GivenAttribute {
  readonly name: string
  /** The value of metadata ID; empty without it. */
  readonly instance: string
  /** Empty when none is given, which keeps the stored one. */
  readonly type: string
  /** Absent when none is given, which keeps the stored one. */
  readonly value?: Value | undefined
  /** The value of metadata location, as sent. */
  readonly location?: string | undefined
  /** In the order of the request, without ID, location and the reserved names of dates. */
  readonly metadata: readonly Metadata[]
  /** Metadata ID and location that later ones of the same name override: only the echo has them [context 2.3]. */
  readonly overridden?: readonly Metadata[] | undefined
}

/** The request of an update, which its notifications refer to [subscriptions 4.1]. */
export interface Origin {
  readonly correlator: string
  /** X-Auth-Token; empty without it. */
  readonly token: string
  /**
   * Fiware-Service in lower case; absent or empty without it. With `-multiservice` it is the tenant; otherwise it selects no data
   * and is only passed on [context 5.1].
   */
  readonly service?: string | undefined
  /** The header `Via` of the brokers that it has passed; absent or empty for none. */
  readonly via?: string | undefined
  /**
   * The update has come round or passed too many brokers: its changes are stored and cause no notifications [subscriptions 8.4].
   */
  readonly ends?: true | undefined
  /** It is a custom notification, which may come back to the broker that has sent it [NGSIv2 subscriptions 4.4]. */
  readonly isCustom?: true | undefined
}

/** One context element of an update: the change of the entities that it means [context 6.2]. */
export interface UpdateElement {
  readonly tenant: Tenant
  readonly path: ServicePath
  readonly id: EntityId
  /** Absent: entities of every type; empty: only the one without a type. */
  readonly type?: EntityType | undefined
  readonly action: UpdateAction
  readonly attributes: readonly GivenAttribute[]
  /** Whether texts are converted by the attribute's type when they are stored [context 3.4]. */
  readonly autocast?: true | undefined
  /** The terms of an update of NGSIv2; absent for NGSIv1. */
  readonly terms?: UpdateTerms | undefined
  readonly origin: Origin
}

/**
 * The terms of an update of NGSIv2. With terms, an element without a type means the one entity of its id, a name means the shown
 * instance, every attribute has a value and a type, and values may be update operators [NGSIv2 context 2, 12, 14.3].
 */
export interface UpdateTerms {
  /** Whether the entity has to exist or must not exist; APPEND creates an absent one. */
  readonly entity: 'present' | 'absent' | 'either'
  /** The type of an entity that is created without one [NGSIv2 context 2.1]. */
  readonly typeOfNew: EntityType
  /** Whether the given metadata replace the held ones [NGSIv2 context 2.3]. */
  readonly overridesMetadata: boolean
  /** Whether everything given counts as changed [NGSIv2 context 2.4]. */
  readonly forced: boolean
  /**
   * For PUT of a value, which keeps type and metadata and is read by the stored type: whether the value has characters that only
   * unrestricted text may have [NGSIv2 context 9.3].
   */
  readonly valueOnly?: 'plain' | 'forbiddenCharacters' | undefined
}

/**
 * A context element with the facts that make its turn deterministic: its date, and the sequence of an entity that it may create.
 */
export interface UpdateCommand extends UpdateElement {
  readonly kind: 'update'
  readonly sequence: Sequence
  readonly time: Milliseconds
}

/** Why an entity was not updated, or not wholly: the facts; each API has its texts [context 6.4, 6.5]. */
export type UpdateRefusal =
  | { readonly kind: 'entityUnknown' }
  | { readonly kind: 'termsUnmet'; readonly why: UnmetTerms }
  /** UPDATE and DELETE: none of the attributes exists; names the last (UPDATE) or first (DELETE) missing one. */
  | { readonly kind: 'attributeUnknown'; readonly name: string }
  /** UPDATE and DELETE: the shown attributes do not exist, others did. */
  | { readonly kind: 'attributesMissing' }
  /** APPEND_STRICT: these exist, in the order of the request. */
  | { readonly kind: 'attributesExist'; readonly names: readonly string[] }
  /** The name is stored with ID and given without, or the other way round. */
  | { readonly kind: 'instancesMixed'; readonly name: string }
  | {
      readonly kind: 'coordinatesMalformed'
      readonly name: string
      readonly value: string
      readonly when: LocationMoment
    }
  | {
      readonly kind: 'coordinateSystemUnknown'
      readonly name: string
      readonly found: string
      readonly when: LocationMoment
    }
  /** The entity, or all entities of its id together, would exceed a limit and grow. */
  | { readonly kind: 'entityTooLarge'; readonly what: Excess; readonly max: number }
  /** The id already has as many entities in the path as it may have. */
  | { readonly kind: 'typesTooMany'; readonly max: number }
  | { readonly kind: 'locationTwice'; readonly name: string; readonly held: string; readonly when: LocationMoment }
  /** The element was not stored, or its outcome is unknown, while other elements of its request were stored. */
  | { readonly kind: 'unavailable'; readonly why: ElementFailure }

/** Refusals that only updates of NGSIv2 have. */
export type UnmetTerms =
  /** The entity was to be created and exists [NGSIv2 context 8.2]. */
  | { readonly kind: 'entityExists' }
  /** No type was given, and there are several entities of the id [NGSIv2 context 2.1]. */
  | { readonly kind: 'entityAmbiguous' }
  /** The operator does not fit the stored value [NGSIv2 context 12.3]. */
  | { readonly kind: 'operatorUnfit'; readonly operator: string; readonly name: string }
  /** The stored type is a date, and the value is not [NGSIv2 context 9.3]. */
  | { readonly kind: 'dateMalformed'; readonly name: string }
  /** The value has characters that the stored type does not allow [NGSIv2 context 9.3]. */
  | { readonly kind: 'valueForbidden'; readonly name: string }
  /** The value is not a shape of its type [NGSIv2 context 3.5]. */
  | {
      readonly kind: 'shapeMalformed'
      readonly name: string
      readonly why: ShapeMalformed
      readonly when: ShapeMoment
    }
  /** The entity has a location, or is given two, and none may replace the other [NGSIv2 context 3.5]. */
  | { readonly kind: 'locationsTooMany'; readonly name: string; readonly held: string }

/** An attribute was appended; one that was no location was made one by an append; anything else [NGSIv2 context 3.5]. */
export type ShapeMoment = 'newAttribute' | 'existingAttribute' | 'other'

/** Why an element of a request has no reply of its partition. All but `outcomeUnknown` were certainly not carried out. */
export type ElementFailure = 'storageFull' | 'recordTooLarge' | 'partitionLost' | 'outcomeUnknown' | 'fault'

/** The error text for a location depends on it: an entity was created, an attribute appended, anything else. */
export type LocationMoment = 'creation' | 'newAttribute' | 'update'

/** The outcome of one entity. */
export interface UpdateItem {
  readonly id: EntityId
  /** The type of the entity found, otherwise that of the request. */
  readonly type: EntityType
  /** The indexes of the request's attributes that it is about; all when absent. */
  readonly shown?: readonly number[]
  readonly refusal?: UpdateRefusal
}

/** The outcome of one context element. */
export interface UpdateReply {
  /** One per entity, oldest first, at the position of the element in the response. */
  readonly items: readonly UpdateItem[]
  /** Items for attributes that do not exist, which follow those of all elements [context 6.4]. */
  readonly missing: readonly UpdateItem[]
}
