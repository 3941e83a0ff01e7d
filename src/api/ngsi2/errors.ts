import { describeUnavailable, type Unavailable } from '../../broker/front-end/unavailable.js'
import type { ApiResponse } from '../../broker/operations/api.js'
import { shortForm } from '../../broker/operations/response.js'

/** The status of each error that operations report [NGSIv2 context 1.2]. */
const statuses = {
  ParseError: 400,
  BadRequest: 400,
  NotFound: 404,
  NotAcceptable: 406,
  TooManyResults: 409,
  NoResourcesAvailable: 413,
  Unprocessable: 422,
  PartialUpdate: 422,
  InternalServerError: 500,
  NotImplemented: 501,
} as const

export function errorOf(error: keyof typeof statuses, description: string): ApiResponse {
  return { status: statuses[error], body: JSON.stringify({ error, description }) }
}

/** The response to a request that is wrong whatever is stored. */
export function badInput(description: string): ApiResponse {
  return errorOf('BadRequest', description)
}

/** The broker cannot serve the request now [management 11.9], or not as requested. */
export function unavailable(refusal: Unavailable): ApiResponse {
  const { status, text, headers } = describeUnavailable(refusal)
  return { ...shortForm(status, text), ...(headers && { headers }) }
}

/** No entity has that id, or that id and type [NGSIv2 context 8.3]. */
export const entityUnknown = errorOf('NotFound', 'The requested entity has not been found. Check type and id')

/** Several entities have that id, and the request means one [NGSIv2 context 2.1]. */
export const entityAmbiguous = errorOf('TooManyResults', 'More than one matching entity. Please refine your query')

/** The entity has no attribute of that name [NGSIv2 context 9.1]. */
export const attributeUnknown = errorOf('NotFound', 'The entity does not have such an attribute')
