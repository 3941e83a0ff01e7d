import { eventOperations } from '../../broker/front-end/listening.js'
import { segment } from '../../broker/operations/api.js'
import { parseGivenId, type SubscriptionId } from '../../model/subscription/subscription.js'
import { err, ok } from '../../result.js'
import { type Ngsi1Call, operation } from './operation.js'
import { badRequest, statusOf, statusResponse, unavailableResponse } from './render/status.js'

const { listen, confirm } = eventOperations({
  find: async ({ services, request, tenant }: Ngsi1Call) => {
    const id = parseGivenId(segment(request, 'id'))
    if (!id.ok) return ok(undefined)
    const found = await services.broker.subscriptions.one(tenant, id.value as SubscriptionId, 'ngsi1')
    return found.ok ? ok(found.value?.subscription) : err(unavailableResponse(found.error))
  },
  unknown: (request) => statusResponse('orionError', statusOf(404, `subscriptionId: /${segment(request, 'id')}/`), 404),
  refusalResponse: badRequest,
  unavailable: unavailableResponse,
})

/** `/v1/subscriptions/{id}/events`: GET streams the notifications of a subscription, POST confirms them. */
export const subscriptionEvents = { GET: operation(listen), POST: operation(confirm) }
