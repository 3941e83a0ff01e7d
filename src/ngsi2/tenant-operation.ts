import type { Operation, TenantWork, Use } from '../api.js'
import { ok, type Result } from '../result.js'
import { withTenant } from './checked-operation.js'
import type { Ngsi2Services } from './ngsi2-services.js'

/** An operation on what a tenant has: its payload is checked, then the tenant [NGSIv2 context 1.4]. */
export function tenantOperation<Payload>(
  services: Ngsi2Services,
  use: Use,
  { parse, work }: TenantWork<Payload>,
): Operation {
  return {
    use,
    prepare: (request) => {
      const payload = parse(request)
      if (!payload.ok) return payload
      return ok(() => withTenant(services, request, (_, tenant) => work(request, tenant, payload.value)))
    },
  }
}

/** The payload of an operation that has none. */
export function noPayload(): Result<undefined, never> {
  return ok(undefined)
}
