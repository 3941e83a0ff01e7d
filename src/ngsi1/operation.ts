import type { IncomingHttpHeaders } from 'node:http'
import {
  type ApiRequest,
  type ApiResponse,
  isLong,
  type Operation,
  type Prepared,
  requestOrigin,
  type StatusText,
  type Use,
  type Work,
} from '../api/api.js'
import type { Options } from '../command-line/settings.js'
import { type EntityId, type EntityType, hasForbiddenInId, type ServicePath, type Tenant } from '../context/entity.js'
import type { PathRange, Scope } from '../context/query.js'
import { onePath, parseTenant } from '../context/scope-headers.js'
import type { Origin } from '../context/update.js'
import type { ForwardingServices } from '../providers/forwarder.js'
import { err, ok, type Result } from '../result.js'
import { atOnce, type LongPayloads, type Steps } from '../slices.js'
import { requestedExistence, requestedType, requestsUntyped } from './parse/parameters.js'
import { type PayloadRefusal, parseTraced } from './parse/payload-errors.js'
import { badRequest, statusOf, statusResponse } from './render/status.js'

export interface Ngsi1Services extends ForwardingServices {
  readonly options: Pick<Options, 'multiservice' | 'strictNgsiv1Ids' | 'ngsiv1Autocast' | 'queryTimeout_ms'>
  readonly longPayloads: LongPayloads
}

/** Parses and checks a payload; `strictIds` is `-strictNgsiv1Ids`. */
export type ParsePayload<Payload, Refusal extends PayloadRefusal = PayloadRefusal> = (
  body: string,
  strictIds: boolean,
  request: ApiRequest,
) => Steps<Result<Payload, Refusal>>

interface PayloadOperation<Payload, Refusal extends PayloadRefusal> {
  readonly use: Use
  readonly wrapStatus?: (status: StatusText) => unknown
  /** Whether `-strictNgsiv1Ids` looks at the path. */
  readonly checksPath?: boolean
  readonly parse: ParsePayload<Payload, Refusal>
  readonly refused: (refusal: Refusal) => ApiResponse
  readonly work: (request: ApiRequest, tenant: Tenant, payload: Payload) => ReturnType<Work>
}

/** An operation with a payload: at once when the body is short, else parsed in slices. */
export function payloadOperation<Payload, Refusal extends PayloadRefusal>(
  services: Ngsi1Services,
  { use, wrapStatus, checksPath = false, parse, refused, work }: PayloadOperation<Payload, Refusal>,
): Operation {
  const { options, longPayloads } = services
  const strictIds = options.strictNgsiv1Ids
  function* prepare(request: ApiRequest): Steps<Prepared> {
    const wrong = checksPath ? checkSegments(request, strictIds) : undefined
    if (wrong) return err(wrong)
    const { body } = request
    const payload = yield* parseTraced(services.log, body, parse(body, strictIds, request))
    if (!payload.ok) return err(refused(payload.error))
    return ok(() => forTenant(services, request, (tenant) => work(request, tenant, payload.value)))
  }
  return {
    use,
    ...(wrapStatus && { wrapStatus }),
    prepare: (request) => (isLong(request.body) ? longPayloads.read(prepare(request)) : atOnce(prepare(request))),
  }
}

/** An operation without a payload on a path that `-strictNgsiv1Ids` looks at. */
export function pathOperation(
  services: Ngsi1Services,
  use: Use,
  work: (request: ApiRequest, tenant: Tenant) => ReturnType<Work>,
): Operation {
  return {
    use,
    prepare: (request) => {
      const wrong = checkSegments(request, services.options.strictNgsiv1Ids)
      return wrong ? err(wrong) : ok(() => forTenant(services, request, (tenant) => work(request, tenant)))
    },
  }
}

/** Does the work for the tenant of a request. The tenant is checked after the payload [context 1.5]. */
export function forTenant(
  { options }: Ngsi1Services,
  request: ApiRequest,
  work: (tenant: Tenant) => ReturnType<Work>,
): ReturnType<Work> {
  const tenant = tenantOf(request.headers, options.multiservice)
  return tenant.ok ? work(tenant.value) : tenant.error
}

/** The tenant of a request; without `multiservice` the header is checked but means nothing [context 5.1]. */
export function tenantOf(headers: IncomingHttpHeaders, multiservice: boolean): Result<Tenant, ApiResponse> {
  const header = headers['fiware-service']
  const tenant = parseTenant(header === undefined ? undefined : String(header), multiservice)
  return tenant.ok ? tenant : err(statusResponse('orionError', statusOf(400, tenant.error)))
}

/** The one path of an update [context 5.2]. */
export function pathOfUpdate(paths: readonly PathRange[]): Result<ServicePath, StatusText> {
  const path = onePath(paths)
  if (path.ok) return path
  return err(
    statusOf(
      400,
      path.error === 'several'
        ? 'more than one service path in context update request'
        : 'Bad Character in Service-Path',
    ),
  )
}

/** The one path that a subscription is bound to, if the request names one [subscriptions 2.1.1, 2.1.3]. */
export function pathOfSubscription(paths: readonly PathRange[]): Result<PathRange | undefined, StatusText> {
  const tooMany = paths.length > 1
  return tooMany ? err(statusOf(400, 'max one service-path allowed for subscriptions')) : ok(paths[0])
}

/** What notifications carry of the request that causes them [subscriptions 4.1]. */
export function originOf(
  { forwarding }: Pick<Ngsi1Services, 'forwarding'>,
  { correlator, headers }: Pick<ApiRequest, 'correlator' | 'headers'>,
): Origin {
  return requestOrigin({ correlator, headers }, forwarding?.brokerId ?? '')
}

/** Which types a convenience operation means [context 8.1]. */
export interface TypesMeant {
  /** Nothing for any. */
  readonly type: EntityType | undefined
  /** Conditions on the type of the entities. */
  readonly scopes: readonly Scope[]
}

/** Reads the type from path and parameters, which may not contradict each other [context 8.1]. */
export function typesMeant({ segments, parameters }: ApiRequest): Result<TypesMeant, StatusText> {
  const inPath = segments['type'] as EntityType | undefined
  const requested = requestedType(parameters)
  if (inPath === undefined) return ok({ type: requested, scopes: requestedExistence(parameters) })
  if (requested !== undefined && requested !== inPath) return err(statusOf(400, 'non-matching entity::types in URL'))
  if (requestsUntyped(parameters)) return err(statusOf(400, 'entity::type cannot be empty for this request'))
  return ok({ type: inPath, scopes: [] })
}

/** The response to ids, names and types in the path that `-strictNgsiv1Ids` forbids [context 4.1]. */
function checkSegments({ segments }: ApiRequest, strictIds: boolean): ApiResponse | undefined {
  if (!strictIds) return undefined
  const isForbidden = (name: string) => name !== 'metaID' && hasForbiddenInId(segments[name] ?? '')
  return Object.keys(segments).some(isForbidden) ? badRequest('invalid character in URI') : undefined
}

/** What the path of a convenience operation of the registry names [subscriptions 7.6]. */
export interface NamedByPath {
  readonly id: EntityId | undefined
  readonly type: EntityType | undefined
  readonly attribute: string | undefined
}

/** Reads the path; where it names type and id, URI parameters may not contradict the type [subscriptions 7.6]. */
export function namedByPath(request: ApiRequest): Result<NamedByPath, StatusText> {
  const { id, type, name: attribute } = request.segments
  if (id !== undefined && type !== undefined) {
    const types = typesMeant(request)
    if (!types.ok) return types
  }
  return ok({ id: id as EntityId | undefined, type: type as EntityType | undefined, attribute })
}
