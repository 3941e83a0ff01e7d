import type { ApiResponse, StatusText } from '../api.js'
import { hasShortErrors, type PathKind } from './target.js'

interface Phrases {
  /** In the orionError form and wherever NGSIv1 has a status object [management 11.3]. */
  readonly reason: string
  /** In the short form [management 1]. */
  readonly error: string
}

const phrases = {
  400: { reason: 'Bad Request', error: 'BadRequest' },
  401: { reason: 'Unauthorized', error: 'Unauthorized' },
  405: { reason: 'Method Not Allowed', error: 'MethodNotAllowed' },
  406: { reason: 'Not Acceptable', error: 'NotAcceptable' },
  411: { reason: 'Content Length Required', error: 'ContentLengthRequired' },
  413: { reason: 'Request Entity Too Large', error: 'RequestEntityTooLarge' },
  414: { reason: 'URI Too Long', error: 'URITooLong' },
  415: { reason: 'Unsupported Media Type', error: 'UnsupportedMediaType' },
  500: { reason: 'Internal Server Error', error: 'InternalServerError' },
  503: { reason: 'Service Unavailable', error: 'ServiceUnavailable' },
} as const satisfies Record<number, Phrases>

export type ErrorStatus = keyof typeof phrases

/** An error in the form that the path's interface has for errors [management 1, 11.3]. */
export function errorResponse(kind: PathKind, status: ErrorStatus, text: string): ApiResponse {
  const body = hasShortErrors(kind)
    ? { error: phrases[status].error, description: text }
    : { orionError: statusText(status, text) }
  return { status, body: JSON.stringify(body) }
}

/** There is too much to do now, and may be less in a second [management 11.9]. */
export function overloaded(kind: PathKind, text: string): ApiResponse {
  return { ...errorResponse(kind, 503, text), headers: { 'Retry-After': '1' } }
}

/** The status object of NGSIv1 [context 1.1]. */
export function statusText(status: ErrorStatus, details: string): StatusText {
  return { code: String(status), reasonPhrase: phrases[status].reason, details }
}

/** The details of an error, whatever form it has: for logs. */
export function reasonOf({ status, body = '' }: ApiResponse): string {
  const text = typeof body === 'string' ? body : body()
  const [, quoted] = /"(?:details|description)":("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  return quoted === undefined ? `HTTP status ${status}` : String(JSON.parse(quoted))
}
