import type { ApiRequest, ApiResponse, Operation, StatusText } from '../api.js'
import type { Tenant } from '../context/entity.js'
import { err, ok } from '../result.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { segment } from './convenience.js'
import {
  type AvailabilityChangePayload,
  type AvailabilityPayload,
  parseAvailability,
  parseAvailabilityChange,
} from './parse/availability-payload.js'
import { parseGivenId, unknownId } from './parse/given-id.js'
import { parseTraced } from './parse/traced.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { bodyAnswer, unavailableAnswer } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import { forTenant, type Ngsi1Services, reading } from './services.js'
import { cancelled, readId, unmatchingId } from './subscription-id.js'

/** `POST /v1/registry/subscribeContextAvailability` [subscriptions 7.4]. */
export function subscribeContextAvailability(environment: Ngsi1Services): Operation {
  return { ...postAvailability(environment), wrapStatus: (status) => failed(unknownId, status) }
}

/** `POST /v1/registry/contextAvailabilitySubscriptions` [subscriptions 7.6]. */
export function postAvailability(environment: Ngsi1Services): Operation {
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const payload = yield* parseTraced(
        environment.log,
        asked.body,
        parseAvailability(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) return err(bodyAnswer(failed(unknownId, statusOf(400, detailsOfPayload(payload.error)))))
      return ok(() => forTenant(environment, asked, (tenant) => subscribe(environment, asked, tenant, payload.value)))
    }),
  }
}

/** `POST /v1/registry/updateContextAvailabilitySubscription` [subscriptions 7.4]. */
export function updateContextAvailabilitySubscription(environment: Ngsi1Services): Operation {
  return { ...changing(environment, () => undefined), wrapStatus: (status) => failed(unknownId, status) }
}

/** `PUT /v1/registry/contextAvailabilitySubscriptions/{id}`: the payload has to repeat the id [subscriptions 7.6]. */
export function putAvailability(environment: Ngsi1Services): Operation {
  return changing(environment, (asked, { givenId }) => unmatchingId(asked, givenId))
}

/** `POST /v1/registry/unsubscribeContextAvailability` [subscriptions 7.4]. */
export function unsubscribeContextAvailability(environment: Ngsi1Services): Operation {
  return {
    use: 'write',
    wrapStatus: (status) => cancelled(unknownId, status),
    prepare: reading(environment, function* (asked) {
      const given = yield* readId(environment, asked)
      if (!given.ok) return err(bodyAnswer(cancelled(unknownId, given.error)))
      const text = given.value
      const id = text === '' ? ok(undefined) : parseGivenId(text)
      if (!id.ok) return err(bodyAnswer(cancelled(text, statusOf(400, id.error))))
      return ok(() => forTenant(environment, asked, (tenant) => unsubscribe(environment, tenant, id.value, text)))
    }),
  }
}

/** `DELETE /v1/registry/contextAvailabilitySubscriptions/{id}`: a malformed id is an unknown one [subscriptions 7.6]. */
export function deleteAvailability(environment: Ngsi1Services): Operation {
  return {
    use: 'write',
    prepare: (asked) => {
      const text = segment(asked, 'id')
      const id = parseGivenId(text)
      return ok(() =>
        forTenant(environment, asked, (tenant) => unsubscribe(environment, tenant, id.ok ? id.value : undefined, text)),
      )
    },
  }
}

async function subscribe(
  { broker }: Ngsi1Services,
  { correlator }: ApiRequest,
  tenant: Tenant,
  { duration, ...what }: AvailabilityPayload,
): Promise<ApiResponse> {
  const id = await broker.registry.subscribe({ ...what, tenant, correlator })
  return id.ok ? bodyAnswer({ subscriptionId: id.value, duration }) : unavailableAnswer(id.error)
}

/** `objection` is what else may be wrong with a change whose payload is right. */
function changing(
  environment: Ngsi1Services,
  objection: (asked: ApiRequest, payload: AvailabilityChangePayload) => StatusText | undefined,
): Operation {
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const payload = yield* parseTraced(
        environment.log,
        asked.body,
        parseAvailabilityChange(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) {
        const { error } = payload
        return err(bodyAnswer(failed(error.subscriptionId, statusOf(400, detailsOfPayload(error)))))
      }
      return ok(() =>
        forTenant(environment, asked, (tenant) => {
          const wrong = objection(asked, payload.value)
          return wrong ? bodyAnswer(failed(unknownId, wrong)) : change(environment, asked, tenant, payload.value)
        }),
      )
    }),
  }
}

async function change(
  { broker }: Ngsi1Services,
  { correlator }: ApiRequest,
  tenant: Tenant,
  { id, givenId, duration, ...what }: AvailabilityChangePayload,
): Promise<ApiResponse> {
  if (id === undefined) return bodyAnswer(failed(unknownId, unknown))
  const changed = await broker.registry.change({ ...what, tenant, id, correlator })
  if (changed.ok) return bodyAnswer({ subscriptionId: givenId, duration })
  const { error } = changed
  return error.kind === 'subscriptionUnknown' ? bodyAnswer(failed(givenId, unknown)) : unavailableAnswer(error)
}

/** `given` is the id as the client wrote it, which is what the answer repeats. */
async function unsubscribe(
  { broker }: Ngsi1Services,
  tenant: Tenant,
  id: string | undefined,
  given: string,
): Promise<ApiResponse> {
  if (id === undefined) return bodyAnswer(cancelled(given || unknownId, unknown))
  const gone = await broker.registry.unsubscribe(tenant, id as SubscriptionId)
  if (gone.ok) return bodyAnswer(cancelled(given, okStatus))
  const { error } = gone
  return error.kind === 'subscriptionUnknown' ? bodyAnswer(cancelled(given, unknown)) : unavailableAnswer(error)
}

/** No such subscription, without a word on which. */
const unknown = statusOf(404)

function failed(subscriptionId: string, errorCode: StatusText): unknown {
  return { subscriptionId, errorCode }
}
