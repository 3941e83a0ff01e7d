import { eventOperations } from '../../broker/front-end/listening.js'
import { segment } from '../../broker/operations/api.js'
import { parseGivenId, type SubscriptionId } from '../../model/subscription/subscription.js'
import { err, ok } from '../../result.js'
import { badInput, unavailable } from './errors.js'
import { type Ngsi2Call, operation } from './operation.js'
import { subscriptionNotFound } from './subscription-requests.js'

const { listen, confirm } = eventOperations({
  find: async ({ services, request, tenant }: Ngsi2Call) => {
    const id = parseGivenId(segment(request, 'subscriptionId'))
    if (!id.ok) return err(badInput(`Invalid subscription ID: ${id.error}`))
    const found = await services.broker.subscriptions.one(tenant, id.value as SubscriptionId, 'ngsi2')
    return found.ok ? ok(found.value?.subscription) : err(unavailable(found.error))
  },
  unknown: () => subscriptionNotFound,
  refusalResponse: badInput,
  unavailable,
})

/** `/v2/subscriptions/{id}/events`: GET streams the notifications of a subscription, POST confirms them. */
export const subscriptionEvents = { GET: operation(listen), POST: operation(confirm) }
