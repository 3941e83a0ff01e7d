import type { ApiRequest } from '../api/api.js'
import { everywhere } from '../context/service-path.js'
import { ok, type Result } from '../result.js'
import type { Steps } from '../slices.js'
import { unknownId } from '../subscription/given-id.js'
import {
  type AvailabilityChangePayload,
  type AvailabilityPayload,
  parseAvailability,
  parseAvailabilityChange,
} from './parse/availability-payload.js'
import { requestedExistence } from './parse/parameters.js'
import { isParserRefusal, type PayloadRefusal } from './parse/payload-refusal.js'
import {
  type ChangePayload,
  parseChange,
  parseSubscription,
  type SubscriptionPayload,
} from './parse/subscription-payload.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { statusOf } from './render/status.js'
import { originOf, pathOfSubscription } from './request-head.js'
import type { Ngsi1Services } from './services.js'
import { cancelled, type SubscriptionKind } from './subscription-operations.js'

/** Subscriptions to changes of context [subscriptions 2]. */
export function contextSubscriptions(services: Ngsi1Services): SubscriptionKind<SubscriptionPayload, ChangePayload> {
  const { broker } = services
  return {
    parseCreation: parseSubscription,
    parsePosted,
    parseChange,
    pathOf: ({ paths }) => pathOfSubscription(paths),
    create: ({ request, tenant, path = everywhere }, { spans, ...creation }) => {
      const origin = originOf(services, request)
      // Its initial notification may need a scan.
      return request.client.aside(() => broker.subscriptions.subscribe({ ...creation, tenant, path, origin }))
    },
    change: ({ request, tenant, path }, id, { spans, givenId, ...change }) => {
      const origin = originOf(services, request)
      return request.client.aside(() => broker.subscriptions.change({ ...change, tenant, id, path, origin }))
    },
    remove: (tenant, id) => broker.subscriptions.unsubscribe(tenant, id),
    accepted: (subscriptionId, { duration, throttling }) => ({
      subscribeResponse: { subscriptionId, duration, throttling },
    }),
    failed: (errorCode, subscriptionId) => ({ subscribeError: { subscriptionId, errorCode } }),
    detailsOfCreation,
    malformedId: (givenId, why) => cancelled(unknownId, statusOf(400, `Invalid Subscription Id: /${givenId}/: ${why}`)),
    notFound: (givenId) => statusOf(404, `subscriptionId: /${givenId}/`),
  }
}

/** Subscriptions to registrations [subscriptions 7.4]. */
export function availabilitySubscriptions(
  services: Ngsi1Services,
): SubscriptionKind<AvailabilityPayload, AvailabilityChangePayload> {
  const { broker } = services
  const origin = (request: ApiRequest) => {
    const { correlator, service } = originOf(services, request)
    return { correlator, service }
  }
  return {
    parseCreation: parseAvailability,
    parsePosted: parseAvailability,
    parseChange: parseAvailabilityChange,
    pathOf: () => ok(undefined),
    create: ({ request, tenant }, { spans, ...creation }) =>
      broker.registry.subscribe({ ...creation, tenant, ...origin(request) }),
    change: ({ request, tenant }, id, { spans, givenId, ...change }) =>
      broker.registry.change({ ...change, tenant, id, ...origin(request) }),
    remove: (tenant, id) => broker.registry.unsubscribe(tenant, id),
    accepted: (subscriptionId, { duration }) => ({ subscriptionId, duration }),
    failed: (errorCode, subscriptionId = unknownId) => ({ subscriptionId, errorCode }),
    detailsOfCreation: detailsOfPayload,
    malformedId: (givenId, why) => cancelled(givenId, statusOf(400, why)),
    notFound: () => statusOf(404),
  }
}

/** Only the creation says that the payload is wrong, and not of what the parser finds [subscriptions 2.1.1]. */
function detailsOfCreation(refusal: PayloadRefusal): string {
  const details = detailsOfPayload(refusal)
  return isParserRefusal(refusal) ? details : `invalid payload: ${details}`
}

/** URI parameters restrict what is posted, too [subscriptions 2.1.2]. */
function* parsePosted(
  body: string,
  strictIds: boolean,
  { parameters }: ApiRequest,
): Steps<Result<SubscriptionPayload, PayloadRefusal>> {
  const payload = yield* parseSubscription(body, strictIds)
  if (!payload.ok) return payload
  const { scopes } = payload.value
  return ok({ ...payload.value, scopes: [...scopes, ...requestedExistence(parameters)] })
}
