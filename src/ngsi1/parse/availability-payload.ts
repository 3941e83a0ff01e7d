import type { Discovery } from '../../registration/discovery.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { CheckRefusal, PayloadRefusal } from './payload-refusal.js'
import { checkSelectors, selectors } from './query-payload.js'
import { restriction } from './restriction-payload.js'
import { identifier, list, parseBody, type ReadBy, record, text } from './shape.js'
import {
  checkId,
  defaultDuration,
  defaultDuration_ms,
  type NamedRefusal,
  type NamedSubscription,
  parseNamed,
  type Spans,
} from './subscription-payload.js'
import { isReference, parseDuration } from './text-rules.js'

/** What subscribeContextAvailability requests [subscriptions 7.4]. */
export interface AvailabilityPayload extends Discovery {
  readonly reference: string
  readonly duration_ms: number
  readonly spans: Spans
}

/** What updateContextAvailabilitySubscription requests [subscriptions 7.4]. */
export interface AvailabilityChangePayload extends Discovery, NamedSubscription {
  readonly duration_ms: number | undefined
  readonly spans: Spans
}

/** What is looked for; the restriction is accepted and means nothing. */
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
