import type { Discovery } from '../../registration/registration-index.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { SubscriptionId } from '../../subscription/subscription.js'
import { parseDuration } from './duration.js'
import { parseGivenId, unknownId } from './given-id.js'
import type { CheckRefusal, PayloadRefusal } from './payload-refusal.js'
import { isReference } from './reference.js'
import { restriction } from './restriction-payload.js'
import { checkSelectors, selectors } from './selectors-payload.js'
import { identifier, list, type ReadBy, readBody, record, text } from './shape.js'
import { defaultDuration, defaultDuration_ms } from './subscription-payload.js'

/** What subscribeContextAvailability asks for [subscriptions 7.4]. */
export interface AvailabilityPayload extends Discovery {
  readonly reference: string
  readonly duration_ms: number
  /** As it was written, for the answer. */
  readonly duration: string
}

/** What updateContextAvailabilitySubscription asks for [subscriptions 7.4]. */
export interface AvailabilityChangePayload extends Discovery {
  /** Nothing when the payload names none. */
  readonly id: SubscriptionId | undefined
  /** The id as it was given. */
  readonly givenId: string
  readonly duration_ms: number | undefined
  /** As it was written, for the answer; nothing when it was not given. */
  readonly duration: string | undefined
}

/** Why a payload of a change is refused, with the id that its answer carries [subscriptions 7.4]. */
export type AvailabilityChangeRefusal = PayloadRefusal & { readonly subscriptionId: string }

/** What is asked for; the restriction is accepted and means nothing. */
const asked = { entities: selectors, attributes: list('attribute', identifier), restriction }

const discoveryShape = record(asked)

const availabilityShape = record({ ...asked, reference: text, duration: text })

const changeShape = record({ ...asked, subscriptionId: text, duration: text })

type Asked = ReadBy<typeof discoveryShape>

/** Reads and checks the payload of discoverContextAvailability; without entities nothing is found [subscriptions 7.2]. */
export function* parseDiscovery(body: string, strictIds: boolean): Steps<Result<Discovery, PayloadRefusal>> {
  const read = yield* readBody(body, discoveryShape, strictIds)
  if (!read.ok) return read
  const { entities = [], attributes = [] } = read.value
  return entities.length === 0 ? ok({ selectors: [], attributes }) : checkAsked(read.value)
}

/** Reads and checks the payload of subscribeContextAvailability, in the order of the rows of [subscriptions 2.1.1]. */
export function* parseAvailability(
  body: string,
  strictIds: boolean,
): Steps<Result<AvailabilityPayload, PayloadRefusal>> {
  const read = yield* readBody(body, availabilityShape, strictIds)
  if (!read.ok) return read
  const discovery = checkAsked(read.value)
  if (!discovery.ok) return discovery
  const { reference = '', duration: span = '' } = read.value
  if (reference === '') return err({ kind: 'referenceEmpty' })
  if (!isReference(reference)) return err({ kind: 'referenceMalformed' })
  const duration = parseDuration(span)
  if (!duration.ok) return duration
  const duration_ms = duration.value ?? defaultDuration_ms
  return ok({ ...discovery.value, reference, duration_ms, duration: span || defaultDuration })
}

/** Reads and checks the payload of updateContextAvailabilitySubscription [subscriptions 7.4]. */
export function* parseAvailabilityChange(
  body: string,
  strictIds: boolean,
): Steps<Result<AvailabilityChangePayload, AvailabilityChangeRefusal>> {
  const read = yield* readBody(body, changeShape, strictIds)
  if (!read.ok) return err({ ...read.error, subscriptionId: unknownId })
  const { subscriptionId: givenId = '' } = read.value
  const checked = checkChange(read.value, givenId)
  return checked.ok ? checked : err({ ...checked.error, subscriptionId: givenId || unknownId })
}

function checkChange(
  draft: ReadBy<typeof changeShape>,
  givenId: string,
): Result<AvailabilityChangePayload, CheckRefusal> {
  const discovery = checkAsked(draft)
  if (!discovery.ok) return discovery
  const duration = parseDuration(draft.duration ?? '')
  if (!duration.ok) return duration
  const id = givenId === '' ? ok(undefined) : parseGivenId(givenId)
  if (!id.ok) return err({ kind: 'givenIdMalformed', why: id.error })
  return ok({
    ...discovery.value,
    id: id.value as SubscriptionId | undefined,
    givenId,
    duration_ms: duration.value,
    duration: draft.duration || undefined,
  })
}

function checkAsked({ entities, attributes = [] }: Asked): Result<Discovery, CheckRefusal> {
  const meant = checkSelectors(entities)
  if (!meant.ok) return meant
  return attributes.includes('') ? err({ kind: 'shownNameEmpty' }) : ok({ selectors: meant.value, attributes })
}
