import type { JsonMalformed } from '../../../json-reader.js'
import { PatternsTogether } from '../../../model/context/pattern.js'
import type { Selector } from '../../../model/context/query.js'
import { coversNothing } from '../../../model/subscription/patch.js'
import {
  type Alteration,
  type AttributesFormat,
  alterations,
  attributeFormats,
  type FiringCondition,
  type NotificationTerms,
  type SetStatus,
  statuses,
} from '../../../model/subscription/terms.js'
import type { Result } from '../../../result.js'
import type { Steps } from '../../../slices.js'
import type { Milliseconds } from '../../../time.js'
import { limitedList, readExpression, readNames, readSelectors } from './selectors.js'
import { readTarget, writeTemplates } from './target-body.js'
import {
  type BodyRefusal,
  checked,
  type Given,
  type GivenObject,
  isGivenObject,
  member,
  readDate,
  readDescription,
  readGiven,
  refuse,
  tooDeepText,
} from './tree.js'

/** The entities of a subscription and what triggers it. A member that PATCH leaves unchanged is absent [NGSIv2 subscriptions 3.4]. */
export interface SubjectBody extends Omit<FiringCondition, 'onMetadata'> {
  readonly selectors: readonly Selector[]
  /** The attributes that trigger it, empty for all. */
  readonly onChange: readonly string[]
  readonly onMetadata: boolean | undefined
}

/** The notification of a subscription. A member that PATCH leaves unchanged is absent [NGSIv2 subscriptions 3.4]. */
export interface NotificationBody extends Omit<NotificationTerms, 'onlyChanged' | 'covered'> {
  readonly reference: string
  readonly attributes: readonly string[]
  readonly onlyChanged: boolean | undefined
  readonly covered: boolean | undefined
  readonly maxFails: number | undefined
}

/** The payload of a subscription; missing members are undefined [NGSIv2 subscriptions 2.1]. */
export interface SubscriptionBody {
  readonly description: string | undefined
  readonly subject: SubjectBody | undefined
  readonly notification: NotificationBody | undefined
  /** `never` for one that does not expire. */
  readonly expires: Milliseconds | 'never' | undefined
  readonly status: SetStatus | undefined
  /** In seconds. */
  readonly throttling_s: number | undefined
}

export interface NewSubscriptionBody extends SubscriptionBody {
  readonly subject: SubjectBody
  readonly notification: NotificationBody
}

/**
 * A payload that asks for notifications over Kafka and is right otherwise. Whoever parses it refuses it after all other checks [NGSIv2
 * subscriptions 7.2].
 */
export interface KafkaBody {
  readonly kafka: Pick<NotificationBody, 'attributes' | 'excepts' | 'covered'>
}

/** The text of the refusal of notifications over Kafka. */
export const kafkaUnsupported = 'kafka notifications are not supported'

/** Reads the payload of a POST, in the order of the rows of [NGSIv2 subscriptions 2.2]. */
export function* parseNewSubscription(body: string): Steps<Result<NewSubscriptionBody | KafkaBody, BodyRefusal>> {
  const given = yield* readBody(body)
  return checked(() => {
    const read = readSubscription(given, 'new')
    if ('kafka' in read) return read
    const { subject, notification, ...rest } = read
    if (subject === undefined || notification === undefined) throw new Error('what a new subscription needs is checked')
    return { ...rest, subject, notification }
  })
}

/** Reads the payload of a PATCH, in the order of the rows of [NGSIv2 subscriptions 2.2]. */
export function* parseSubscriptionPatch(body: string): Steps<Result<SubscriptionBody | KafkaBody, BodyRefusal>> {
  const given = yield* readBody(body)
  return checked(() => readSubscription(given, 'patch'))
}

/** Reads a payload in steps; its template, which may be large, is written as text too. */
function* readBody(body: string): Steps<Result<Given, JsonMalformed>> {
  const given = yield* readGiven(body)
  if (given.ok) yield* writeTemplates(given.value)
  return given
}

type Use = 'new' | 'patch'

function readSubscription(body: Result<Given, JsonMalformed>, use: Use): SubscriptionBody | KafkaBody {
  const given = readObject(body)
  if (Object.keys(given).length === 0) refuse('empty payload')
  const description = readDescription(member(given, 'description'), 'description is not a string')
  const subject = readSubject(member(given, 'subject'), use)
  const notification = readNotification(member(given, 'notification'), use)
  const expires = readExpires(member(given, 'expires'))
  const status = readStatus(member(given, 'status'))
  const throttling_s = readThrottling(member(given, 'throttling'))
  if (notification !== undefined && 'kafka' in notification) return notification
  return { description, subject, notification, expires, status, throttling_s }
}

function readObject(given: Result<Given, JsonMalformed>): GivenObject {
  if (!given.ok && given.error.isTooDeep) refuse(tooDeepText)
  if (!given.ok || !isGivenObject(given.value)) refuse('Errors found in incoming JSON buffer', 'ParseError')
  return given.value
}

