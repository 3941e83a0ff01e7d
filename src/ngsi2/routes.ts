import type { ApiResponse, Interface, Resource } from '../api.js'
import { parseServicePaths } from '../context/service-path.js'
import { err, ok } from '../result.js'
import { json } from '../short-form.js'
import { LongPayloads } from '../slices.js'
import { badInput } from './errors.js'
import { subscriptionEvents } from './events.js'
import { listEntities, listEntityTypes, queryEntities, showEntityType } from './lists.js'
import type { Ngsi2Services } from './operation.js'
import { checkUriParameters, pathOfWrite } from './parameters.js'
import { showAttribute, showAttributes, showEntity, showValue } from './reads.js'
import {
  createRegistration,
  deleteRegistration,
  listRegistrations,
  registrationUnknown,
  showRegistration,
} from './registration-requests.js'
import {
  createSubscription,
  deleteSubscription,
  listSubscriptions,
  patchSubscription,
  showSubscription,
  subscriptionUnnamed,
} from './subscription-requests.js'
import {
  appendOf,
  createEntity,
  putAttribute,
  putValue,
  removeAttribute,
  removeEntity,
  takeNotification,
  updateBatch,
  writeAttributes,
} from './writes.js'

/** NGSIv2 as the HTTP layer knows it: everything under `/v2` [NGSIv2 context 1]. */
export function ngsi2Interface(surroundings: Omit<Ngsi2Services, 'longPayloads'>): Interface {
  const services = { ...surroundings, longPayloads: new LongPayloads() }
  return {
    resources: [
      entryPoint,
      ...entityResources(services),
      ...attributeResources(services),
      ...typeResources(services),
      ...batchResources(services),
      ...subscriptionResources(services),
      ...registrationResources(services),
    ],
    parseServicePaths: (header, verb) => {
      const paths = parseServicePaths(header, 'one')
      if (!paths.ok) return err(badInput(paths.error))
      // What these may not work in is said before everything that is wrong with the body [NGSIv2 context 1.4].
      if (verb !== 'PATCH' && verb !== 'DELETE') return paths
      const one = pathOfWrite({ paths: paths.value, verb })
      return one.ok ? paths : one
    },
    checkParameters: checkUriParameters,
    unknownPath,
    isOfText: (path) => /\/value\/?$/.test(path),
    shares: 'everything',
    parseStage: 'jsonV2Parse',
  }
}

/** `GET /v2` [NGSIv2 context 1.1]. */
const entryPoint: Resource = {
  pattern: '/v2',
  anyCase: false,
  operations: {
    GET: {
      use: 'read',
      prepare: () =>
        ok(() =>
          json({
            entities_url: '/v2/entities',
            types_url: '/v2/types',
            subscriptions_url: '/v2/subscriptions',
            registrations_url: '/v2/registrations',
          }),
        ),
    },
  },
}

/** Where a segment is empty, an identifier without length is what is wrong [NGSIv2 context 1.1]. */
function unknownPath([, collection, id, attrs, name, value, ...more]: readonly string[], method: string): ApiResponse {
  if (collection === 'types' && id === '' && attrs === undefined) return tooShort('entity type')
  if (collection === 'subscriptions' && id === '' && attrs === undefined) return subscriptionUnnamed(method)
  if (collection === 'registrations' && id === '' && attrs === undefined) return registrationUnknown
  if (collection === 'entities') {
    if (id === '' && (attrs === undefined || attrs === 'attrs')) return tooShort('entity id')
    const endsInName = value === undefined || (value === 'value' && more.length === 0)
    if (attrs === 'attrs' && name === '' && endsInName) return tooShort('attribute name')
  }
  return badInput('Service not found. Check your URL as probably it is wrong.')
}

function tooShort(what: 'entity id' | 'entity type' | 'attribute name'): ApiResponse {
  return badInput(`${what} length: 0, min length supported: 1`)
}

/** The resources of entities, their verbs in the order of the Allow header [NGSIv2 context 1.1, 8]. */
function entityResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/entities',
      anyCase: false,
      operations: { POST: createEntity(services), GET: listEntities(services) },
      sharedOrder: ['GET', 'POST'],
    },
    {
      pattern: '/v2/entities/{id}',
      countedAs: '/v2/entities/{id}[/attrs]',
      anyCase: false,
      operations: { GET: showEntity(services), DELETE: removeEntity(services) },
    },
    {
      pattern: '/v2/entities/{id}/attrs',
      countedAs: '/v2/entities/{id}[/attrs]',
      anyCase: false,
      operations: {
        GET: showAttributes(services),
        PATCH: writeAttributes(services, () => 'UPDATE'),
        POST: writeAttributes(services, appendOf),
        PUT: writeAttributes(services, () => 'REPLACE'),
      },
    },
  ]
}

/** The resources of single attributes, their verbs in the order of the Allow header [NGSIv2 context 1.1, 9]. */
function attributeResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/entities/{id}/attrs/{name}',
      anyCase: false,
      operations: { GET: showAttribute(services), PUT: putAttribute(services), DELETE: removeAttribute(services) },
    },
    {
      pattern: '/v2/entities/{id}/attrs/{name}/value',
      anyCase: false,
      operations: { GET: showValue(services), PUT: putValue(services) },
    },
  ]
}

/** The resources of types of entities [NGSIv2 context 1.1, 13]. */
function typeResources(services: Ngsi2Services): readonly Resource[] {
  return [
    { pattern: '/v2/types', anyCase: false, operations: { GET: listEntityTypes(services) } },
    { pattern: '/v2/types/{type}', anyCase: false, operations: { GET: showEntityType(services) } },
  ]
}

/** The resources of batch operations [NGSIv2 context 1.1, 11]. */
function batchResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/op/query',
      anyCase: false,
      counter: 'batchQueryRequests',
      operations: { POST: queryEntities(services) },
    },
    {
      pattern: '/v2/op/update',
      anyCase: false,
      counter: 'batchUpdateRequests',
      operations: { POST: updateBatch(services) },
    },
    {
      pattern: '/v2/op/notify',
      anyCase: false,
      counter: 'notificationsReceived',
      operations: { POST: takeNotification(services) },
    },
  ]
}

/** The resources of subscriptions, their verbs in the order of the Allow header [NGSIv2 subscriptions 1.1]. */
function subscriptionResources(services: Ngsi2Services): readonly Resource[] {
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

/** The resources of registrations, their verbs in the order of the Allow header [NGSIv2 subscriptions 1.1]. */
function registrationResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/registrations',
      anyCase: false,
      counter: 'registrationsRequest',
      sharedOrder: ['GET', 'POST'],
      operations: { POST: createRegistration(services), GET: listRegistrations(services) },
    },
    {
      pattern: '/v2/registrations/{registrationId}',
      countedAs: '/v2/registrations/{id}',
      anyCase: false,
      counter: 'registrationRequest',
      operations: { GET: showRegistration(services), DELETE: deleteRegistration(services) },
    },
  ]
}
