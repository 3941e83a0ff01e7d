import type { Scope, Selector } from '../../context/query.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { SubscriptionId } from '../../subscription/subscription.js'
import { anyChange, type Conditions, checkConditions, notifyConditions } from './conditions-payload.js'
import { parseDuration } from './duration.js'
import { parseGivenId, unknownId } from './given-id.js'
import type { CheckRefusal, PayloadRefusal } from './payload-refusal.js'
import { namesShown } from './query-payload.js'
import { isReference } from './reference.js'
import { checkScopes, isEmptyRestriction, restriction } from './restriction-payload.js'
import { parseSubscriptionScope } from './scope-payload.js'
import { checkSelectors, selectors } from './selectors-payload.js'
import { identifier, list, type ParserRefusal, type ReadBy, readBody, record, text } from './shape.js'

/** What subscribeContext asks for [subscriptions 2.1]. */
export interface SubscriptionPayload extends Conditions {
  readonly selectors: readonly Selector[]
  /** Each once; empty for all. */
  readonly attributes: readonly string[]
  readonly reference: string
  readonly duration_ms: number
  readonly throttling_ms: number
  readonly scopes: readonly Scope[]
  readonly spans: Spans
}

/** What updateContextSubscription asks for; what is not given is to stay [subscriptions 2.2]. */
export interface ChangePayload {
  /** Nothing when the payload names none. */
  readonly id: SubscriptionId | undefined
  /** The id as it was given. */
  readonly givenId: string
  readonly duration_ms: number | undefined
  readonly throttling_ms: number | undefined
  readonly conditions: Conditions | undefined
  readonly scopes: readonly Scope[] | undefined
  readonly spans: Spans
}

/** Durations as they were written, for the answer. What was not given is absent. */
export interface Spans {
  readonly duration?: string
  readonly throttling?: string
}

/** Why a payload of updateContextSubscription is refused, with the id that its answer carries [subscriptions 2.2]. */
export type ChangeRefusal = PayloadRefusal & { readonly subscriptionId: string }

/** What a subscription and its changes have in common. */
const terms = { duration: text, throttling: text, notifyConditions, restriction }

const subscriptionShape = record({
  entities: selectors,
  attributes: list('attribute', identifier),
  reference: text,
  ...terms,
})

const changeShape = record({ subscriptionId: text, ...terms })

const idShape = record({ subscriptionId: text })

/** Without a duration a subscription lives for so long [subscriptions 1.5]. */
export const defaultDuration = 'PT24H'
export const defaultDuration_ms = 86_400_000

/** Reads and checks the payload of subscribeContext, in the order of the rows of [subscriptions 2.1.1]. */
export function* parseSubscription(
  body: string,
  strictIds: boolean,
): Steps<Result<SubscriptionPayload, PayloadRefusal>> {
  const read = yield* readBody(body, subscriptionShape, strictIds)
  if (!read.ok) return read
  const { entities, attributes = [], reference = '' } = read.value
  const meant = checkSelectors(entities)
  if (!meant.ok) return meant
  if (attributes.includes('')) return err({ kind: 'shownNameEmpty' })
  if (reference === '') return err({ kind: 'referenceEmpty' })
  if (!isReference(reference)) return err({ kind: 'referenceMalformed' })
  const duration = parseDuration(read.value.duration ?? '')
  if (!duration.ok) return duration
  const terms = yield* checkTerms(read.value)
  if (!terms.ok) return terms
  const { conditions = anyChange, scopes = [], throttling_ms = 0 } = terms.value
  return ok({
    ...conditions,
    selectors: meant.value,
    attributes: namesShown([...new Set(attributes)]),
    reference,
    duration_ms: duration.value ?? defaultDuration_ms,
    throttling_ms,
    scopes,
    spans: spansOf(read.value),
  })
}

/** Reads and checks the payload of updateContextSubscription, in the order of the rows of [subscriptions 2.2]. */
export function* parseChange(body: string, strictIds: boolean): Steps<Result<ChangePayload, ChangeRefusal>> {
  const read = yield* readBody(body, changeShape, strictIds)
  if (!read.ok) return err({ ...read.error, subscriptionId: unknownId })
  const { subscriptionId: givenId = '' } = read.value
  const checked = yield* checkChange(read.value, givenId)
  return checked.ok ? checked : err({ ...checked.error, subscriptionId: givenId || unknownId })
}

/** The id in a payload that has nothing else, as it was given; the empty text without one [subscriptions 2.3]. */
export function* parseIdPayload(body: string, strictIds: boolean): Steps<Result<string, ParserRefusal>> {
  const read = yield* readBody(body, idShape, strictIds)
  return read.ok ? ok(read.value.subscriptionId ?? '') : read
}

function* checkChange(draft: ReadBy<typeof changeShape>, givenId: string): Steps<Result<ChangePayload, CheckRefusal>> {
  const duration = parseDuration(draft.duration ?? '')
  if (!duration.ok) return duration
  const id = givenId === '' ? ok(undefined) : parseGivenId(givenId)
  if (!id.ok) return err({ kind: 'givenIdMalformed', why: id.error })
  const terms = yield* checkTerms(draft)
  if (!terms.ok) return terms
  return ok({
    ...terms.value,
    id: id.value as SubscriptionId | undefined,
    givenId,
    duration_ms: duration.value,
    spans: spansOf(draft),
  })
}

type Terms = Pick<ChangePayload, 'conditions' | 'scopes' | 'throttling_ms'>

/** Restriction, conditions and throttling, which are checked in this order [subscriptions 2.1.1]. */
function* checkTerms({
  restriction,
  notifyConditions,
  throttling: text = '',
}: ReadBy<typeof changeShape>): Steps<Result<Terms, CheckRefusal>> {
  if (restriction !== undefined && isEmptyRestriction(restriction)) return err({ kind: 'restrictionEmpty' })
  const scopes = restriction === undefined ? ok(undefined) : yield* checkScopes(restriction, parseSubscriptionScope)
  if (!scopes.ok) return scopes
  const conditions = checkConditions(notifyConditions)
  if (!conditions.ok) return conditions
  const throttling = parseDuration(text)
  if (!throttling.ok) return err({ kind: 'throttlingMalformed' })
  return ok({ conditions: conditions.value, scopes: scopes.value, throttling_ms: throttling.value })
}

/** An empty text counts as not given [subscriptions 1.5]. */
function spansOf({ duration = '', throttling = '' }: Partial<Spans>): Spans {
  return { ...(duration !== '' && { duration }), ...(throttling !== '' && { throttling }) }
}
