import {
  type ApiRequest,
  type ApiResponse,
  isLong,
  type Operation,
  type Prepared,
  type Use,
  type Work,
} from '../api.js'
import { hasForbiddenInId } from '../context/characters.js'
import type { Tenant } from '../context/entity.js'
import { parseTenant } from '../context/tenant.js'
import { err, ok, type Result } from '../result.js'
import { atOnce, type Steps } from '../slices.js'
import { badInput } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'

/** What an operation does once the request has passed its checks. */
type TenantWork = (request: ApiRequest, tenant: Tenant) => ReturnType<Work>

/** An operation without a payload, on a path whose id and name are checked first [NGSIv2 context 1.4, 4.1]. */
export function pathRead(services: Ngsi2Services, work: TenantWork): Operation {
  return pathOperation(services, 'read', work)
}

/** The same of one that changes something. */
export function pathWrite(services: Ngsi2Services, work: TenantWork): Operation {
  return pathOperation(services, 'write', work)
}

function pathOperation(services: Ngsi2Services, use: Use, work: TenantWork): Operation {
  return {
    use,
    prepare: (request) => {
      if (hasForbiddenIds(request)) return err(badInput('invalid character in URI'))
      return ok(() => withTenant(services, request, work))
    },
  }
}

/** An operation with a payload, which is read after the path has been checked [NGSIv2 context 1.4]. */
interface PayloadWrite<Payload> {
  /** Whether the name in the path is checked as the id is. */
  readonly checksName?: boolean
  readonly parse: (request: ApiRequest) => Steps<Result<Payload, ApiResponse>>
  readonly work: (request: ApiRequest, tenant: Tenant, payload: Payload) => ReturnType<Work>
}

/** An operation that writes what its payload says: at once when that is short, else it is read in slices. */
export function payloadWrite<Payload>(
  services: Ngsi2Services,
  { checksName = true, parse, work }: PayloadWrite<Payload>,
): Operation {
  function* prepare(request: ApiRequest): Steps<Prepared> {
    const { segments } = request
    if (hasForbiddenIds(checksName ? request : { segments: { id: segments['id'] ?? '' } })) {
      return err(badInput('invalid character in URI'))
    }
    const payload = yield* parse(request)
    if (!payload.ok) return payload
    return ok(() => withTenant(services, request, (_, tenant) => work(request, tenant, payload.value)))
  }
  return {
    use: 'write',
    prepare: (request) =>
      isLong(request.body) ? services.longPayloads.read(prepare(request)) : atOnce(prepare(request)),
  }
}

/** Whether the id of an entity or the name of an attribute in the path is no identifier [NGSIv2 context 4.1]. */
function hasForbiddenIds({ segments }: Pick<ApiRequest, 'segments'>): boolean {
  return hasForbiddenInId(segments['id'] ?? '') || hasForbiddenInId(segments['name'] ?? '')
}

/** Does something for the tenant of a request, which is checked after the payload [NGSIv2 context 1.4]. */
export function withTenant({ options }: Ngsi2Services, request: ApiRequest, work: TenantWork): ReturnType<Work> {
  const header = request.headers['fiware-service']
  const tenant = parseTenant(header === undefined ? undefined : String(header), options.multiservice)
  return tenant.ok ? work(request, tenant.value) : badInput(tenant.error)
}
