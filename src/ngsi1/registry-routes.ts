import type { Resource } from '../api/api.js'
import {
  discoverByPath,
  discoverContextAvailability,
  notifyContextAvailability,
  registerByPath,
  registerContext,
} from './registry-operations.js'
import type { Ngsi1Services } from './services.js'
import { availabilitySubscriptions } from './subscription-kinds.js'
import { subscriptionOperations } from './subscription-operations.js'

/**
 * The resources of NGSIv1's registry, their verbs in the order of the Allow header [subscriptions 1.1, 7], [management
 * 4.4, 11.4]. Where a path fits two patterns, the earlier one is meant.
 */
export function registryResources(services: Ngsi1Services): readonly Resource[] {
  const subscriptions = subscriptionOperations(services, availabilitySubscriptions(services))
  const byPath = { POST: registerByPath(services), GET: discoverByPath(services) }
  const ofEntity = 'contextEntities/type/{type}/id/{id}'
  return [
    aliased('registerContext', 'registrations', { POST: registerContext(services) }),
    aliased('discoverContextAvailability', 'discoveries', { POST: discoverContextAvailability(services) }),
    aliased('subscribeContextAvailability', 'availabilitySubscriptions', {
      POST: subscriptions.subscribe,
    }),
    aliased('updateContextAvailabilitySubscription', 'availabilitySubscriptionUpdates', {
      POST: subscriptions.update,
    }),
    aliased('unsubscribeContextAvailability', 'availabilityUnsubscriptions', {
      POST: subscriptions.unsubscribe,
    }),
    aliased('notifyContextAvailability', 'availabilityNotificationsReceived', {
      POST: notifyContextAvailability(services),
    }),
    resource(ofEntity, 'contextEntitiesByEntityIdAndType', byPath),
    resource(`${ofEntity}/attributes/{name}`, 'entityByIdAttributeByNameIdAndType', byPath),
    aliased('contextEntities/{id}', 'contextEntitiesByEntityId', byPath),
    aliased('contextEntities/{id}/attributes', 'contextEntityAttributes', byPath),
    aliased('contextEntities/{id}/attributes/{name}', 'entityByIdAttributeByName', byPath),
    aliased('contextEntityTypes/{type}', 'contextEntityTypes', byPath),
    aliased('contextEntityTypes/{type}/attributes', 'contextEntityTypeAttributeContainer', byPath),
    aliased('contextEntityTypes/{type}/attributes/{name}', 'contextEntityTypeAttribute', byPath),
    aliased('contextAvailabilitySubscriptions', 'availabilitySubscriptions', { POST: subscriptions.post }),
    aliased('contextAvailabilitySubscriptions/{id}', 'subscriptionsNgsi9ConvOp', {
      PUT: subscriptions.put,
      DELETE: subscriptions.delete,
    }),
  ]
}

function resource(path: string, counter: string, operations: Resource['operations']): Resource {
  return { pattern: `/v1/registry/${path}`, anyCase: true, counter, operations }
}

/** A resource that has been there under the older name, too [subscriptions 1.1], [management 11.6]. */
function aliased(path: string, counter: string, operations: Resource['operations']): Resource {
  return { ...resource(path, counter, operations), aliases: [`/ngsi9/${path}`] }
}
