import type { ApiRequest, ApiResponse, Operation, StatusText } from '../api.js'
import type { Tenant } from '../context/entity.js'
import type { Scope } from '../context/query.js'
import { err, ok } from '../result.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { segment } from './convenience.js'
import { originOf } from './forward/origin.js'
import { parseGivenId, unknownId } from './parse/given-id.js'
import { requestedExistence } from './parse/parameters.js'
import { isParserRefusal, type PayloadRefusal } from './parse/payload-refusal.js'
import {
  type ChangePayload,
  defaultDuration,
  parseChange,
  parseSubscription,
  type Spans,
  type SubscriptionPayload,
} from './parse/subscription-payload.js'
import { parseTraced } from './parse/traced.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { bodyAnswer, unavailableAnswer } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import { forTenant, type Ngsi1Services, reading } from './services.js'
import { cancelled, readId, unmatchingId } from './subscription-id.js'
import { everywhere, pathOfSubscription } from './tenant.js'

/** `POST /v1/subscribeContext` [subscriptions 2.1]. */
export function subscribeContext(environment: Ngsi1Services): Operation {
  return { ...subscribing(environment, () => []), wrapStatus: (status) => subscribeError(status) }
}

/** `POST /v1/contextSubscriptions`: URI parameters restrict, too [subscriptions 2.1.2, 2.4]. */
export function postSubscription(environment: Ngsi1Services): Operation {
  return subscribing(environment, ({ parameters }) => requestedExistence(parameters))
}

/** `POST /v1/updateContextSubscription` [subscriptions 2.2]. */
export function updateContextSubscription(environment: Ngsi1Services): Operation {
  return { ...changing(environment, () => undefined), wrapStatus: (status) => subscribeError(status, unknownId) }
}

/** `PUT /v1/contextSubscriptions/{id}`: the payload has to repeat the id [subscriptions 2.4]. */
export function putSubscription(environment: Ngsi1Services): Operation {
  return changing(environment, (asked, { givenId }) => unmatchingId(asked, givenId))
}

/** `POST /v1/unsubscribeContext` [subscriptions 2.3]. */
export function unsubscribeContext(environment: Ngsi1Services): Operation {
  return {
    use: 'write',
    wrapStatus: (status) => cancelled(unknownId, status),
    prepare: reading(environment, function* (asked) {
      const given = yield* readId(environment, asked)
      if (!given.ok) return err(bodyAnswer(cancelled(unknownId, given.error)))
      const text = given.value
      if (text === '') return ok(() => forTenant(environment, asked, () => bodyAnswer(cancelled(unknownId, unknown))))
      const id = parseGivenId(text)
      if (!id.ok) {
        const status = statusOf(400, `Invalid Subscription Id: /${text}/: ${id.error}`)
        return err(bodyAnswer(cancelled(unknownId, status)))
      }
      return ok(() =>
        forTenant(environment, asked, (tenant) => unsubscribe(environment, tenant, id.value as SubscriptionId, text)),
      )
    }),
  }
}

/** `DELETE /v1/contextSubscriptions/{id}`: a malformed id is an unknown one [subscriptions 2.4]. */
export function deleteSubscription(environment: Ngsi1Services): Operation {
  return {
    use: 'write',
    prepare: (asked) => {
      const text = segment(asked, 'id')
      const id = parseGivenId(text)
      return ok(() =>
        forTenant(environment, asked, (tenant) =>
          id.ok
            ? unsubscribe(environment, tenant, id.value as SubscriptionId, text)
            : bodyAnswer(cancelled(text, unknown)),
        ),
      )
    },
  }
}

function subscribing(environment: Ngsi1Services, scopesOf: (asked: ApiRequest) => readonly Scope[]): Operation {
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const payload = yield* parseTraced(
        environment.log,
        asked.body,
        parseSubscription(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) return err(bodyAnswer(subscribeError(statusOf(400, detailsOfCreation(payload.error)))))
      const what = { ...payload.value, scopes: [...payload.value.scopes, ...scopesOf(asked)] }
      return ok(() => forTenant(environment, asked, (tenant) => subscribe(environment, asked, tenant, what)))
    }),
  }
}

