import type { ApiResponse, Interface, Operation, Resource } from '../../broker/operations/api.js'
import { binding } from '../../broker/operations/operation.js'
import { json } from '../../broker/operations/response.js'
import { parseServicePaths } from '../../model/context/scope-headers.js'
import { err, ok } from '../../result.js'
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

/** The interface under `/v2` [NGSIv2 context 1]. */
export function ngsi2Interface(services: Ngsi2Services): Interface {
  return {
    resources: ngsi2Resources(services),
    parseServicePaths: (header, verb) => {
      const paths = parseServicePaths(header, 'one')
      if (!paths.ok) return err(badInput(paths.error))
      // PATCH and DELETE refuse several paths before the body is parsed [NGSIv2 context 1.4].
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

/** The resources of NGSIv2, their verbs in the order of the Allow header [NGSIv2 context 1.1], [NGSIv2 subscriptions 1.1]. */
function ngsi2Resources(services: Ngsi2Services): readonly Resource[] {
  const bound = binding(services)
  const at = (pattern: string, operations: Parameters<typeof bound>[0], more: Partial<Resource> = {}): Resource => ({
    pattern,
    anyCase: false,
    operations: bound(operations),
    ...more,
  })
  return [
    at('/v2', { GET: entryPoint }),
    at('/v2/entities', { POST: createEntity, GET: listEntities }, { sharedOrder: ['GET', 'POST'] }),
    at('/v2/entities/{id}', { GET: showEntity, DELETE: removeEntity }, { countedAs: '/v2/entities/{id}[/attrs]' }),
    at(
      '/v2/entities/{id}/attrs',
      {
        GET: showAttributes,
        PATCH: writeAttributes(() => 'UPDATE'),
        POST: writeAttributes(appendOf),
        PUT: writeAttributes(() => 'REPLACE'),
      },
      { countedAs: '/v2/entities/{id}[/attrs]' },
    ),
    at('/v2/entities/{id}/attrs/{name}', {
      GET: showAttribute,
      PUT: putAttribute,
      DELETE: removeAttribute,
    }),
    at('/v2/entities/{id}/attrs/{name}/value', { GET: showValue, PUT: putValue }),
    at('/v2/types', { GET: listEntityTypes }),
    at('/v2/types/{type}', { GET: showEntityType }),
    at('/v2/op/query', { POST: queryEntities }, { counter: 'batchQueryRequests' }),
    at('/v2/op/update', { POST: updateBatch }, { counter: 'batchUpdateRequests' }),
    at('/v2/op/notify', { POST: takeNotification }, { counter: 'notificationsReceived' }),
    at('/v2/subscriptions', { POST: createSubscription, GET: listSubscriptions }, { sharedOrder: ['GET', 'POST'] }),
    at(
      '/v2/subscriptions/{subscriptionId}',
      {
        GET: showSubscription,
        DELETE: deleteSubscription,
        PATCH: patchSubscription,
      },
      { countedAs: '/v2/subscriptions/{id}' },
    ),
    at('/v2/subscriptions/{subscriptionId}/events', subscriptionEvents, {
      countedAs: '/v2/subscriptions/{id}/events',
      givesEvents: true,
    }),
    at(
      '/v2/registrations',
      { POST: createRegistration, GET: listRegistrations },
      { counter: 'registrationsRequest', sharedOrder: ['GET', 'POST'] },
    ),
    at(
      '/v2/registrations/{registrationId}',
      { GET: showRegistration, DELETE: deleteRegistration },
      { countedAs: '/v2/registrations/{id}', counter: 'registrationRequest' },
    ),
  ]
}

/** `GET /v2` [NGSIv2 context 1.1]. */
const entryPoint = (): Operation => ({
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
})

/** An empty segment is reported as an identifier without length [NGSIv2 context 1.1]. */
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
