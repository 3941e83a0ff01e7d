import {
  type ApiRequest,
  type ApiResponse,
  type Operation,
  type Resource,
  segment,
  type TenantWork,
} from '../api/api.js'
import { eventOperations } from '../broker/listening.js'
import { ok } from '../result.js'
import { parseGivenId, type SubscriptionId } from '../subscription/subscription.js'
import { forTenant, type Ngsi1Services } from './operation.js'
import { badRequest, statusOf, statusResponse, unavailableResponse } from './render/status.js'

/** `/v1/subscriptions/{id}/events`: the notifications of a subscription as a stream of events, and how far a client has got. */
export function subscriptionEventsResource(services: Ngsi1Services): Resource {
  const { broker } = services
  const { listen, confirm } = eventOperations(broker, {
    find: async (request, tenant) => {
      const id = parseGivenId(segment(request, 'id'))
      const [found] = id.ok ? await broker.subscriptions.states({ tenant, id: id.value as SubscriptionId }) : []
      return ok(found)
    },
    unknown,
    refused: badRequest,
    unavailable: unavailableResponse,
  })
  return {
    pattern: '/v1/subscriptions/{id}/events',
    anyCase: true,
    givesEvents: true,
    operations: { GET: operationOf(services, listen), POST: operationOf(services, confirm) },
  }
}

function operationOf<Payload>(services: Ngsi1Services, { parse, work }: TenantWork<Payload>): Operation {
  return {
    use: 'read',
    prepare: (request) => {
      const payload = parse(request)
      if (!payload.ok) return payload
      return ok(() => forTenant(services, request, (tenant) => work(request, tenant, payload.value)))
    },
  }
}

function unknown(request: ApiRequest): ApiResponse {
  return statusResponse('orionError', statusOf(404, `subscriptionId: /${segment(request, 'id')}/`), 404)
}
