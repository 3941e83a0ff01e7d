import type { ApiRequest, ApiResponse, Operation, Use, Work } from '../api.js'
import { ok } from '../result.js'

/** What `error` says in the short form, by status [management 1]. */
const shortErrors = {
  400: 'BadRequest',
  401: 'Unauthorized',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  411: 'ContentLengthRequired',
  413: 'RequestEntityTooLarge',
  414: 'URITooLong',
  415: 'UnsupportedMediaType',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
} as const

/** An error as the management interface and NGSIv2 report it [management 1]. */
export function shortForm(status: keyof typeof shortErrors, description: string): ApiResponse {
  return { status, body: JSON.stringify({ error: shortErrors[status], description }) }
}

/** 200 with a body in JSON. */
export function json(value: unknown): ApiResponse {
  return { status: 200, body: JSON.stringify(value) }
}

/** A member of a JSON object whose value has been rendered already. */
export type JsonMember = readonly [name: string, text: string]

/** An object of members that were rendered by hand, because a number's text matters [management 4.1]. */
export function objectText(members: readonly JsonMember[]): string {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
}

/** An operation that can not be refused. */
export function operation(use: Use, work: (request: ApiRequest) => ReturnType<Work>): Operation {
  return { use, prepare: (request) => ok(() => work(request)) }
}

/** The refusal of a parameter that has no value [management 3.2, 4.7]. */
export function emptyParameter(name: string): ApiResponse {
  return shortForm(400, `Empty right-hand-side for URI param /${name}/`)
}
