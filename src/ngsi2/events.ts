import { type Resource, segment } from '../api/api.js'
import { eventOperations } from '../broker/listening.js'
import { err, ok } from '../result.js'
import { parseGivenId, type SubscriptionId } from '../subscription/subscription.js'
import { badInput, unavailable } from './errors.js'
import { type Ngsi2Services, tenantOperation } from './operation.js'
import { subscriptionNotFound } from './subscription-requests.js'

/** `/v2/subscriptions/{id}/events`: GET streams the notifications of a subscription, POST confirms them. */
export function subscriptionEvents(services: Ngsi2Services): Resource['operations'] {
  const { broker } = services
  const { listen, confirm } = eventOperations(broker, {
    find: async (request, tenant) => {
      const id = parseGivenId(segment(request, 'subscriptionId'))
      if (!id.ok) return err(badInput(`Invalid subscription ID: ${id.error}`))
      const found = await broker.subscriptions.one(tenant, id.value as SubscriptionId)
      return found.ok ? ok(found.value?.subscription) : err(unavailable(found.error))
    },
    unknown: () => subscriptionNotFound,
    refused: badInput,
    unavailable,
  })
  return { GET: tenantOperation(services, 'read', listen), POST: tenantOperation(services, 'read', confirm) }
}
