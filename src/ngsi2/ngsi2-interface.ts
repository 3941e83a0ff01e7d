import type { ApiResponse, Interface, Resource } from '../api.js'
import { parseServicePaths } from '../context/service-path.js'
import { err, ok } from '../result.js'
import { json } from '../short-form.js'
import { LongPayloads } from '../slices.js'
import { attributeResources } from './attribute-resources.js'
import { batchResources } from './batch-resources.js'
import { entityResources } from './entity-resources.js'
import { badInput } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { registrationUnknown } from './registration-requests.js'
import { registrationResources } from './registration-resources.js'
import { subscriptionUnnamed } from './subscription-requests.js'
import { subscriptionResources } from './subscription-resources.js'
import { typeResources } from './type-resources.js'
import { pathOfWrite } from './update-terms.js'
import { checkUriParameters } from './uri-parameters.js'

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
