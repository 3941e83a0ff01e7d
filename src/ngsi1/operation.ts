import {
  type ApiRequest,
  type ApiResponse,
  isLong,
  type Operation,
  type Prepared,
  type StatusText,
  type Use,
  type Work,
} from '../api/api.js'
import type { Tenant } from '../context/entity.js'
import { err, ok, type Result } from '../result.js'
import { atOnce, type Steps } from '../slices.js'
import type { PayloadRefusal } from './parse/payload-refusal.js'
import { parseTraced } from './parse/traced.js'
import { checkSegments, tenantOf } from './request-head.js'
import type { Ngsi1Services } from './services.js'

/** Parses and checks a payload; `strictIds` is `-strictNgsiv1Ids`. */
export type ParsePayload<Payload, Refusal extends PayloadRefusal = PayloadRefusal> = (
  body: string,
  strictIds: boolean,
  request: ApiRequest,
) => Steps<Result<Payload, Refusal>>

/** What an operation with a payload is made of. */
export interface PayloadOperation<Payload, Refusal extends PayloadRefusal> {
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

/** Does something for the tenant of a request, whose name is checked after the payload [context 1.5]. */
export function forTenant(
  { options }: Ngsi1Services,
  request: ApiRequest,
  work: (tenant: Tenant) => ReturnType<Work>,
): ReturnType<Work> {
  const tenant = tenantOf(request.headers, options.multiservice)
  return tenant.ok ? work(tenant.value) : tenant.error
}
