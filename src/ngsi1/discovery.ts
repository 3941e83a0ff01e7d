import type { ApiRequest, ApiResponse, Operation } from '../api.js'
import type { Tenant } from '../context/entity.js'
import type { Selector } from '../context/query.js'
import type { Discovery } from '../registration/registration-index.js'
import { err, ok } from '../result.js'
import { inSlices } from '../slices.js'
import { now } from '../time.js'
import { traceArea } from '../trace-area.js'
import { checkSegments } from './convenience.js'
import { parseDiscovery } from './parse/availability-payload.js'
import { requestedPage } from './parse/parameters.js'
import { type NamedByPath, namedByPath } from './parse/registry-path.js'
import { parseTraced } from './parse/traced.js'
import { renderRegistered } from './render/availability-notification.js'
import { renderStatus } from './render/elements.js'
import { payloadAnswer, statusAnswer, unavailableAnswer, wrapped } from './render/responses.js'
import { statusOf } from './render/status.js'
import { forTenant, type Ngsi1Services, reading } from './services.js'
import { pathsOfRead } from './tenant.js'

/** `POST /v1/registry/discoverContextAvailability` [subscriptions 7.2]. */
export function discoverContextAvailability(environment: Ngsi1Services): Operation {
  return {
    use: 'read',
    wrapStatus: (status) => wrapped('errorCode', status),
    prepare: reading(environment, function* (asked) {
      const payload = yield* parseTraced(
        environment.log,
        asked.body,
        parseDiscovery(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) return err(payloadAnswer({ parser: 'errorCode', checks: 'errorCode' }, payload.error))
      return ok(() => forTenant(environment, asked, (tenant) => discover(environment, asked, tenant, payload.value)))
    }),
  }
}

/** GET on the paths of convenience registrations: what is registered for what the path names [subscriptions 7.6]. */
export function discoverByPath(environment: Ngsi1Services): Operation {
  return {
    use: 'read',
    prepare: (asked) => {
      const wrong = checkSegments(asked, environment.options.strictNgsiv1Ids)
      if (wrong) return err(wrong)
      return ok(() =>
        forTenant(environment, asked, (tenant) => {
          const named = namedByPath(asked)
          if (!named.ok) return statusAnswer('errorCode', named.error)
          return discover(environment, asked, tenant, discoveryOf(named.value))
        }),
      )
    },
  }
}

async function discover(
  { broker, log, options }: Ngsi1Services,
  asked: ApiRequest,
  tenant: Tenant,
  discovery: Discovery,
): Promise<ApiResponse> {
  const { counted, offset, limit } = requestedPage(asked.parameters)
  const lookup = { tenant, paths: pathsOfRead(asked.paths), now: now() }
  const until = performance.now() + options.queryTimeout_ms
  const isLate = () => asked.client.gone || performance.now() > until
  const found = await broker.registry.index.discoverInSlices(lookup, discovery, { offset, limit }, isLate)
  if (found === undefined) return unavailableAnswer({ kind: 'queryLate' })
  const { contexts, count } = found
  if (log?.traces[traceArea['registration.match']] === 1) {
    log.trace('registration.match', `${count} registrations match`, { registrations: count })
  }
  if (contexts.length === 0) {
    const past = counted && count > 0
    const details = past ? `Number of matching registrations: ${count}. Offset is ${offset}` : undefined
    return statusAnswer('errorCode', statusOf(404, details))
  }
  const responses = await inSlices(renderRegistered(contexts))
  const errorCode = counted ? `,"errorCode":${renderStatus(statusOf(200, `Count: ${count}`))}` : ''
  return { status: 200, body: `{${responses}${errorCode}}` }
}

/** A path without a type means every type, one without an id every id, also the empty one [subscriptions 7.3, 7.6]. */
function discoveryOf({ id, type, attribute }: NamedByPath): Discovery {
  const selector: Selector = { id: id === undefined ? { kind: 'any' } : { kind: 'exact', id }, type }
  return { selectors: [selector], attributes: attribute === undefined ? [] : [attribute] }
}
