import type { Answer, Asked, Operation, StatusText } from '../api.js'
import type { Tenant } from '../context/entity.js'
import type { Scope } from '../context/query.js'
import { granted, refused } from '../result.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { segment } from './convenience.js'
import { originOf } from './forward/origin.js'
import { parseGivenId, unknownId } from './parse/given-id.js'
import { existenceAsked } from './parse/parameters.js'
import { isParserRefusal, type PayloadRefusal } from './parse/payload-refusal.js'
import {
  type ChangePayload,
  defaultDuration,
  parseChange,
  parseSubscription,
  type Spans,
  type SubscriptionPayload,
} from './parse/subscription-payload.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { bodyAnswer, unavailableAnswer } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import { type Environment, forTenant, reading, readTraced } from './services.js'
import { cancelled, readId, unmatchingId } from './subscription-id.js'
import { everywhere, pathOfSubscription } from './tenant.js'

/** `POST /v1/subscribeContext` [subscriptions 2.1]. */
export function subscribeContext(environment: Environment): Operation {
  return { ...subscribing(environment, () => []), wrapStatus: (status) => subscribeError(status) }
}

/** `POST /v1/contextSubscriptions`: URI parameters restrict, too [subscriptions 2.1.2, 2.4]. */
export function postSubscription(environment: Environment): Operation {
  return subscribing(environment, ({ parameters }) => existenceAsked(parameters))
}

/** `POST /v1/updateContextSubscription` [subscriptions 2.2]. */
export function updateContextSubscription(environment: Environment): Operation {
  return { ...changing(environment, () => undefined), wrapStatus: (status) => subscribeError(status, unknownId) }
}

/** `PUT /v1/contextSubscriptions/{id}`: the payload has to repeat the id [subscriptions 2.4]. */
export function putSubscription(environment: Environment): Operation {
  return changing(environment, (asked, { givenId }) => unmatchingId(asked, givenId))
}

/** `POST /v1/unsubscribeContext` [subscriptions 2.3]. */
export function unsubscribeContext(environment: Environment): Operation {
  return {
    use: 'write',
    wrapStatus: (status) => cancelled(unknownId, status),
    prepare: reading(environment, function* (asked) {
      const given = yield* readId(environment, asked)
      if (!given.ok) return refused(bodyAnswer(cancelled(unknownId, given.refusal)))
      const text = given.value
      if (text === '')
        return granted(() => forTenant(environment, asked, () => bodyAnswer(cancelled(unknownId, unknown))))
      const id = parseGivenId(text)
      if (!id.ok) {
        const status = statusOf(400, `Invalid Subscription Id: /${text}/: ${id.refusal}`)
        return refused(bodyAnswer(cancelled(unknownId, status)))
      }
      return granted(() =>
        forTenant(environment, asked, (tenant) => unsubscribe(environment, tenant, id.value as SubscriptionId, text)),
      )
    }),
  }
}

/** `DELETE /v1/contextSubscriptions/{id}`: a malformed id is an unknown one [subscriptions 2.4]. */
export function deleteSubscription(environment: Environment): Operation {
  return {
    use: 'write',
    prepare: (asked) => {
      const text = segment(asked, 'id')
      const id = parseGivenId(text)
      return granted(() =>
        forTenant(environment, asked, (tenant) =>
          id.ok
            ? unsubscribe(environment, tenant, id.value as SubscriptionId, text)
            : bodyAnswer(cancelled(text, unknown)),
        ),
      )
    },
  }
}

function subscribing(environment: Environment, scopesOf: (asked: Asked) => readonly Scope[]): Operation {
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const payload = yield* readTraced(
        environment,
        asked.body,
        parseSubscription(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) return refused(bodyAnswer(subscribeError(statusOf(400, detailsOfCreation(payload.refusal)))))
      const what = { ...payload.value, scopes: [...payload.value.scopes, ...scopesOf(asked)] }
      return granted(() => forTenant(environment, asked, (tenant) => subscribe(environment, asked, tenant, what)))
    }),
  }
}

/** Only the creation says that it is the payload that is wrong, and not of what the parser finds [subscriptions 2.1.1]. */
function detailsOfCreation(refusal: PayloadRefusal): string {
  const details = detailsOfPayload(refusal)
  return isParserRefusal(refusal) ? details : `invalid payload: ${details}`
}

async function subscribe(
  environment: Environment,
  asked: Asked,
  tenant: Tenant,
  { spans, ...what }: SubscriptionPayload,
): Promise<Answer> {
  const path = pathOfSubscription(asked.paths)
  if (!path.ok) return bodyAnswer(subscribeError(path.refusal))
  const origin = originOf(environment, asked)
  const asking = { ...what, tenant, path: path.value ?? everywhere, origin }
  // Its initial notification may need a scan.
  const id = await asked.client.aside(() => environment.broker.subscriptions.subscribe(asking))
  if (!id.ok) return unavailableAnswer(id.refusal)
  return bodyAnswer(subscribed(id.value, { duration: defaultDuration, ...spans }))
}

/** `objection` is what else may be wrong with a change whose payload is right. */
function changing(
  environment: Environment,
  objection: (asked: Asked, payload: ChangePayload) => StatusText | undefined,
): Operation {
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const payload = yield* readTraced(
        environment,
        asked.body,
        parseChange(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) {
        const { refusal } = payload
        return refused(bodyAnswer(subscribeError(statusOf(400, detailsOfPayload(refusal)), refusal.subscriptionId)))
      }
      const what = payload.value
      return granted(() =>
        forTenant(environment, asked, (tenant) => {
          const wrong = objection(asked, what)
          return wrong ? bodyAnswer(subscribeError(wrong, unknownId)) : change(environment, asked, tenant, what)
        }),
      )
    }),
  }
}

async function change(
  environment: Environment,
  asked: Asked,
  tenant: Tenant,
  { id, givenId, spans, ...what }: ChangePayload,
): Promise<Answer> {
  if (id === undefined) return bodyAnswer(subscribeError(unknown, unknownId))
  const path = pathOfSubscription(asked.paths)
  if (!path.ok) return bodyAnswer(subscribeError(path.refusal, givenId))
  const asking = { ...what, tenant, id, path: path.value, origin: originOf(environment, asked) }
  const changed = await asked.client.aside(() => environment.broker.subscriptions.change(asking))
  if (changed.ok) return bodyAnswer(subscribed(givenId, spans))
  const { refusal } = changed
  return refusal.kind === 'subscriptionUnknown'
    ? bodyAnswer(subscribeError(unknown, givenId))
    : unavailableAnswer(refusal)
}

/** `given` is the id as the client wrote it, which is what the answer repeats. */
async function unsubscribe(
  { broker }: Environment,
  tenant: Tenant,
  id: SubscriptionId,
  given: string,
): Promise<Answer> {
  const gone = await broker.subscriptions.unsubscribe(tenant, id)
  if (gone.ok) return bodyAnswer(cancelled(given, okStatus))
  const { refusal } = gone
  return refusal.kind === 'subscriptionUnknown'
    ? bodyAnswer(cancelled(given, statusOf(404, `subscriptionId: /${given}/`)))
    : unavailableAnswer(refusal)
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
