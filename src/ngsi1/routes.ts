import type { Interface, Operation, Resource } from '../api/api.js'
import { parseServicePaths } from '../context/scope-headers.js'
import { err } from '../result.js'
import { LongPayloads } from '../slices.js'
import { queryContext, updateContext } from './context-operations.js'
import { listTypes, showType } from './context-types.js'
import {
  allEntities,
  attributeOfId,
  attributeOfType,
  attributeOfTypeAndId,
  entitiesOfId,
  entitiesOfType,
  entityOfTypeAndId,
  instanceOfTypeAndId,
  type ReadRow,
  readOperation,
} from './convenience-read.js'
import {
  appendAttribute,
  appendEntity,
  deleteAttribute,
  deleteEntity,
  type UpdateRow,
  updateAttribute,
  updateEntity,
  updateOperation,
} from './convenience-update.js'
import { subscriptionEventsResource } from './events.js'
import { notifyContext } from './notify-context.js'
import type { Ngsi1Services } from './operation.js'
import { checkParameters } from './parse/parameters.js'
import {
  discoverByPath,
  discoverContextAvailability,
  notifyContextAvailability,
  registerByPath,
  registerContext,
} from './registry-operations.js'
import { badRequest, statusOf, statusResponse } from './render/status.js'
import { availabilitySubscriptions, contextSubscriptions, subscriptionOperations } from './subscriptions.js'

/** NGSIv1 as the HTTP layer knows it. */
export function ngsi1Interface(surroundings: Omit<Ngsi1Services, 'longPayloads'>): Interface {
  return {
    resources: ngsi1Resources(surroundings),
    parseServicePaths: (header) => {
      const paths = parseServicePaths(header, 'all')
      return paths.ok ? paths : err(statusResponse('orionError', statusOf(400, paths.error)))
    },
    checkParameters,
    unknownPath: () => badRequest('service not found'),
    isOfText: () => false,
    shares: 'reads',
    parseStage: 'jsonV1Parse',
  }
}

/**
 * The resources of NGSIv1, their verbs in the order of the Allow header [context 1.3, 8, 9],
 * [subscriptions 1.1, 2], [management 4.4, 11.4]. Where a path fits two patterns, the earlier one is meant.
 */
export function ngsi1Resources(surroundings: Omit<Ngsi1Services, 'longPayloads'>): readonly Resource[] {
  const services = { ...surroundings, longPayloads: new LongPayloads() }
  const subscriptions = subscriptionOperations(services, contextSubscriptions(services))
  const read = (row: ReadRow): Operation => readOperation(services, row)
  const update = <Payload>(row: UpdateRow<Payload>): Operation => updateOperation(services, row)
  const entityWrites = { PUT: update(updateEntity), DELETE: update(deleteEntity) }
  const entity = { POST: update(appendEntity), GET: read(entitiesOfId), ...entityWrites }
  const attributeWrites = { PUT: update(updateAttribute), DELETE: update(deleteAttribute) }
  const ofType = { GET: read(entitiesOfType) }
  return [
    aliased('updateContext', 'updates', { POST: updateContext(services) }),
    aliased('queryContext', 'queries', { POST: queryContext(services) }),
    aliased('subscribeContext', 'subscriptions', { POST: subscriptions.subscribe }),
    aliased('updateContextSubscription', 'subscriptionUpdates', { POST: subscriptions.update }),
    aliased('unsubscribeContext', 'unsubscriptions', { POST: subscriptions.unsubscribe }),
    aliased('contextSubscriptions', 'subscriptions', { POST: subscriptions.post }),
    aliased('contextSubscriptions/{id}', 'subscriptionsNgsi10ConvOp', {
      PUT: subscriptions.put,
      DELETE: subscriptions.delete,
    }),
    subscriptionEventsResource(services),
    aliased('notifyContext', 'notificationsReceived', { POST: notifyContext(services) }),
    resource('contextEntities', 'allContextEntitiesRequests', { POST: update(appendEntity), GET: read(allEntities) }),
    resource('contextEntities/type/{type}/id/{id}', 'allContextEntitiesWithTypeAndIdRequests', {
      POST: update(appendEntity),
      GET: read(entityOfTypeAndId),
      ...entityWrites,
    }),
    resource('contextEntities/type/{type}/id/{id}/attributes/{name}', 'individualContextEntityAttributeWithTypeAndId', {
      POST: update(appendAttribute),
      GET: read(attributeOfTypeAndId),
      ...attributeWrites,
    }),
    resource('contextEntities/type/{type}/id/{id}/attributes/{name}/{metaID}', 'attributeValueInstanceWithTypeAndId', {
      POST: update(appendAttribute),
      GET: read(instanceOfTypeAndId),
      ...attributeWrites,
    }),
    aliased('contextEntities/{id}', 'individualContextEntity', entity),
    aliased('contextEntities/{id}/attributes', 'individualContextEntityAttributes', entity),
    aliased('contextEntities/{id}/attributes/{name}', 'individualContextEntityAttribute', {
      POST: update(appendAttribute),
      GET: read(attributeOfId),
      ...attributeWrites,
    }),
    aliased('contextEntities/{id}/attributes/{name}/{metaID}', 'attributeValueInstance', {
      GET: read(attributeOfId),
      ...attributeWrites,
    }),
    aliased('contextEntityTypes/{type}', 'contextEntityTypesNgsi10', ofType),
    aliased('contextEntityTypes/{type}/attributes', 'contextEntityTypeAttributeContainerNgsi10', ofType),
    aliased('contextEntityTypes/{type}/attributes/{name}', 'contextEntityTypeAttributeNgsi10', {
      GET: read(attributeOfType),
    }),
    resource('contextTypes', 'entityTypes', { GET: listTypes(services) }),
    resource('contextTypes/{type}', 'attributesForEntityType', { GET: showType(services) }),
    ...registryResources(services),
  ]
}

