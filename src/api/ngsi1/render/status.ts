import {
  describeUnavailable,
  tooMuchForCluster,
  type Unavailable,
  updateMayBeDone,
} from '../../../broker/front-end/unavailable.js'
import type { ApiResponse, StatusText } from '../../../broker/operations/api.js'
import { excessText, textOf, type Wording } from '../../../broker/operations/wording.js'
import type { EntityId, EntityType } from '../../../model/context/entity.js'
import type { ElementFailure, UpdateAction, UpdateRefusal } from '../../../model/context/update.js'
import type { ElementRefusal } from '../parse/check-element.js'
import { detailsOfPayload, isParserRefusal, type PayloadRefusal } from '../parse/payload-errors.js'

const reasonPhrases = {
  200: 'OK',
  400: 'Bad Request',
  404: 'No context element found',
  413: 'Request Entity Too Large',
  422: 'Invalid Modification',
  472: 'request parameter is invalid/not allowed',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
} as const

type Code = keyof typeof reasonPhrases

/** The status object of NGSIv1 [context 1.1]. */
export function statusOf(code: Code, details?: string): StatusText {
  const status = { code: String(code), reasonPhrase: reasonPhrases[code] }
  return details === undefined ? status : { ...status, details }
}

export const okStatus = statusOf(200)

/** The status of a page of what was found, with the count of all of it where the request wants that. */
export function foundStatus(count: number, counted: boolean): StatusText {
  return counted ? statusOf(200, `Count: ${count}`) : okStatus
}

/** Whether a status reports success. */
export function isOk({ code }: StatusText): boolean {
  return code === okStatus.code
}

const noErrors: readonly string[] = []

/** The codes of the failed items, in order. */
export function errorsOf(items: readonly { readonly status: StatusText }[]): readonly string[] {
  if (items.every(({ status }) => isOk(status))) return noErrors
  return items.flatMap(({ status }) => (isOk(status) ? [] : [status.code]))
}

/** The action and the entity of a refusal: the entity found, otherwise that of the request. */
interface Attempt {
  readonly action: UpdateAction
  readonly id: EntityId
  readonly type: EntityType
}

type AnyRefusal = ElementRefusal | UpdateRefusal
/** The status of a context element that was refused, or of a part of it [context 6.4, 6.5]. */
export function statusOfRefusal(refusal: AnyRefusal, attempt: Attempt): StatusText {
  return textOf(wording, refusal, attempt)
}

const wording: Wording<AnyRefusal, StatusText, [attempt: Attempt]> = {
  attributeTwice: ({ name }) => statusOf(422, `duplicated attribute /${name}/`),
  instancesMixedInRequest: ({ name }, { action, id, type }) =>
    statusOf(472, `action: ${action} - entity: (${id}, ${type}) - offending attribute: ${name}`),
  patternInUpdate: () => statusOf(501),
  attributeEmpty: ({ name }, { action, id, type }) =>
    statusOf(
      422,
      `action: ${action} - entity: [${id}, ${type}, false] - offending attribute: ${name} - empty attribute not allowed in APPEND or UPDATE`,
    ),
  keyTooLong: () => statusOf(400, 'Too long entity id/type/servicePath combination'),
  termsUnmet: ({ why }) => {
    throw new Error(`an update of NGSIv1 has no terms, and was refused for them: ${why.kind}`)
  },
  entityUnknown: (_, { id }) => statusOf(404, id),
  attributeUnknown: ({ name }, attempt) =>
    attempt.action === 'DELETE'
      ? statusOf(472, `${offence(attempt, 'DELETE', name)} - attribute not found`)
      : statusOf(472, offence(attempt, attempt.action, name)),
  attributesMissing: (_, { id }) => statusOf(404, id),
  attributesExist: ({ names }) =>
    statusOf(400, `one or more of the attributes in the request already exist: [ ${names.join(', ')} ]`),
  instancesMixed: ({ name }, attempt) =>
    statusOf(472, `${offence(attempt, 'APPEND', name)} - attribute cannot be appended`),
  coordinatesMalformed: ({ name, value, when }, attempt) => {
    const cause = `geo coordinates format error: ${value}`
    if (when === 'creation') return statusOf(472, cause)
    const what = when === 'newAttribute' ? 'location attribute for new attribute' : 'location attribute'
    return statusOf(472, `${offence(attempt, spoken[attempt.action], name)} - error parsing ${what}: ${cause}`)
  },
  coordinateSystemUnknown: ({ name, found, when }, attempt) =>
    when === 'creation'
      ? statusOf(472, `only WGS84 are supported, found: ${found}`)
      : statusOf(
          472,
          `${offence(attempt, spoken[attempt.action], name)} - only WGS84 is supported for location, found: [${found}]`,
        ),
  entityTooLarge: ({ what, max }, { action, id, type }) =>
    statusOf(422, `action: ${action} - entity: [${id}, ${type}] - ${excessText(what, max)}`),
  typesTooMany: ({ max }, { action, id, type }) =>
    statusOf(
      422,
      `action: ${action} - entity: [${id}, ${type}] - number of types of one id exceeds the max supported: ${max}`,
    ),
  unavailable: ({ why }) => failures[why],
  locationTwice: ({ name, held, when }, attempt) =>
    when === 'creation'
      ? statusOf(472, 'You cannot use more than one geo location attribute when creating an entity')
      : statusOf(
          472,
          `${offence(attempt, spoken[attempt.action], name)} - attempt to define a geo location attribute [${name}] when another one has been previously defined [${held}]`,
        ),
}

