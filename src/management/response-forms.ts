import type { ApiRequest, ApiResponse, Operation, Use, Work } from '../api/api.js'
import { shortForm } from '../api/response.js'
import { ok } from '../result.js'

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
