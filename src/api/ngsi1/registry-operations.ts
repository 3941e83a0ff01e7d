import type { ApiResponse, StatusText } from '../../broker/operations/api.js'
import type { EntityId, EntityType, ServicePath } from '../../model/context/entity.js'
import type { PathRange, Selector } from '../../model/context/query.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import { type Discovery, discoverInSlices } from '../../model/registration/discovery.js'
import type { RegisteredContext } from '../../model/registration/registration.js'
import { unknownId } from '../../model/subscription/subscription.js'
import { traceArea } from '../../observe/log/trace.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices } from '../../slices.js'
import { now } from '../../time.js'
import {
  type NamedByPath,
  type Ngsi1Call,
  namedByPath,
  originOf,
  pathOperation,
  payloadOperation,
} from './operation.js'
import { requestedPage } from './parse/parameters.js'
import { detailsOfPayload } from './parse/payload-errors.js'
import {
  type NotifiedPayload,
  parseDiscovery,
  parseNotified,
  parseProvider,
  parseRegistration,
  type RegistrationPayload,
} from './parse/registry-payload.js'
import { renderRegistered, renderStatus } from './render/elements.js'
import {
  bodyResponse,
  notificationResponse,
  okStatus,
  payloadResponse,
  statusOf,
  statusResponse,
  unavailableResponse,
  wrapped,
} from './render/status.js'

/** `POST /v1/registry/registerContext` [subscriptions 7.1]. */
export const registerContext = payloadOperation({
  use: 'write',
  wrapStatus: (errorCode) => ({ registrationId: unknownId, errorCode }),
  parse: parseRegistration,
  refusalResponse: (refusal) => notRegistered(refusal.givenId, statusOf(400, detailsOfPayload(refusal))),
  work: register,
})

/** POST on the paths of convenience registrations: registers a provider for what the path names [subscriptions 7.6]. */
export const registerByPath = payloadOperation({
  use: 'write',
  checksPath: true,
  parse: parseProvider,
  refusalResponse: (refusal) => payloadResponse({ parser: 'orionError', checks: 'errorCode' }, refusal),
  work: (call, { provider, ...terms }) => {
    const named = namedByPath(call.request)
    if (!named.ok) return notRegistered(unknownId, named.error)
    return register(call, { contexts: [contextOf(named.value, provider)], ...terms })
  },
})

/** `POST /v1/registry/notifyContextAvailability` [subscriptions 7.5]. */
export const notifyContextAvailability = payloadOperation({
  use: 'write',
  wrapStatus: (responseCode) => ({ responseCode }),
  parse: parseNotified,
  refusalResponse: (refusal) => notificationResponse(statusOf(400, detailsOfPayload(refusal))),
  work: store,
})

/** `POST /v1/registry/discoverContextAvailability` [subscriptions 7.2]. */
export const discoverContextAvailability = payloadOperation({
  use: 'read',
  wrapStatus: (status) => wrapped('errorCode', status),
  parse: parseDiscovery,
  refusalResponse: (refusal) => payloadResponse({ parser: 'errorCode', checks: 'errorCode' }, refusal),
  work: discover,
})

/** GET on the paths of convenience registrations: the registrations for what the path names [subscriptions 7.6]. */
export const discoverByPath = pathOperation('read', (call) => {
  const named = namedByPath(call.request)
  if (!named.ok) return statusResponse('errorCode', named.error)
  return discover(call, discoveryOf(named.value))
})

async function register(
  { services, request, tenant }: Ngsi1Call,
  { givenId, duration, ...what }: RegistrationPayload,
): Promise<ApiResponse> {
  const path = pathOfRegistration(request.paths)
  if (!path.ok) return notRegistered(unknownId, path.error)
  const origin = originOf(services, request)
  const registered = await services.broker.registry.register({ ...what, tenant, path: path.value, ...origin })
  if (registered.ok) return bodyResponse({ duration, registrationId: registered.value })
  const { error } = registered
  if (error.kind !== 'registrationUnknown') return unavailableResponse(error)
  return notRegistered(givenId, statusOf(404, `registration id: /${givenId}/`))
}

async function store({ services, request, tenant }: Ngsi1Call, payload: NotifiedPayload): Promise<ApiResponse> {
  const path = pathOfRegistration(request.paths)
  if (!path.ok) return notificationResponse(path.error)
  const origin = originOf(services, request)
  const stored = await services.broker.registry.notified({ ...payload, tenant, path: path.value, ...origin })
  return stored.ok ? notificationResponse(okStatus) : unavailableResponse(stored.error)
}

/** The one path of a registration [subscriptions 7.1]. */
function pathOfRegistration([first, ...others]: readonly PathRange[]): Result<ServicePath, StatusText> {
  if (first === undefined) return ok('/' as ServicePath)
  if (others.length > 0) return err(statusOf(400, 'more than one service path for notification'))
  return first.below ? err(statusOf(400, 'Bad Character in Service-Path')) : ok(first.path)
}

/** Names that are not in the path are empty; the attribute has neither a type nor a domain [subscriptions 7.6]. */
function contextOf({ id, type, attribute }: NamedByPath, provider: string): RegisteredContext {
  return {
    entities: [{ id: id ?? ('' as EntityId), type: type ?? ('' as EntityType) }],
    attributes: attribute === undefined ? [] : [{ name: attribute, type: '', isDomain: false }],
    provider,
  }
}

function notRegistered(registrationId: string, errorCode: StatusText): ApiResponse {
  return bodyResponse({ registrationId, errorCode }, errorCode)
}

async function discover({ services, request, tenant }: Ngsi1Call, discovery: Discovery): Promise<ApiResponse> {
  const { broker, log, options } = services
  const { counted, offset, limit } = requestedPage(request.parameters)
  const lookup = { tenant, paths: pathsOfRead(request.paths), now: now() }
  const known = await broker.registry.confirmed?.()
  if (known?.ok === false) return unavailableResponse(known.error)
  const until = performance.now() + options.queryTimeout_ms
  const isLate = () => request.client.gone || performance.now() > until
  const found = await discoverInSlices(broker.registry.index, lookup, discovery, { offset, limit }, isLate)
  if (found === undefined) return unavailableResponse({ kind: 'queryLate' })
  const { contexts, count } = found
  if (log?.traces[traceArea['registration.match']] === 1) {
    log.trace('registration.match', `${count} registrations match`, { registrations: count })
  }
  if (contexts.length === 0) {
    const past = counted && count > 0
    const details = past ? `Number of matching registrations: ${count}. Offset is ${offset}` : undefined
    return statusResponse('errorCode', statusOf(404, details))
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
