import { type Nanoseconds, toMilliseconds } from '../../time.js'
import type { Facts, LineContext } from './log.js'
import { payloadShown, urlWithoutSecrets } from './secrets.js'

/** Which requests have a line in the log [management 10.4]. */
export type AccessLog = 'on' | 'errors' | 'off'

/** The level of a request's line; undefined for a request without one. */
export function accessLevel(accessLog: AccessLog, hasErrors: boolean): 'INFO' | 'WARN' | undefined {
  if (accessLog === 'on') return 'INFO'
  return accessLog === 'errors' && hasErrors ? 'WARN' : undefined
}

/** The status of a request whose client had gone before the response [management 10.4]. */
export const clientGone = 499

/** A request after which nothing more comes: its response has gone out, or never will. */
export interface EndedRequest {
  readonly status: number
  /** Whether its response is an error, or has one inside it. */
  readonly hasErrors: boolean
  /** The label of its route in the metrics [management 7]. */
  readonly route: string
  readonly duration: Nanoseconds
  readonly requestBody: string
  readonly request_bytes: number
  readonly responseBody: string
  readonly response_bytes: number
}

/** The head of a request, as it came. */
export interface LoggedHead {
  readonly method: string
  readonly target: string
  /** The header Fiware-Service; empty without it. */
  readonly service: string
}

/** How payloads are shown. */
export interface ShownPayloads {
  readonly limit_bytes: number
  /** Whether those of responses are shown that are no error [management 3.1]. */
  readonly ofAllResponses: boolean
}

/** The text of a request's line, which is that of Orion [management 10.4]. */
export function accessText(
  { method, target }: LoggedHead,
  ended: EndedRequest,
  { limit_bytes, ofAllResponses }: ShownPayloads,
): string {
  const { status, requestBody, request_bytes, responseBody, response_bytes } = ended
  const shown = (body: string): string => payloadShown(body, limit_bytes)
  const request = requestBody === '' ? '' : `, request payload (${request_bytes} bytes): ${shown(requestBody)}`
  const shows = responseBody !== '' && (status >= 400 || ofAllResponses)
  const response = shows ? `, response payload (${response_bytes} bytes): ${shown(responseBody)}` : ''
  return `Request received: ${method} ${urlWithoutSecrets(target)}${request}, response code: ${status}${response}`
}

/** The facts of a request's line, in their order; none is ever missing [management 10.4]. */
export function accessFacts(
  { method, target, service }: LoggedHead,
  { status, route, duration, request_bytes, response_bytes }: EndedRequest,
  { from, corr }: LineContext,
): Facts {
  return {
    method,
    path: urlWithoutSecrets(target.split('?', 1).join()),
    route,
    status,
    duration_ms: toMilliseconds(duration),
    bytes_in: request_bytes,
    bytes_out: response_bytes,
    client: from,
    tenant: service.toLowerCase(),
    correlator: corr,
  }
}
