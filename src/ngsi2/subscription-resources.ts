import type { Resource } from '../api.js'
import { subscriptionEvents } from './ngsi2-events.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import {
  createSubscription,
  deleteSubscription,
  listSubscriptions,
  patchSubscription,
  showSubscription,
} from './subscription-requests.js'

/** The resources of subscriptions, their verbs in the order of the Allow header [NGSIv2 subscriptions 1.1]. */
export function subscriptionResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/subscriptions',
      anyCase: false,
      operations: { POST: createSubscription(services), GET: listSubscriptions(services) },
      sharedOrder: ['GET', 'POST'],
    },
    {
      pattern: '/v2/subscriptions/{subscriptionId}',
      countedAs: '/v2/subscriptions/{id}',
      anyCase: false,
      operations: {
        GET: showSubscription(services),
        DELETE: deleteSubscription(services),
        PATCH: patchSubscription(services),
      },
    },
    subscriptionEvents(services),
  ]
}
