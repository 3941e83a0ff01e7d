import type { EntityId, EntityType } from '../../../model/context/entity.js'
import type { Discovery } from '../../../model/registration/discovery.js'
import {
  entriesOf,
  everyIdPattern,
  maxEntries,
  type RegisteredAttribute,
  type RegisteredContext,
  type RegisteredEntity,
  type RegistrationId,
} from '../../../model/registration/registration.js'
import { parseGivenId } from '../../../model/subscription/subscription.js'
import { err, ok, type Result } from '../../../result.js'
import { noSteps, type Steps } from '../../../slices.js'
import type { CheckRefusal, PayloadRefusal } from './payload-errors.js'
import { checkSelectors, restriction, selectors } from './query-payload.js'
import { identifier, list, parseBody, type ReadBy, record, text } from './shape.js'
import {
  checkId,
  defaultDuration,
  defaultDuration_ms,
  isReference,
  type NamedRefusal,
  type NamedSubscription,
  parseDuration,
  parseNamed,
  type Spans,
} from './subscription-payload.js'
import { checkMetadata, metadatas, parseIsPattern } from './update-payload.js'

/** The duration of a registration, and the one that it replaces [subscriptions 7.1]. */
interface RegistrationLife {
  /** Undefined for a new one. */
  readonly id: RegistrationId | undefined
  /** The id as given; empty without one. */
  readonly givenId: string
  readonly duration_ms: number
  /** As given, for the response. */
  readonly duration: string
}

export interface RegistrationPayload extends RegistrationLife {
  readonly contexts: readonly RegisteredContext[]
}

/** The payload of a convenience registration, whose path names what is registered [subscriptions 7.6]. */
interface ProviderPayload extends RegistrationLife {
  readonly provider: string
}

/** The payload of notifyContextAvailability [subscriptions 7.5]. */
export interface NotifiedPayload {
  /** Empty without one. */
  readonly subscription: string
  readonly contexts: readonly RegisteredContext[]
}

const contextRegistration = record({
  entities: list('entity', record({ id: identifier, type: identifier, isPattern: text })),
  attributes: list('attribute', record({ name: identifier, type: identifier, isDomain: text, metadatas })),
  metadatas,
  providingApplication: text,
})

const terms = { duration: text, registrationId: text }

const registrationShape = record({
  contextRegistrations: list('contextRegistration', contextRegistration),
  ...terms,
})

const providerShape = record({ metadatas, providingApplication: text, ...terms })

const toldShape = record({
  subscriptionId: text,
  contextRegistrationResponses: list('contextRegistrationResponse', record({ contextRegistration })),
})

type ContextDraft = ReadBy<typeof contextRegistration>
type EntityDraft = NonNullable<ContextDraft['entities']>[number]
type AttributeDraft = NonNullable<ContextDraft['attributes']>[number]

/** Reads and checks the payload of registerContext, in the order of the rows of [subscriptions 7.1]. */
export function parseRegistration(body: string, strictIds: boolean): Steps<Result<RegistrationPayload, NamedRefusal>> {
  const checked = (draft: ReadBy<typeof registrationShape>) => noSteps(checkRegistration(draft))
  return parseNamed(body, registrationShape, strictIds, ({ registrationId }) => registrationId, checked)
}

/** Reads and checks the payload of a convenience registration [subscriptions 7.6]. */
export function* parseProvider(body: string, strictIds: boolean): Steps<Result<ProviderPayload, PayloadRefusal>> {
  const read = yield* parseBody(body, providerShape, strictIds)
  if (!read.ok) return read
  const { providingApplication: provider = '' } = read.value
  if (provider === '') return err({ kind: 'providerMissing' })
  const checked = checkTerms(read.value)
  return checked.ok ? ok({ provider, ...checked.value }) : checked
}