function readSubject(given: Given, use: Use): SubjectBody | undefined {
  if (given === undefined) {
    if (use === 'new') refuse('no subject for subscription specified')
    return undefined
  }
  if (!isGivenObject(given)) refuse('subject is not an object')
  const entities = member(given, 'entities')
  if (entities === undefined) refuse('no subject entities specified')
  const patterns = new PatternsTogether()
  const selectors = readSelectors(limitedList(entities, 'entities'), patterns)
  if (selectors.length === 0) refuse('subject entities is empty')
  return { selectors, ...readCondition(member(given, 'condition'), patterns) }
}

function readCondition(given: Given, patterns: PatternsTogether): Omit<SubjectBody, 'selectors'> {
  if (given === undefined) {
    return { onChange: [], jexl: undefined, ...readExpression(undefined), alterations: [], onMetadata: undefined }
  }
  if (!isGivenObject(given)) refuse('condition is not an object')
  if (Object.keys(given).length === 0) refuse('condition is empty')
  const onChange = readLimitedNames(given, 'attrs')
  const jexl = member(given, 'jexlExpression')
  if (jexl !== undefined && typeof jexl !== 'string') refuse('jexlExpression is not a string')
  const expression = readExpression(member(given, 'expression'), patterns)
  const alterationTypes = readLimitedNames(given, 'alterationTypes').map(readAlteration)
  const onMetadata = readFlag(member(given, 'notifyOnMetadataChange'), 'notifyOnMetadataChange')
  return { onChange, jexl, ...expression, alterations: alterationTypes, onMetadata }
}

function readAlteration(name: string): Alteration {
  return alterations.find((each) => each === name) ?? refuse(`unknown subscription alterationType: ${name}`)
}

function readFlag(given: Given, name: string): boolean | undefined {
  if (given === undefined || typeof given === 'boolean') return given
  refuse(`${name} is not a bool`)
}

function readNotification(given: Given, use: Use): NotificationBody | KafkaBody | undefined {
  if (given === undefined) {
    if (use === 'new') refuse('no notification for subscription specified')
    return undefined
  }
  if (!isGivenObject(given)) refuse('notification is not an object')
  const target = readTarget(given)
  const shown = readShown(given)
  const onlyChanged = readFlag(member(given, 'onlyChangedAttrs'), 'onlyChangedAttrs')
  const covered = readFlag(member(given, 'covered'), 'covered')
  if (coversNothing({ ...shown, covered: covered === true })) refuse(coveredWithoutAttributes)
  const metadata = readLimitedNames(given, 'metadata')
  const format = readFormat(member(given, 'attrsFormat'))
  const maxFails = readMaxFails(member(given, 'maxFailsLimit'))
  if (target === 'kafka') return { kafka: { ...shown, covered } }
  return { ...target, ...shown, metadata, format, onlyChanged, covered, maxFails }
}

/** The text of the refusal of `covered` without a list of attributes to cover. */
export const coveredWithoutAttributes = 'covered true cannot be used if notification attributes list is empty'

function readShown(given: GivenObject): Pick<NotificationBody, 'attributes' | 'excepts'> {
  const excepts = member(given, 'exceptAttrs') !== undefined
  if (excepts && member(given, 'attrs') !== undefined) refuse('http notification has attrs and exceptAttrs')
  if (!excepts) return { attributes: readLimitedNames(given, 'attrs'), excepts }
  const attributes = readLimitedNames(given, 'exceptAttrs')
  if (attributes.length === 0) refuse('http notification has exceptAttrs is empty')
  return { attributes, excepts }
}

function readLimitedNames(given: GivenObject, name: string): readonly string[] {
  return readNames(limitedList(member(given, name), name), name)
}

function readFormat(given: Given): AttributesFormat {
  if (given === undefined) return 'normalized'
  if (typeof given !== 'string') refuse('attrsFormat is not a string')
  const format = attributeFormats.find((each) => each === given)
  const accepted = 'normalized, simplifiedNormalized, keyValues, simplifiedkeyValues, values'
  return format ?? refuse(`invalid attrsFormat, accepted values: ${accepted}`)
}

function readMaxFails(given: Given): number | undefined {
  if (given === undefined) return undefined
  if (!Number.isInteger(given)) refuse('maxFailsLimit is not an int')
  const limit = Number(given)
  if (limit < 1) refuse('maxFailsLimit must be greater than zero')
  return limit
}

function readExpires(given: Given): SubscriptionBody['expires'] {
  if (given === undefined) return undefined
  return given === '' ? 'never' : readDate(given, 'expires is not a string', 'expires has an invalid format')
}

function readStatus(given: Given): SetStatus | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'string') refuse('status is not a string')
  const status = statuses.find((each) => each === given)
  return status ?? refuse('status is not valid: it has to be either active, inactive or oneshot')
}

function readThrottling(given: Given): number | undefined {
  if (given === undefined) return undefined
  if (!Number.isInteger(given) || Number(given) < 0) refuse('throttling is not an int')
  return Number(given)
}
