import type { Answer, Asked, Operation, StatusText } from '../api.js'
import type { Tenant } from '../context/entity.js'
import { granted, refused } from '../result.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { segment } from './convenience.js'
import {
  type AvailabilityChangePayload,
  type AvailabilityPayload,
  parseAvailability,
  parseAvailabilityChange,
} from './parse/availability-payload.js'
import { parseGivenId, unknownId } from './parse/given-id.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { bodyAnswer, unavailableAnswer } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import { type Environment, forTenant, reading, readTraced } from './services.js'
import { cancelled, readId, unmatchingId } from './subscription-id.js'

/** `POST /v1/registry/subscribeContextAvailability` [subscriptions 7.4]. */
export function subscribeContextAvailability(environment: Environment): Operation {
  return { ...postAvailability(environment), wrapStatus: (status) => failed(unknownId, status) }
}

/** `POST /v1/registry/contextAvailabilitySubscriptions` [subscriptions 7.6]. */
export function postAvailability(environment: Environment): Operation {
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const payload = yield* readTraced(
        environment,
        asked.body,
        parseAvailability(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) return refused(bodyAnswer(failed(unknownId, statusOf(400, detailsOfPayload(payload.refusal)))))
      return granted(() =>
        forTenant(environment, asked, (tenant) => subscribe(environment, asked, tenant, payload.value)),
      )
    }),
  }
}

/** `POST /v1/registry/updateContextAvailabilitySubscription` [subscriptions 7.4]. */
export function updateContextAvailabilitySubscription(environment: Environment): Operation {
  return { ...changing(environment, () => undefined), wrapStatus: (status) => failed(unknownId, status) }
}

/** `PUT /v1/registry/contextAvailabilitySubscriptions/{id}`: the payload has to repeat the id [subscriptions 7.6]. */
export function putAvailability(environment: Environment): Operation {
  return changing(environment, (asked, { givenId }) => unmatchingId(asked, givenId))
}

/** `POST /v1/registry/unsubscribeContextAvailability` [subscriptions 7.4]. */
export function unsubscribeContextAvailability(environment: Environment): Operation {
  return {
    use: 'write',
    wrapStatus: (status) => cancelled(unknownId, status),
    prepare: reading(environment, function* (asked) {
      const given = yield* readId(environment, asked)
      if (!given.ok) return refused(bodyAnswer(cancelled(unknownId, given.refusal)))
      const text = given.value
      const id = text === '' ? granted(undefined) : parseGivenId(text)
      if (!id.ok) return refused(bodyAnswer(cancelled(text, statusOf(400, id.refusal))))
      return granted(() => forTenant(environment, asked, (tenant) => unsubscribe(environment, tenant, id.value, text)))
    }),
  }
}

/** `DELETE /v1/registry/contextAvailabilitySubscriptions/{id}`: a malformed id is an unknown one [subscriptions 7.6]. */
export function deleteAvailability(environment: Environment): Operation {
  return {
    use: 'write',
    prepare: (asked) => {
      const text = segment(asked, 'id')
      const id = parseGivenId(text)
      return granted(() =>
        forTenant(environment, asked, (tenant) => unsubscribe(environment, tenant, id.ok ? id.value : undefined, text)),
      )
    },
  }
}

async function subscribe(
  { broker }: Environment,
  { correlator }: Asked,
  tenant: Tenant,
  { duration, ...what }: AvailabilityPayload,
): Promise<Answer> {
  const id = await broker.registry.subscribe({ ...what, tenant, correlator })
  return id.ok ? bodyAnswer({ subscriptionId: id.value, duration }) : unavailableAnswer(id.refusal)
}

/** `objection` is what else may be wrong with a change whose payload is right. */
function changing(
  environment: Environment,
  objection: (asked: Asked, payload: AvailabilityChangePayload) => StatusText | undefined,
): Operation {
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const payload = yield* readTraced(
        environment,
        asked.body,
        parseAvailabilityChange(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) {
        const { refusal } = payload
        return refused(bodyAnswer(failed(refusal.subscriptionId, statusOf(400, detailsOfPayload(refusal)))))
      }
      return granted(() =>
        forTenant(environment, asked, (tenant) => {
          const wrong = objection(asked, payload.value)
          return wrong ? bodyAnswer(failed(unknownId, wrong)) : change(environment, asked, tenant, payload.value)
        }),
      )
    }),
  }
}

async function change(
  { broker }: Environment,
  { correlator }: Asked,
  tenant: Tenant,
  { id, givenId, duration, ...what }: AvailabilityChangePayload,
): Promise<Answer> {
  if (id === undefined) return bodyAnswer(failed(unknownId, unknown))
  const changed = await broker.registry.change({ ...what, tenant, id, correlator })
  if (changed.ok) return bodyAnswer({ subscriptionId: givenId, duration })
  const { refusal } = changed
  return refusal.kind === 'subscriptionUnknown' ? bodyAnswer(failed(givenId, unknown)) : unavailableAnswer(refusal)
}

/** `given` is the id as the client wrote it, which is what the answer repeats. */
async function unsubscribe(
  { broker }: Environment,
  tenant: Tenant,
  id: string | undefined,
  given: string,
): Promise<Answer> {
  if (id === undefined) return bodyAnswer(cancelled(given || unknownId, unknown))
  const gone = await broker.registry.unsubscribe(tenant, id as SubscriptionId)
  if (gone.ok) return bodyAnswer(cancelled(given, okStatus))
  const { refusal } = gone
  return refusal.kind === 'subscriptionUnknown' ? bodyAnswer(cancelled(given, unknown)) : unavailableAnswer(refusal)
}

/** No such subscription, without a word on which. */
const unknown = statusOf(404)

function failed(subscriptionId: string, errorCode: StatusText): unknown {
  return { subscriptionId, errorCode }
}
