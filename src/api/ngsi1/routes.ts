import type { Interface, Resource } from '../../broker/operations/api.js'
import { binding } from '../../broker/operations/operation.js'
import { parseServicePaths } from '../../model/context/scope-headers.js'
import { err } from '../../result.js'
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
} from './convenience-read.js'
import {
  appendAttribute,
  appendEntity,
  deleteAttribute,
  deleteEntity,
  updateAttribute,
  updateEntity,
} from './convenience-update.js'
import { subscriptionEvents } from './events.js'
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

export function ngsi1Interface(services: Ngsi1Services): Interface {
  return {
    resources: ngsi1Resources(services),
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
export function ngsi1Resources(services: Ngsi1Services): readonly Resource[] {
  const bound = binding(services)
  return rows.map(({ operations, ...row }) => ({ ...row, anyCase: true, operations: bound(operations) }))
}

interface Row extends Omit<Resource, 'anyCase' | 'operations'> {
  readonly operations: Parameters<ReturnType<typeof binding<Ngsi1Services>>>[0]
}

const subscriptions = subscriptionOperations(contextSubscriptions)
const availability = subscriptionOperations(availabilitySubscriptions)
const entityWrites = { PUT: updateEntity, DELETE: deleteEntity }
const entity = { POST: appendEntity, GET: entitiesOfId, ...entityWrites }
const attributeWrites = { PUT: updateAttribute, DELETE: deleteAttribute }
const byPath = { POST: registerByPath, GET: discoverByPath }

const rows: readonly Row[] = [
  aliased('updateContext', 'updates', { POST: updateContext }),
  aliased('queryContext', 'queries', { POST: queryContext }),
  aliased('subscribeContext', 'subscriptions', { POST: subscriptions.subscribe }),
  aliased('updateContextSubscription', 'subscriptionUpdates', { POST: subscriptions.update }),
  aliased('unsubscribeContext', 'unsubscriptions', { POST: subscriptions.unsubscribe }),
  aliased('contextSubscriptions', 'subscriptions', { POST: subscriptions.post }),
  aliased('contextSubscriptions/{id}', 'subscriptionsNgsi10ConvOp', {
    PUT: subscriptions.put,
    DELETE: subscriptions.delete,
  }),
  { pattern: '/v1/subscriptions/{id}/events', givesEvents: true, operations: subscriptionEvents },
  aliased('notifyContext', 'notificationsReceived', { POST: notifyContext }),
  resource('contextEntities', 'allContextEntitiesRequests', { POST: appendEntity, GET: allEntities }),
  resource('contextEntities/type/{type}/id/{id}', 'allContextEntitiesWithTypeAndIdRequests', {
    POST: appendEntity,
    GET: entityOfTypeAndId,
    ...entityWrites,
  }),
  resource('contextEntities/type/{type}/id/{id}/attributes/{name}', 'individualContextEntityAttributeWithTypeAndId', {
    POST: appendAttribute,
    GET: attributeOfTypeAndId,
    ...attributeWrites,
  }),
  resource('contextEntities/type/{type}/id/{id}/attributes/{name}/{metaID}', 'attributeValueInstanceWithTypeAndId', {
    POST: appendAttribute,
    GET: instanceOfTypeAndId,
    ...attributeWrites,
  }),
  aliased('contextEntities/{id}', 'individualContextEntity', entity),
  aliased('contextEntities/{id}/attributes', 'individualContextEntityAttributes', entity),
  aliased('contextEntities/{id}/attributes/{name}', 'individualContextEntityAttribute', {
    POST: appendAttribute,
    GET: attributeOfId,
    ...attributeWrites,
  }),
  aliased('contextEntities/{id}/attributes/{name}/{metaID}', 'attributeValueInstance', {
    GET: attributeOfId,
    ...attributeWrites,
  }),
  aliased('contextEntityTypes/{type}', 'contextEntityTypesNgsi10', { GET: entitiesOfType }),
  aliased('contextEntityTypes/{type}/attributes', 'contextEntityTypeAttributeContainerNgsi10', { GET: entitiesOfType }),
  aliased('contextEntityTypes/{type}/attributes/{name}', 'contextEntityTypeAttributeNgsi10', {
    GET: attributeOfType,
  }),
  resource('contextTypes', 'entityTypes', { GET: listTypes }),
  resource('contextTypes/{type}', 'attributesForEntityType', { GET: showType }),
  aliasedRegistry('registerContext', 'registrations', { POST: registerContext }),
  aliasedRegistry('discoverContextAvailability', 'discoveries', { POST: discoverContextAvailability }),
  aliasedRegistry('subscribeContextAvailability', 'availabilitySubscriptions', {
    POST: availability.subscribe,
  }),
  aliasedRegistry('updateContextAvailabilitySubscription', 'availabilitySubscriptionUpdates', {
    POST: availability.update,
  }),
  aliasedRegistry('unsubscribeContextAvailability', 'availabilityUnsubscriptions', {
    POST: availability.unsubscribe,
  }),
  aliasedRegistry('notifyContextAvailability', 'availabilityNotificationsReceived', {
    POST: notifyContextAvailability,
  }),
  resource(`registry/contextEntities/type/{type}/id/{id}`, 'contextEntitiesByEntityIdAndType', byPath),
  resource(
    `registry/contextEntities/type/{type}/id/{id}/attributes/{name}`,
    'entityByIdAttributeByNameIdAndType',
    byPath,
  ),
  aliasedRegistry('contextEntities/{id}', 'contextEntitiesByEntityId', byPath),
  aliasedRegistry('contextEntities/{id}/attributes', 'contextEntityAttributes', byPath),
  aliasedRegistry('contextEntities/{id}/attributes/{name}', 'entityByIdAttributeByName', byPath),
  aliasedRegistry('contextEntityTypes/{type}', 'contextEntityTypes', byPath),
  aliasedRegistry('contextEntityTypes/{type}/attributes', 'contextEntityTypeAttributeContainer', byPath),
  aliasedRegistry('contextEntityTypes/{type}/attributes/{name}', 'contextEntityTypeAttribute', byPath),
  aliasedRegistry('contextAvailabilitySubscriptions', 'availabilitySubscriptions', { POST: availability.post }),
  aliasedRegistry('contextAvailabilitySubscriptions/{id}', 'subscriptionsNgsi9ConvOp', {
    PUT: availability.put,
    DELETE: availability.delete,
  }),
]

function resource(path: string, counter: string, operations: Row['operations']): Row {
  return { pattern: `/v1/${path}`, counter, operations }
}

/** A resource that is reachable under its older name, too [context 1.3]. */
function aliased(path: string, counter: string, operations: Row['operations']): Row {
  return { ...resource(path, counter, operations), aliases: [`/ngsi10/${path}`] }
}

/** A resource of the registry, which is reachable under its older name, too [subscriptions 1.1], [management 11.6]. */
function aliasedRegistry(path: string, counter: string, operations: Row['operations']): Row {
  return { ...resource(`registry/${path}`, counter, operations), aliases: [`/ngsi9/${path}`] }
}
