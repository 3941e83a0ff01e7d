import type { Scope, Selector } from '../../../model/context/query.js'
import {
  parseGivenId,
  type Subscription,
  type SubscriptionId,
  unknownId,
} from '../../../model/subscription/subscription.js'
import { streamReference } from '../../../model/subscription/targets.js'
import { err, ok, type Result } from '../../../result.js'
import { noSteps, type Steps } from '../../../slices.js'
import { atMost, type CheckRefusal, type PayloadRefusal } from './payload-errors.js'
import {
  checkScopes,
  checkSelectors,
  isEmptyRestriction,
  namesShown,
  parseSubscriptionScope,
  restriction,
  selectors,
} from './query-payload.js'
import { identifier, type Long, list, parseBody, type ReadBy, record, text } from './shape.js'

/** What triggers a subscription: changes, time, or both. */
type Conditions = Pick<Subscription, 'onChange' | 'interval_ms'>

/** The conditions of a subscription. The restriction of a single one is a text without effect [subscriptions 2.1]. */
const notifyConditions = list(
  'notifyCondition',
  record({ type: text, condValues: list('condValue', identifier), restriction: text }),
)

type ConditionDrafts = ReadBy<typeof notifyConditions>

/** Without conditions every change triggers [subscriptions 2.1]. */
const anyChange: Conditions = { onChange: [], interval_ms: undefined }

const shortestInterval_ms = 1000

/** The most triggers of all conditions together. */
const maxTriggers = 1000

/** Checks conditions and joins those of one type; undefined when there are none [subscriptions 2.1, 2.1.1]. */
function checkConditions(drafts: ConditionDrafts = []): Result<Conditions | undefined, CheckRefusal> {
  if (drafts.length === 0) return ok(undefined)
  const wrong = wrongType(drafts)
  if (wrong) return err(wrong)
  if (drafts.some(({ condValues = [] }) => condValues.includes(''))) return err({ kind: 'triggerEmpty' })
  const few = atMost(
    maxTriggers,
    'condValues',
    drafts.flatMap(({ condValues = [] }) => condValues),
  )
  if (!few.ok) return few
  const interval = shortestInterval(drafts.filter(isOf('ONTIMEINTERVAL')))
  if (!interval.ok) return interval
  return ok({ onChange: triggers(drafts.filter(isOf('ONCHANGE'))), interval_ms: interval.value })
}

function isOf(...types: readonly string[]): (draft: ConditionDrafts[number]) => boolean {
  return ({ type = '' }) => types.includes(type.toUpperCase())
}

function wrongType(drafts: ConditionDrafts): CheckRefusal | undefined {
  const isKnown = isOf('ONCHANGE', 'ONTIMEINTERVAL')
  if (drafts.some(({ type = '' }) => type === '')) return { kind: 'conditionTypeEmpty' }
  const unknown = drafts.find((draft) => !isKnown(draft))
  return unknown && { kind: 'conditionTypeUnknown', value: unknown.type ?? '' }
}

/** The triggering attributes of all conditions; a condition without any means every attribute. */
function triggers(drafts: ConditionDrafts): readonly string[] | undefined {
  if (drafts.length === 0) return undefined
  const named = drafts.map(({ condValues = [] }) => condValues)
  return named.some((names) => names.length === 0) ? [] : [...new Set(named.flat())]
}

/** The shortest of several intervals counts, as both conditions ask to be notified. */
function shortestInterval(drafts: ConditionDrafts): Result<number | undefined, CheckRefusal> {
  let shortest_ms: number | undefined
  for (const { condValues: [value = ''] = [] } of drafts) {
    const interval = parseDuration(value)
    const interval_ms = interval.ok ? (interval.value ?? 0) : 0
    if (interval_ms < shortestInterval_ms) return err({ kind: 'intervalMalformed', value })
    shortest_ms = Math.min(shortest_ms ?? interval_ms, interval_ms)
  }
  return ok(shortest_ms)
}

/** The payload of subscribeContext [subscriptions 2.1]. */
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

