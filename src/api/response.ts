import type { ApiResponse } from './api.js'

/** What `error` says in the short form, by status [management 1]. */
const shortErrors = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  411: 'ContentLengthRequired',
  413: 'RequestEntityTooLarge',
  414: 'URITooLong',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
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
