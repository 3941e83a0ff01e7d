import type { Resource } from '../api.js'
import {
  deleteAvailability,
  postAvailability,
  putAvailability,
  subscribeContextAvailability,
  unsubscribeContextAvailability,
  updateContextAvailabilitySubscription,
} from './availability-operations.js'
import { discoverByPath, discoverContextAvailability } from './discovery.js'
import { notifyContextAvailability, registerByPath, registerContext } from './registration-operations.js'
import type { Ngsi1Services } from './services.js'

/**
 * The resources of NGSIv1's registry, their verbs in the order of the Allow header [subscriptions 1.1, 7], [management
 * 4.4, 11.4]. Where a path fits two patterns, the earlier one is meant.
 */
export function registryResources(environment: Ngsi1Services): readonly Resource[] {
  const byPath = { POST: registerByPath(environment), GET: discoverByPath(environment) }
  const ofEntity = 'contextEntities/type/{type}/id/{id}'
  return [
    aliased('registerContext', 'registrations', { POST: registerContext(environment) }),
    aliased('discoverContextAvailability', 'discoveries', { POST: discoverContextAvailability(environment) }),
    aliased('subscribeContextAvailability', 'availabilitySubscriptions', {
      POST: subscribeContextAvailability(environment),
    }),
    aliased('updateContextAvailabilitySubscription', 'availabilitySubscriptionUpdates', {
      POST: updateContextAvailabilitySubscription(environment),
    }),
    aliased('unsubscribeContextAvailability', 'availabilityUnsubscriptions', {
      POST: unsubscribeContextAvailability(environment),
    }),
    aliased('notifyContextAvailability', 'availabilityNotificationsReceived', {
      POST: notifyContextAvailability(environment),
    }),
    resource(ofEntity, 'contextEntitiesByEntityIdAndType', byPath),
    resource(`${ofEntity}/attributes/{name}`, 'entityByIdAttributeByNameIdAndType', byPath),
    aliased('contextEntities/{id}', 'contextEntitiesByEntityId', byPath),
    aliased('contextEntities/{id}/attributes', 'contextEntityAttributes', byPath),
    aliased('contextEntities/{id}/attributes/{name}', 'entityByIdAttributeByName', byPath),
    aliased('contextEntityTypes/{type}', 'contextEntityTypes', byPath),
    aliased('contextEntityTypes/{type}/attributes', 'contextEntityTypeAttributeContainer', byPath),
    aliased('contextEntityTypes/{type}/attributes/{name}', 'contextEntityTypeAttribute', byPath),
    aliased('contextAvailabilitySubscriptions', 'availabilitySubscriptions', { POST: postAvailability(environment) }),
    aliased('contextAvailabilitySubscriptions/{id}', 'subscriptionsNgsi9ConvOp', {
      PUT: putAvailability(environment),
      DELETE: deleteAvailability(environment),
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