/** The payload of updateContextSubscription; absent members stay [subscriptions 2.2]. */
export interface ChangePayload extends NamedSubscription {
  readonly duration_ms: number | undefined
  readonly throttling_ms: number | undefined
  readonly conditions: Conditions | undefined
  readonly scopes: readonly Scope[] | undefined
  readonly spans: Spans
}

/** Durations as given, for the response; absent if not given. */
export interface Spans {
  readonly duration?: string
  readonly throttling?: string
}

/**
 * Why a payload that names a subscription or a registration is refused, with the id for its response [subscriptions 2.2, 7.1,
 * 7.4].
 */
export type NamedRefusal = PayloadRefusal & { readonly givenId: string }

export interface NamedSubscription {
  /** Undefined when the payload names none. */
  readonly id: SubscriptionId | undefined
  /** The id as given; empty without one. */
  readonly givenId: string
}

const terms = { duration: text, throttling: text, notifyConditions, restriction }

const subscriptionShape = record({
  entities: selectors,
  attributes: list('attribute', identifier),
  reference: text,
  ...terms,
})

const changeShape = record({ subscriptionId: text, ...terms })

const idShape = record({ subscriptionId: text })

/** The duration of a subscription that names none [subscriptions 1.5]. */
export const defaultDuration = 'PT24H'
export const defaultDuration_ms = 86_400_000

/** Reads and checks the payload of subscribeContext, in the order of the rows of [subscriptions 2.1.1]. */
export function* parseSubscription(
  body: string,
  strictIds: boolean,
): Steps<Result<SubscriptionPayload, PayloadRefusal>> {
  const read = yield* parseBody(body, subscriptionShape, strictIds)
  if (!read.ok) return read
  const { entities, attributes = [], reference = '' } = read.value
  const meant = yield* checkSelectors(entities)
  if (!meant.ok) return meant
  if (attributes.includes('')) return err({ kind: 'shownNameEmpty' })
  if (reference === '') return err({ kind: 'referenceEmpty' })
  if (reference !== streamReference && !isReference(reference)) return err({ kind: 'referenceMalformed' })
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
    spans: { duration: defaultDuration, ...spansOf(read.value) },
  })
}

/** Reads and checks the payload of updateContextSubscription, in the order of the rows of [subscriptions 2.2]. */
export function parseChange(body: string, strictIds: boolean): Steps<Result<ChangePayload, NamedRefusal>> {
  return parseNamed(body, changeShape, strictIds, ({ subscriptionId }) => subscriptionId, checkChange)
}

/** Reads and checks a payload that has nothing but the id of a subscription [subscriptions 2.3, 7.4]. */
export function parseIdPayload(body: string, strictIds: boolean): Steps<Result<NamedSubscription, NamedRefusal>> {
  const checked = ({ subscriptionId = '' }: ReadBy<typeof idShape>) => noSteps(checkId(subscriptionId))
  return parseNamed(body, idShape, strictIds, ({ subscriptionId }) => subscriptionId, checked)
}

/** Reads and checks a payload that names a subscription or a registration. */
export function* parseNamed<Draft, Payload>(
  body: string,
  shape: Long<Draft>,
  strictIds: boolean,
  idOf: (draft: Draft) => string | undefined,
  check: (draft: Draft) => Steps<Result<Payload, CheckRefusal>>,
): Steps<Result<Payload, NamedRefusal>> {
  const read = yield* parseBody(body, shape, strictIds)
  if (!read.ok) return err({ ...read.error, givenId: unknownId })
  const checked = yield* check(read.value)
  return checked.ok ? checked : err({ ...checked.error, givenId: idOf(read.value) || unknownId })
}

/** Checks the id of a subscription, which may be missing. */
export function checkId(givenId: string): Result<NamedSubscription, CheckRefusal> {
  if (givenId === '') return ok({ id: undefined, givenId })
  const id = parseGivenId(givenId)
  if (!id.ok) return err({ kind: 'givenIdMalformed', why: id.error })
  return ok({ id: id.value as SubscriptionId, givenId })
}

