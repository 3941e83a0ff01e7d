import type { ApiRequest, StatusText } from '../api.js'
import { err, ok, type Result } from '../result.js'
import type { Steps } from '../slices.js'
import { segment } from './convenience.js'
import { parseIdPayload } from './parse/subscription-payload.js'
import { parseTraced } from './parse/traced.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { statusOf } from './render/status.js'
import type { Ngsi1Services } from './services.js'

/** What operations on subscriptions of both kinds have in common: the id that they name. */

/** Where a path names the subscription the payload has to repeat its id [subscriptions 2.4, 7.6]. */
export function unmatchingId(asked: ApiRequest, givenId: string): StatusText | undefined {
  const inPath = segment(asked, 'id')
  if (inPath.toLowerCase() === givenId.toLowerCase()) return undefined
  return statusOf(400, `unmatching subscriptionId URI/payload: /${inPath}/ vs /${givenId}/`)
}

/** The id in a payload that has nothing else, as it was written; the empty text without one [subscriptions 2.3, 7.4]. */
export function* readId(environment: Ngsi1Services, { body }: ApiRequest): Steps<Result<string, StatusText>> {
  const given = yield* parseTraced(environment.log, body, parseIdPayload(body, environment.options.strictNgsiv1Ids))
  return given.ok ? ok(given.value) : err(statusOf(400, detailsOfPayload(given.error)))
}

/** The body that tells what became of an end [subscriptions 2.3, 7.4]. */
export function cancelled(subscriptionId: string, statusCode: StatusText): unknown {
  return { subscriptionId, statusCode }
}