/** The statuses of single elements, with the texts of responses to whole requests [management 11.9]. */
const failures: { readonly [Why in ElementFailure]: StatusText } = {
  storageFull: statusOf(503, 'storage full: not carried out'),
  recordTooLarge: statusOf(413, tooMuchForCluster),
  partitionLost: statusOf(503, 'partition not available: not carried out'),
  outcomeUnknown: statusOf(503, updateMayBeDone),
  fault: statusOf(500, 'internal error: not carried out'),
}

/** Location errors report APPEND_STRICT as APPEND and REPLACE as UPDATE [context 6.5]. */
const spoken: { readonly [Action in UpdateAction]: UpdateAction } = {
  APPEND: 'APPEND',
  APPEND_STRICT: 'APPEND',
  UPDATE: 'UPDATE',
  REPLACE: 'UPDATE',
  DELETE: 'DELETE',
}

function offence({ id, type }: Attempt, action: UpdateAction, name: string): string {
  return `action: ${action} - entity: [${id}, ${type}] - offending attribute: ${name}`
}

/** The position of a status object in a response that has nothing else [context 1.2]. */
export type ErrorShape = 'errorCode' | 'statusCode' | 'bare' | 'orionError'

/** A status object in one of the shapes. */
export function wrapped(shape: ErrorShape, status: StatusText): unknown {
  return shape === 'bare' ? status : { [shape]: status }
}

/** A response that is a status object, with HTTP status 200 by default [context 1.1]. */
export function statusResponse(shape: ErrorShape, status: StatusText, http = 200): ApiResponse {
  return reporting({ status: http, body: JSON.stringify(wrapped(shape, status)) }, errorsOf([{ status }]))
}

/** A response that HTTP reports as success, whatever its status object says [subscriptions 1.2]. */
export function bodyResponse(body: unknown, status: StatusText = okStatus): ApiResponse {
  return reporting({ status: 200, body: JSON.stringify(body) }, errorsOf([{ status }]))
}

/** The response to a notification of a context or of registrations. */
export function notificationResponse(responseCode: StatusText): ApiResponse {
  return bodyResponse({ responseCode }, responseCode)
}

/** A response with the codes of the errors in its body, which its HTTP status does not show. */
export function reporting(response: ApiResponse, errors: readonly string[]): ApiResponse {
  return errors.length === 0 ? response : { ...response, errors }
}

/** An error with an HTTP status of its own [context 10.2]. */
export function badRequest(details: string): ApiResponse {
  return statusResponse('orionError', statusOf(400, details), 400)
}

/** The forms in which an operation reports a refused payload, by parser and by checks. */
export interface PayloadErrors {
  readonly parser: 'errorCode' | 'orionError'
  readonly checks: 'errorCode' | 'statusCode'
}

/** The response to a payload that is refused as a whole [context 10.3]. */
export function payloadResponse(errors: PayloadErrors, refusal: PayloadRefusal): ApiResponse {
  const status = statusOf(400, detailsOfPayload(refusal))
  if (!isParserRefusal(refusal)) return statusResponse(errors.checks, status)
  return statusResponse(errors.parser, status, errors.parser === 'orionError' ? 400 : 200)
}

/** The response when the broker cannot serve the request now [management 11.9], or not as requested. */
export function unavailableResponse(refusal: Unavailable): ApiResponse {
  const { status, text, headers } = describeUnavailable(refusal)
  return { ...statusResponse('orionError', statusOf(status, text), status), ...(headers && { headers }) }
}