function* checkChange(draft: ReadBy<typeof changeShape>): Steps<Result<ChangePayload, CheckRefusal>> {
  const duration = parseDuration(draft.duration ?? '')
  if (!duration.ok) return duration
  const named = checkId(draft.subscriptionId ?? '')
  if (!named.ok) return named
  const terms = yield* checkTerms(draft)
  if (!terms.ok) return terms
  return ok({ ...terms.value, ...named.value, duration_ms: duration.value, spans: spansOf(draft) })
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

/** An empty text counts as absent [subscriptions 1.5]. */
function spansOf({ duration = '', throttling = '' }: Partial<Spans>): Spans {
  return { ...(duration !== '' && { duration }), ...(throttling !== '' && { throttling }) }
}

/** The seconds of each unit before the `T` of a duration; a year has 365 days, a month 30. */
const dateUnits_s: ReadonlyMap<string, number> = new Map([
  ['Y', 31_536_000],
  ['M', 2_592_000],
  ['W', 604_800],
  ['D', 86_400],
])

/** The seconds of each unit behind the `T`. */
const timeUnits_s: ReadonlyMap<string, number> = new Map([
  ['H', 3600],
  ['M', 60],
  ['S', 1],
])

/** About 200,000 years; the sum with today's date is still a date that can be written. */
const longest_ms = 6_000_000_000_000_000

/**
 * A duration, throttling or time interval in milliseconds, in whole seconds; undefined for the empty text, which counts as
 * absent. Refuses a text that is not an ISO 8601 duration [subscriptions 1.5].
 */
export function parseDuration(text: string): Result<number | undefined, { readonly kind: 'durationMalformed' }> {
  if (text === '') return ok(undefined)
  if (!text.startsWith('P') || text === 'P') return err({ kind: 'durationMalformed' })
  const end = text.indexOf('T')
  const date_s = secondsIn(text.slice(1, end === -1 ? undefined : end), dateUnits_s)
  const time_s = end === -1 ? 0 : secondsIn(text.slice(end + 1), timeUnits_s)
  if (date_s === undefined || time_s === undefined) return err({ kind: 'durationMalformed' })
  return ok(Math.min(Math.round(date_s + time_s) * 1000, longest_ms))
}

const amountWithUnit = /(\d+)(\.\d+)?([A-Z])/gy

/** The sum of amounts with their units, in any order; undefined unless each unit is known and given once at most. */
function secondsIn(text: string, units_s: ReadonlyMap<string, number>): number | undefined {
  const left_s = new Map(units_s)
  let [sum_s, length] = [0, 0]
  for (const [whole, digits, fraction = '', unit = ''] of text.matchAll(amountWithUnit)) {
    const unit_s = left_s.get(unit)
    // Only seconds have a fraction.
    if (unit_s === undefined || (fraction !== '' && unit !== 'S')) return undefined
    left_s.delete(unit)
    sum_s += Number(`${digits}${fraction}`) * unit_s
    length += whole.length
  }
  return length === text.length ? sum_s : undefined
}

/** Schemes, host and port are those of RFC 3986; a host may have underscores, as names of containers do. */
const url = /^https?:\/\/(?:(?<name>[^/?#:[\]]+)|\[[0-9a-f:.]+\])(?::(?<port>\d{1,5}))?(?:[/?#][^\s\p{Cc}]*)?$/iu

const label = /^(?!-)[\w-]{1,63}(?<!-)$/
const longestName = 253
const highestPort = 65_535

/**
 * Whether notifications can be posted to a reference: a URL of http or https with a legal host name and a port from 1 to
 * 65535, or none [subscriptions 2.1.1].
 */
export function isReference(text: string): boolean {
  const parts = url.exec(text)?.groups
  if (parts === undefined) return false
  const { name, port } = parts
  const hostIsLegal = name === undefined || isHostName(name)
  const portIsLegal = port === undefined || (Number(port) >= 1 && Number(port) <= highestPort)
  // Addresses such as 10.0.0.256 look like names; the client that sends notifications would refuse them.
  return hostIsLegal && portIsLegal && URL.canParse(text)
}

function isHostName(name: string): boolean {
  return (
    name.length <= longestName &&
    name
      .replace(/\.$/, '')
      .split('.')
      .every((part) => label.test(part))
  )
}
