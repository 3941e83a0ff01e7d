import type { ApiResponse, StatusText } from '../../api/api.js'
import { describeUnavailable, type Unavailable } from '../../broker/unavailable.js'
import { isParserRefusal, type PayloadRefusal } from '../parse/payload-refusal.js'
import { detailsOfPayload } from './payload-errors.js'
import { errorsOf, okStatus, statusOf } from './status.js'

/** Where a status object sits in a response that is nothing else [context 1.2]. */
export type ErrorShape = 'errorCode' | 'statusCode' | 'bare' | 'orionError'

/** A status object in one of the shapes. */
export function wrapped(shape: ErrorShape, status: StatusText): unknown {
  return shape === 'bare' ? status : { [shape]: status }
}

/** A response that is a status object, with HTTP status 200 unless something else is said [context 1.1]. */
export function statusResponse(shape: ErrorShape, status: StatusText, http = 200): ApiResponse {
  return reporting({ status: http, body: JSON.stringify(wrapped(shape, status)) }, errorsOf([{ status }]))
}

/** A response of this API that HTTP takes for a success, whatever its status object says [subscriptions 1.2]. */
export function bodyResponse(body: unknown, status: StatusText = okStatus): ApiResponse {
  return reporting({ status: 200, body: JSON.stringify(body) }, errorsOf([{ status }]))
}

/** A response with the codes of the errors in its body, which HTTP does not say. */
export function reporting(response: ApiResponse, errors: readonly string[]): ApiResponse {
  return errors.length === 0 ? response : { ...response, errors }
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

/** The response when the broker cannot serve the request now [management 11.9], or not as requested. */
export function unavailableResponse(refusal: Unavailable): ApiResponse {
  const { status, text, headers } = describeUnavailable(refusal)
  return { ...statusResponse('orionError', statusOf(status, text), status), ...(headers && { headers }) }
}
