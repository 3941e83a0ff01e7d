import type { ApiResponse, StatusText } from '../api/api.js'
import { type ErrorStatus, reasonPhrases, shortForm } from '../api/response.js'
import { kinds, type PathKind } from './target.js'

/** An error in the form that the path's interface has for errors [management 1, 11.3]. */
export function errorResponse(kind: PathKind, status: ErrorStatus, text: string): ApiResponse {
  if (kinds[kind].hasShortErrors) return shortForm(status, text)
  return { status, body: JSON.stringify({ orionError: statusText(status, text) }) }
}

/** There is too much to do now, and may be less in a second [management 11.9]. */
export function overloaded(kind: PathKind, text: string): ApiResponse {
  return { ...errorResponse(kind, 503, text), headers: { 'Retry-After': '1' } }
}

/** The status object of NGSIv1 [context 1.1]. */
export function statusText(status: ErrorStatus, details: string): StatusText {
  return { code: String(status), reasonPhrase: reasonPhrases[status], details }
}

/** The details of an error, whatever form it has: for logs. */
export function reasonOf({ status, body = '' }: ApiResponse): string {
  const text = typeof body === 'string' ? body : body()
  const [, quoted] = /"(?:details|description)":("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  return quoted === undefined ? `HTTP status ${status}` : String(JSON.parse(quoted))
}
