import type { ApiResponse } from '../api.js'
import { type Unavailable, wordUnavailable } from '../broker/unavailable.js'
import { shortForm } from '../short-form.js'

/** The errors that come from operations, each with its status [NGSIv2 context 1.2]. */
const statuses = {
  ParseError: 400,
  BadRequest: 400,
  NotFound: 404,
  NotAcceptable: 406,
  TooManyResults: 409,
  NotImplemented: 501,
} as const

/** An error of NGSIv2 [NGSIv2 context 1.2]. */
export function refused(error: keyof typeof statuses, description: string): ApiResponse {
  return { status: statuses[error], body: JSON.stringify({ error, description }) }
}

/** The request is wrong in itself, whatever is stored. */
export function badInput(description: string): ApiResponse {
  return refused('BadRequest', description)
}

/** The broker cannot do its work now [management 11.9], or not as it is asked. */
export function unavailable(refusal: Unavailable): ApiResponse {
  const { status, text, headers } = wordUnavailable(refusal)
  return { ...shortForm(status, text), ...(headers && { headers }) }
}
