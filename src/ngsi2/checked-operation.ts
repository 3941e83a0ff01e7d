import type { ApiRequest, Operation, Work } from '../api.js'
import { hasForbiddenInId } from '../context/characters.js'
import type { Tenant } from '../context/entity.js'
import { parseTenant } from '../context/tenant.js'
import { err, ok } from '../result.js'
import { badInput } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'

/** What an operation does once the request has passed its checks. */
type TenantWork = (request: ApiRequest, tenant: Tenant) => ReturnType<Work>

/** An operation without a payload, on a path whose id and name are checked first [NGSIv2 context 1.4, 4.1]. */
export function pathRead(services: Ngsi2Services, work: TenantWork): Operation {
  return {
    use: 'read',
    prepare: (request) => {
      if (hasForbiddenIds(request)) return err(badInput('invalid character in URI'))
      return ok(() => withTenant(services, request, work))
    },
  }
}

/** Whether the id of an entity or the name of an attribute in the path is no identifier [NGSIv2 context 4.1]. */
function hasForbiddenIds({ segments }: ApiRequest): boolean {
  return hasForbiddenInId(segments['id'] ?? '') || hasForbiddenInId(segments['name'] ?? '')
}

/** Does something for the tenant of a request, which is checked after the payload [NGSIv2 context 1.4]. */
export function withTenant({ options }: Ngsi2Services, request: ApiRequest, work: TenantWork): ReturnType<Work> {
  const header = request.headers['fiware-service']
  const tenant = parseTenant(header === undefined ? undefined : String(header), options.multiservice)
  return tenant.ok ? work(request, tenant.value) : badInput(tenant.error)
}