/** Reads and checks the payload of notifyContextAvailability [subscriptions 7.5]. */
export function* parseNotified(body: string, strictIds: boolean): Steps<Result<NotifiedPayload, PayloadRefusal>> {
  const read = yield* parseBody(body, toldShape, strictIds)
  if (!read.ok) return read
  const { subscriptionId = '', contextRegistrationResponses = [] } = read.value
  const subscription = subscriptionId === '' ? ok('') : parseGivenId(subscriptionId)
  if (!subscription.ok) return err({ kind: 'givenIdMalformed', why: subscription.error })
  const drafts = contextRegistrationResponses.map(({ contextRegistration = {} }) => contextRegistration)
  if (drafts.some(({ entities = [] }) => entities.length === 0)) return err({ kind: 'selectorsMissing' })
  const contexts = checkContexts(drafts, toldEntity)
  return contexts.ok ? ok({ subscription: subscription.value, contexts: contexts.value }) : contexts
}

function checkRegistration(draft: ReadBy<typeof registrationShape>): Result<RegistrationPayload, CheckRefusal> {
  const { contextRegistrations = [] } = draft
  if (contextRegistrations.length === 0) return err({ kind: 'registrationsMissing' })
  const contexts = checkContexts(contextRegistrations, checkEntity)
  if (!contexts.ok) return contexts
  const checked = checkTerms(draft)
  return checked.ok ? ok({ contexts: contexts.value, ...checked.value }) : checked
}

function checkTerms({
  duration: span = '',
  registrationId: givenId = '',
}: {
  readonly duration?: string
  readonly registrationId?: string
}): Result<RegistrationLife, CheckRefusal> {
  const duration = parseDuration(span)
  if (!duration.ok) return duration
  const id = givenId === '' ? ok(undefined) : parseGivenId(givenId)
  if (!id.ok) return err({ kind: 'givenIdMalformed', why: id.error })
  return ok({
    id: id.value as RegistrationId | undefined,
    givenId,
    duration_ms: duration.value ?? defaultDuration_ms,
    duration: span || defaultDuration,
  })
}

/** Checks one entity of a context. */
type EntityCheck = (draft: EntityDraft) => Result<RegisteredEntity, CheckRefusal>

function checkContexts(
  drafts: readonly ContextDraft[],
  entity: EntityCheck,
): Result<readonly RegisteredContext[], CheckRefusal> {
  const number = entriesOf(drafts)
  if (number > maxEntries) {
    return err({ kind: 'tooMany', of: 'registered entities and attributes', number, max: maxEntries })
  }
  return checkAll(drafts, (draft) => checkContext(draft, entity))
}

/** Metadata are checked but not kept, since they are never shown. */
function checkContext(draft: ContextDraft, entity: EntityCheck): Result<RegisteredContext, CheckRefusal> {
  const entities = checkAll(draft.entities ?? [], entity)
  if (!entities.ok) return entities
  const attributes = checkAll(draft.attributes ?? [], checkAttribute)
  if (!attributes.ok) return attributes
  const wrong = checkMetadata(draft.metadatas ?? [])
  if (wrong) return err(wrong)
  const { providingApplication: provider = '' } = draft
  if (provider === '') return err({ kind: 'providerMissing' })
  return ok({ entities: entities.value, attributes: attributes.value, provider })
}

/** The entity of a registration of NGSIv1: a single one [subscriptions 7.1]. */
const checkEntity: EntityCheck = (draft) => {
  if ((draft.id ?? '') === '') return err({ kind: 'idEmpty' })
  const entity = toldEntity(draft)
  return entity.ok && entity.value.everyId ? err({ kind: 'patternRegistered' }) : entity
}

/**
 * The entity of an availability notification: whatever brokers notify of, also those that convenience operations and NGSIv2 register
 * [subscriptions 7.3, 7.5], [NGSIv2 subscriptions 9].
 */
const toldEntity: EntityCheck = ({ id = '', type: given = '', isPattern = '' }) => {
  const flag = parseIsPattern(isPattern)
  if (!flag.ok) return flag
  const type = given as EntityType
  if (!flag.value) return ok({ id: id as EntityId, type })
  return id === everyIdPattern ? ok({ id: everyIdPattern, type, everyId: true }) : err({ kind: 'patternRegistered' })
}

function checkAttribute(draft: AttributeDraft): Result<RegisteredAttribute, CheckRefusal> {
  const { name = '', type = '', isDomain: domain = '' } = draft
  if (name === '') return err({ kind: 'registeredNameMissing' })
  const isDomain = domain || 'false' // IoT agents leave it out.
  if (isDomain !== 'true' && isDomain !== 'false') return err({ kind: 'isDomainUnknown', value: isDomain })
  const wrong = checkMetadata(draft.metadatas ?? [])
  return wrong ? err(wrong) : ok({ name, type, isDomain: isDomain === 'true' })
}

