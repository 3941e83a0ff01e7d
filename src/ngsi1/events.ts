import { segment } from '../api/api.js'
import { eventOperations } from '../broker/listening.js'
import { ok } from '../result.js'
import { parseGivenId, type SubscriptionId } from '../subscription/subscription.js'
import { type Ngsi1Call, operation } from './operation.js'
import { badRequest, statusOf, statusResponse, unavailableResponse } from './render/status.js'

const { listen, confirm } = eventOperations({
  find: async ({ services, request, tenant }: Ngsi1Call) => {
    const id = parseGivenId(segment(request, 'id'))
    const [found] = id.ok ? await services.broker.subscriptions.states({ tenant, id: id.value as SubscriptionId }) : []
    return ok(found)
  },
  unknown: (request) => statusResponse('orionError', statusOf(404, `subscriptionId: /${segment(request, 'id')}/`), 404),
  refused: badRequest,
  unavailable: unavailableResponse,
})

/** `/v1/subscriptions/{id}/events`: GET streams the notifications of a subscription, POST confirms them. */
export const subscriptionEvents = { GET: operation(listen), POST: operation(confirm) }
