import { type ApiRequest, type ApiResponse, type Operation, type Resource, segment } from '../api.js'
import {
  givenPosition,
  hasExpired,
  listeningTerms,
  nothingNamed,
  notStreamed,
  positionElsewhere,
  streamResponse,
} from '../broker/listening.js'
import type { Tenant } from '../context/entity.js'
import { isBoundTo } from '../context/service-path.js'
import type { StreamRefusal } from '../delivery/stream-message.js'
import { err, ok, type Result } from '../result.js'
import { parseGivenId } from '../subscription/given-id.js'
import { streamReference } from '../subscription/notification-url.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { forTenant } from './operation.js'
import { badRequest, statusResponse, unavailableResponse } from './render/responses.js'
import { statusOf } from './render/status.js'
import type { Ngsi1Services } from './services.js'

/** `/v1/subscriptions/{id}/events`: the notifications of a subscription as a stream of events, and how far a client has got. */
export function subscriptionEventsResource(services: Ngsi1Services): Resource {
  return {
    pattern: '/v1/subscriptions/{id}/events',
    anyCase: true,
    givesEvents: true,
    // Whoever may listen may say what has arrived.
    operations: { GET: listening(services), POST: confirming(services) },
  }
}

function listening(services: Ngsi1Services): Operation {
  return {
    use: 'read',
    prepare: (request) => {
      const terms = listeningTerms(request)
      if (!terms.ok) return err(badRequest(terms.error))
      return ok(() =>
        forListenable(services, request, async (subscription) => {
          const opened = await services.broker.listening.open({ subscription, ...terms.value }, request.client)
          return opened.ok ? streamResponse(opened.value) : refusal(opened.error, request)
        }),
      )
    },
  }
}

function confirming(services: Ngsi1Services): Operation {
  return {
    use: 'read',
    prepare: (request) => {
      const position = givenPosition(request)
      if (!position.ok) return err(badRequest(position.error))
      const { value: upTo } = position
      if (upTo === undefined) return err(badRequest(nothingNamed))
      return ok(() =>
        forListenable(services, request, async (subscription) => {
          const confirmed = await services.broker.listening.confirm(subscription, upTo)
          if (!confirmed.ok) return refusal(confirmed.error, request)
          return confirmed.value ? { status: 204 } : badRequest(positionElsewhere)
        }),
      )
    },
  }
}

/** Does something with the subscription that is meant, if it can be listened to. */
function forListenable(
  services: Ngsi1Services,
  request: ApiRequest,
  work: (subscription: SubscriptionId) => Promise<ApiResponse>,
): ApiResponse | Promise<ApiResponse> {
  return forTenant(services, request, async (tenant) => {
    const subscription = await listenable(services, request, tenant)
    return subscription.ok ? work(subscription.value) : subscription.error
  })
}

async function listenable(
  { broker }: Ngsi1Services,
  request: ApiRequest,
  tenant: Tenant,
): Promise<Result<SubscriptionId, ApiResponse>> {
  const id = parseGivenId(segment(request, 'id'))
  if (!id.ok) return err(unknown(request))
  const [found] = await broker.subscriptions.states({ tenant, id: id.value as SubscriptionId })
  if (found === undefined || !isBoundTo(request.paths, found.path)) return err(unknown(request))
  return found.reference === streamReference ? ok(found.id) : err(badRequest(notStreamed))
}

function unknown(request: ApiRequest): ApiResponse {
  return statusResponse('orionError', statusOf(404, `subscriptionId: /${segment(request, 'id')}/`), 404)
}

function refusal(why: StreamRefusal | 'away', request: ApiRequest): ApiResponse {
  switch (why) {
    case 'unknown':
      return unknown(request)
    case 'notStreamed':
      return badRequest(notStreamed)
    case 'expired':
      return badRequest(hasExpired)
    case 'full':
      return unavailableResponse({ kind: 'listenersFull' })
    case 'away':
      return unavailableResponse({ kind: 'courierAway' })
  }
}
