import type { EntityId, EntityType, ServicePath, Tenant } from '../../model/context/entity.js'
import type { Selector } from '../../model/context/query.js'
import type { AvailabilitySubscription, RegistryChange } from '../../model/registration/availability.js'
import type {
  ForwardingMode,
  RegisteredContext,
  RegisteredEntity,
  Registration,
  RegistrationChange,
  RegistrationId,
  RegistrationStatus,
  RegistrationTerms,
} from '../../model/registration/registration.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'
import type { MetadataDatabase, MetadataWrite } from '../records/metadata-record.js'

/** What a change writes into the metadata store. */
export function registryWrites({ registrations = [], put, remove = [] }: RegistryChange): readonly MetadataWrite[] {
  return [
    ...registrations.map(registrationWrite),
    ...(put ? [{ database, id: put.id, text: encodeAvailability(put) }] : []),
    ...remove.map((id) => ({ database, id, text: undefined })),
  ]
}

/** The database of availability subscriptions. */
const database: MetadataDatabase = 'availability'

function registrationWrite(change: RegistrationChange): MetadataWrite {
  if (change.kind === 'remove') return { database: 'registrations', id: change.id, text: undefined }
  const { registration } = change
  return { database: 'registrations', id: registration.id, text: encodeRegistration(registration) }
}

/** JSON arrays without names of members. Part of the format on disk, as all that follows. */
type StoredRegistration = readonly [
  order: number,
  tenant: string,
  path: string,
  expires: number,
  contexts: readonly StoredContext[],
  copiedFrom?: string | null,
  /** For a registration of NGSIv2. */
  terms?: StoredTerms,
]

type StoredContext = readonly [
  entities: readonly StoredEntity[],
  attributes: readonly (readonly [name: string, type: string, isDomain: 1 | 0])[],
  provider: string,
  /** The ordinal, if it is not the position. */
  ordinal?: number,
]

type StoredEntity = readonly [id: string, type: string, everyId?: 1]

type StoredTerms = readonly [description: string, status: RegistrationStatus, mode: ForwardingMode, legacy: 1 | 0]

type StoredAvailability = readonly [
  order: number,
  tenant: string,
  selectors: readonly StoredSelector[],
  attributes: readonly string[],
  reference: string,
  expires: number,
]

/** The text is the id or the pattern; empty for any id. */
type StoredSelector = readonly [kind: Selector['id']['kind'], text: string, type?: string]

function encodeRegistration({ order, tenant, path, expires, contexts, copiedFrom, terms }: Registration): string {
  const array = [order, tenant, path, expires, contexts.map(storedContext)] as const
  return JSON.stringify(storedRegistration(array, copiedFrom, terms && storedTerms(terms)))
}

function storedRegistration(
  array: readonly [number, string, string, number, readonly StoredContext[]],
  copiedFrom: string | undefined,
  terms: StoredTerms | undefined,
): StoredRegistration {
  if (terms !== undefined) return [...array, copiedFrom ?? null, terms]
  return copiedFrom === undefined ? array : [...array, copiedFrom]
}

function storedTerms({ description, status, mode, legacy }: RegistrationTerms): StoredTerms {
  return [description, status, mode, legacy ? 1 : 0]
}

/** The registration that is stored under an id; throws when it cannot be read. */
export function decodeRegistration(id: RegistrationId, text: string): Registration {
  const [order, tenant, path, expires, contexts, copiedFrom, terms] = JSON.parse(text) as StoredRegistration
  return {
    id,
    order,
    tenant: tenant as Tenant,
    path: path as ServicePath,
    expires: expires as Milliseconds,
    contexts: contexts.map(heldContext),
    copiedFrom: copiedFrom ?? undefined,
    terms: terms && heldTerms(terms),
  }
}

function heldTerms([description, status, mode, legacy]: StoredTerms): RegistrationTerms {
  return { description, status, mode, legacy: legacy === 1 }
}

function storedContext({ entities, attributes, provider, ordinal }: RegisteredContext, at: number): StoredContext {
  const context = [
    entities.map(storedEntity),
    attributes.map(({ name, type, isDomain }) => [name, type, isDomain ? 1 : 0] as const),
    provider,
  ] as const
  return ordinal === undefined || ordinal === at ? context : [...context, ordinal]
}

function heldContext([entities, attributes, provider, ordinal]: StoredContext): RegisteredContext {
  return {
    entities: entities.map(heldEntity),
    attributes: attributes.map(([name, type, isDomain]) => ({ name, type, isDomain: isDomain === 1 })),
    provider,
    ...(ordinal !== undefined && { ordinal }),
  }
}

function storedEntity({ id, type, everyId }: RegisteredEntity): StoredEntity {
  return everyId ? [id, type, 1] : [id, type]
}

function heldEntity([id, type, everyId]: StoredEntity): RegisteredEntity {
  const entity = { id: id as EntityId, type: type as EntityType }
  return everyId === 1 ? { ...entity, everyId: true } : entity
}

function encodeAvailability(subscription: AvailabilitySubscription): string {
  const { order, tenant, selectors, attributes, reference, expires } = subscription
  const stored: StoredAvailability = [order, tenant, selectors.map(storedSelector), attributes, reference, expires]
  return JSON.stringify(stored)
}

/** The subscription to availability that is stored under an id; throws when it cannot be read. */
export function decodeAvailability(id: SubscriptionId, text: string): AvailabilitySubscription {
  const [order, tenant, selectors, attributes, reference, expires] = JSON.parse(text) as StoredAvailability
  return {
    id,
    order,
    tenant: tenant as Tenant,
    selectors: selectors.map(heldSelector),
    attributes,
    reference,
    expires: expires as Milliseconds,
  }
}

function storedSelector({ id, type }: Selector): StoredSelector {
  const text = id.kind === 'exact' ? id.id : id.kind === 'pattern' ? id.pattern : ''
  return type === undefined ? [id.kind, text] : [id.kind, text, type]
}

function heldSelector([kind, text, type]: StoredSelector): Selector {
  const id: Selector['id'] =
    kind === 'exact' ? { kind, id: text as EntityId } : kind === 'pattern' ? { kind, pattern: text } : { kind }
  return { id, type: type as EntityType | undefined }
}