/** Checks all of them in order; refuses with the first refusal. */
function checkAll<Draft, Checked>(
  drafts: readonly Draft[],
  check: (draft: Draft) => Result<Checked, CheckRefusal>,
): Result<readonly Checked[], CheckRefusal> {
  const checked: Checked[] = []
  for (const draft of drafts) {
    const each = check(draft)
    if (!each.ok) return each
    checked.push(each.value)
  }
  return ok(checked)
}

/** The payload of subscribeContextAvailability [subscriptions 7.4]. */
export interface AvailabilityPayload extends Discovery {
  readonly reference: string
  readonly duration_ms: number
  readonly spans: Spans
}

/** The payload of updateContextAvailabilitySubscription [subscriptions 7.4]. */
export interface AvailabilityChangePayload extends Discovery, NamedSubscription {
  readonly duration_ms: number | undefined
  readonly spans: Spans
}

/** The entities and attributes looked for; a restriction is accepted without effect. */
const discovery = { entities: selectors, attributes: list('attribute', identifier), restriction }

const discoveryShape = record(discovery)

const availabilityShape = record({ ...discovery, reference: text, duration: text })

const changeShape = record({ ...discovery, subscriptionId: text, duration: text })

type DiscoveryDraft = ReadBy<typeof discoveryShape>

/** Reads and checks the payload of discoverContextAvailability; without entities nothing is found [subscriptions 7.2]. */
export function* parseDiscovery(body: string, strictIds: boolean): Steps<Result<Discovery, PayloadRefusal>> {
  const read = yield* parseBody(body, discoveryShape, strictIds)
  if (!read.ok) return read
  const { entities = [], attributes = [] } = read.value
  return entities.length === 0 ? ok({ selectors: [], attributes }) : yield* checkDiscovery(read.value)
}

/** Reads and checks the payload of subscribeContextAvailability, in the order of the rows of [subscriptions 2.1.1]. */
export function* parseAvailability(
  body: string,
  strictIds: boolean,
): Steps<Result<AvailabilityPayload, PayloadRefusal>> {
  const read = yield* parseBody(body, availabilityShape, strictIds)
  if (!read.ok) return read
  const discovery = yield* checkDiscovery(read.value)
  if (!discovery.ok) return discovery
  const { reference = '', duration: span = '' } = read.value
  if (reference === '') return err({ kind: 'referenceEmpty' })
  if (!isReference(reference)) return err({ kind: 'referenceMalformed' })
  const duration = parseDuration(span)
  if (!duration.ok) return duration
  const duration_ms = duration.value ?? defaultDuration_ms
  return ok({ ...discovery.value, reference, duration_ms, spans: { duration: span || defaultDuration } })
}

/** Reads and checks the payload of updateContextAvailabilitySubscription [subscriptions 7.4]. */
export function parseAvailabilityChange(
  body: string,
  strictIds: boolean,
): Steps<Result<AvailabilityChangePayload, NamedRefusal>> {
  return parseNamed(body, changeShape, strictIds, ({ subscriptionId }) => subscriptionId, checkChange)
}

function* checkChange(draft: ReadBy<typeof changeShape>): Steps<Result<AvailabilityChangePayload, CheckRefusal>> {
  const discovery = yield* checkDiscovery(draft)
  if (!discovery.ok) return discovery
  const duration = parseDuration(draft.duration ?? '')
  if (!duration.ok) return duration
  const named = checkId(draft.subscriptionId ?? '')
  if (!named.ok) return named
  const spans = draft.duration ? { duration: draft.duration } : {}
  return ok({ ...discovery.value, ...named.value, duration_ms: duration.value, spans })
}

function* checkDiscovery({ entities, attributes = [] }: DiscoveryDraft): Steps<Result<Discovery, CheckRefusal>> {
  const meant = yield* checkSelectors(entities)
  if (!meant.ok) return meant
  return attributes.includes('') ? err({ kind: 'shownNameEmpty' }) : ok({ selectors: meant.value, attributes })
}
