import type { ApiResponse, StatusText } from '../../api.js'
import type { Unavailable } from '../../broker/broker.js'
import type { QueryRefusal } from '../../context/query.js'
import { isParserRefusal, type PayloadRefusal } from '../parse/payload-refusal.js'
import { detailsOfPayload } from './payload-errors.js'
import { mayBeDone, statusOf } from './status.js'

/** Where a status object sits in a response that is nothing else [context 1.2]. */
export type ErrorShape = 'errorCode' | 'statusCode' | 'bare' | 'orionError'

/** A status object in one of the shapes. */
export function wrapped(shape: ErrorShape, status: StatusText): unknown {
  return shape === 'bare' ? status : { [shape]: status }
}

/** A response that is a status object, with HTTP status 200 unless something else is said [context 1.1]. */
export function statusResponse(shape: ErrorShape, status: StatusText, http = 200): ApiResponse {
  return { status: http, body: JSON.stringify(wrapped(shape, status)) }
}

/** A response of this API that HTTP takes for a success, whatever it says [subscriptions 1.2]. */
export function bodyResponse(body: unknown): ApiResponse {
  return { status: 200, body: JSON.stringify(body) }
}

/** An error that HTTP knows, too [context 10.2]. */
export function badRequest(details: string): ApiResponse {
  return statusResponse('orionError', statusOf(400, details), 400)
}

/** How an operation reports a payload that is refused: what the parser finds, and what the checks find. */
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

/** The answer when the broker can not do its work now [management 11.9], or not as it is asked. */
export function unavailableResponse(refusal: Unavailable): ApiResponse {
  const { kind } = refusal
  if (kind === 'pageTooLarge' || kind === 'queryTooCostly') {
    const [code, details] = unanswerable[kind]
    return statusResponse('orionError', statusOf(code, details), code)
  }
  const [general, retryAfter_s] = unavailable[kind]
  const details = kind === 'providerFull' ? `${general} ${refusal.origin}` : general
  const answer = statusResponse('orionError', statusOf(503, details), 503)
  return { ...answer, headers: { 'Retry-After': String(retryAfter_s) } }
}

const unanswerable: { readonly [Kind in QueryRefusal['kind']]: readonly [code: 400 | 413, details: string] } = {
  pageTooLarge: [
    413,
    'the results take too much memory: ask for fewer with a smaller limit or offset, or name attributes',
  ],
  queryTooCostly: [400, 'the regular expressions and filters of the query take too long for some entity: ask for less'],
}

type AtAnotherTime = Exclude<Unavailable, QueryRefusal>['kind']

const unavailable: { readonly [Kind in AtAnotherTime]: readonly [details: string, retryAfter_s: number] } = {
  partitionLost: ['partition not available', 1],
  outcomeUnknown: [mayBeDone, 1],
  storageFull: ['storage full', 60],
  partlyStored: ['storage full: a part of the update was carried out', 60],
  mailboxFull: ['too many updates are waiting', 1],
  queriesFull: ['too many queries are waiting', 1],
  scanLost: ['the thread of the query has failed', 1],
  answersFull: ['too many large answers are being sent', 1],
  forwardsFull: ['too many requests wait for context providers', 1],
  providerFull: ['too many requests wait for context provider', 1],
  queryLate: ['the query took too long', 10],
  subscriptionsFull: ['there is no room for more subscriptions', 60],
  patternsFull: ['there is no room for more regular expressions in subscriptions', 60],
  entityFull: ['there is no room for more subscriptions to one entity', 60],
  registrationsFull: ['there is no room for more registrations', 60],
  noticesFull: ['too many availability subscriptions would be notified of so large a registration', 60],
}