/** Only the creation says that it is the payload that is wrong, and not of what the parser finds [subscriptions 2.1.1]. */
function detailsOfCreation(refusal: PayloadRefusal): string {
  const details = detailsOfPayload(refusal)
  return isParserRefusal(refusal) ? details : `invalid payload: ${details}`
}

async function subscribe(
  environment: Ngsi1Services,
  asked: ApiRequest,
  tenant: Tenant,
  { spans, ...what }: SubscriptionPayload,
): Promise<ApiResponse> {
  const path = pathOfSubscription(asked.paths)
  if (!path.ok) return bodyAnswer(subscribeError(path.error))
  const origin = originOf(environment, asked)
  const asking = { ...what, tenant, path: path.value ?? everywhere, origin }
  // Its initial notification may need a scan.
  const id = await asked.client.aside(() => environment.broker.subscriptions.subscribe(asking))
  if (!id.ok) return unavailableAnswer(id.error)
  return bodyAnswer(subscribed(id.value, { duration: defaultDuration, ...spans }))
}

/** `objection` is what else may be wrong with a change whose payload is right. */
function changing(
  environment: Ngsi1Services,
  objection: (asked: ApiRequest, payload: ChangePayload) => StatusText | undefined,
): Operation {
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const payload = yield* parseTraced(
        environment.log,
        asked.body,
        parseChange(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) {
        const { error } = payload
        return err(bodyAnswer(subscribeError(statusOf(400, detailsOfPayload(error)), error.subscriptionId)))
      }
      const what = payload.value
      return ok(() =>
        forTenant(environment, asked, (tenant) => {
          const wrong = objection(asked, what)
          return wrong ? bodyAnswer(subscribeError(wrong, unknownId)) : change(environment, asked, tenant, what)
        }),
      )
    }),
  }
}

async function change(
  environment: Ngsi1Services,
  asked: ApiRequest,
  tenant: Tenant,
  { id, givenId, spans, ...what }: ChangePayload,
): Promise<ApiResponse> {
  if (id === undefined) return bodyAnswer(subscribeError(unknown, unknownId))
  const path = pathOfSubscription(asked.paths)
  if (!path.ok) return bodyAnswer(subscribeError(path.error, givenId))
  const asking = { ...what, tenant, id, path: path.value, origin: originOf(environment, asked) }
  const changed = await asked.client.aside(() => environment.broker.subscriptions.change(asking))
  if (changed.ok) return bodyAnswer(subscribed(givenId, spans))
  const { error } = changed
  return error.kind === 'subscriptionUnknown' ? bodyAnswer(subscribeError(unknown, givenId)) : unavailableAnswer(error)
}

/** `given` is the id as the client wrote it, which is what the answer repeats. */
async function unsubscribe(
  { broker }: Ngsi1Services,
  tenant: Tenant,
  id: SubscriptionId,
  given: string,
): Promise<ApiResponse> {
  const gone = await broker.subscriptions.unsubscribe(tenant, id)
  if (gone.ok) return bodyAnswer(cancelled(given, okStatus))
  const { error } = gone
  return error.kind === 'subscriptionUnknown'
    ? bodyAnswer(cancelled(given, statusOf(404, `subscriptionId: /${given}/`)))
    : unavailableAnswer(error)
}

/** No such subscription, without a word on which. */
const unknown = statusOf(404)

function subscribed(subscriptionId: string, { duration, throttling }: Spans): unknown {
  return { subscribeResponse: { subscriptionId, duration, throttling } }
}

/** An id is not given where subscriptions are made, and always where they are changed [subscriptions 2.1.1, 2.2]. */
function subscribeError(errorCode: StatusText, subscriptionId?: string): unknown {
  return { subscribeError: { subscriptionId, errorCode } }
}