function resource(path: string, counter: string, operations: Resource['operations']): Resource {
  return { pattern: `/v1/${path}`, anyCase: true, counter, operations }
}

/** A resource that is reachable under its older name, too [context 1.3]. */
function aliased(path: string, counter: string, operations: Resource['operations']): Resource {
  return { ...resource(path, counter, operations), aliases: [`/ngsi10/${path}`] }
}

/**
 * The resources of NGSIv1's registry, their verbs in the order of the Allow header [subscriptions 1.1, 7], [management
 * 4.4, 11.4]. Where a path fits two patterns, the earlier one is meant.
 */
export function registryResources(services: Ngsi1Services): readonly Resource[] {
  const subscriptions = subscriptionOperations(services, availabilitySubscriptions(services))
  const byPath = { POST: registerByPath(services), GET: discoverByPath(services) }
  const ofEntity = 'contextEntities/type/{type}/id/{id}'
  return [
    aliasedRegistry('registerContext', 'registrations', { POST: registerContext(services) }),
    aliasedRegistry('discoverContextAvailability', 'discoveries', { POST: discoverContextAvailability(services) }),
    aliasedRegistry('subscribeContextAvailability', 'availabilitySubscriptions', {
      POST: subscriptions.subscribe,
    }),
    aliasedRegistry('updateContextAvailabilitySubscription', 'availabilitySubscriptionUpdates', {
      POST: subscriptions.update,
    }),
    aliasedRegistry('unsubscribeContextAvailability', 'availabilityUnsubscriptions', {
      POST: subscriptions.unsubscribe,
    }),
    aliasedRegistry('notifyContextAvailability', 'availabilityNotificationsReceived', {
      POST: notifyContextAvailability(services),
    }),
    resource(`registry/${ofEntity}`, 'contextEntitiesByEntityIdAndType', byPath),
    resource(`registry/${ofEntity}/attributes/{name}`, 'entityByIdAttributeByNameIdAndType', byPath),
    aliasedRegistry('contextEntities/{id}', 'contextEntitiesByEntityId', byPath),
    aliasedRegistry('contextEntities/{id}/attributes', 'contextEntityAttributes', byPath),
    aliasedRegistry('contextEntities/{id}/attributes/{name}', 'entityByIdAttributeByName', byPath),
    aliasedRegistry('contextEntityTypes/{type}', 'contextEntityTypes', byPath),
    aliasedRegistry('contextEntityTypes/{type}/attributes', 'contextEntityTypeAttributeContainer', byPath),
    aliasedRegistry('contextEntityTypes/{type}/attributes/{name}', 'contextEntityTypeAttribute', byPath),
    aliasedRegistry('contextAvailabilitySubscriptions', 'availabilitySubscriptions', { POST: subscriptions.post }),
    aliasedRegistry('contextAvailabilitySubscriptions/{id}', 'subscriptionsNgsi9ConvOp', {
      PUT: subscriptions.put,
      DELETE: subscriptions.delete,
    }),
  ]
}

/** A resource of the registry, which is reachable under its older name, too [subscriptions 1.1], [management 11.6]. */
function aliasedRegistry(path: string, counter: string, operations: Resource['operations']): Resource {
  return { ...resource(`registry/${path}`, counter, operations), aliases: [`/ngsi9/${path}`] }
}
