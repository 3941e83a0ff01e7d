import type { Options } from '../../flags/settings.js'
import type { Tenant } from '../../model/context/entity.js'
import { parseTenant } from '../../model/context/scope-headers.js'
import { err, ok, type Result } from '../../result.js'
import { atOnce, LongPayloads, type Steps } from '../../slices.js'
import {
  type ApiRequest,
  type ApiResponse,
  isLong,
  type Operation,
  type Prepared,
  type Resource,
  type StatusText,
  type UncheckedWork,
  type Use,
  type Verb,
  type Work,
} from './api.js'

/** A request of a tenant, with the services of its operation. */
export interface Call<Services> {
  readonly services: Services
  readonly request: ApiRequest
  readonly tenant: Tenant
}

/** The services that every operation needs. */
interface OperationServices {
  readonly options: Pick<Options, 'multiservice'>
}

/** An operation without its services; the operations of one interface parse long payloads one after the other. */
export type Unbound<Services> = (services: Services, longPayloads: LongPayloads) => Operation

/** The steps of an operation, in the order of the members. */
export interface OperationParts<Services, Payload> {
  readonly use: Use
  readonly wrapStatus?: ((status: StatusText) => unknown) | undefined
  /** The response to a refused path, whatever the payload. */
  readonly check?: ((request: ApiRequest, services: Services) => ApiResponse | undefined) | undefined
  /** The work on a short payload as received; undefined when the payload has to be parsed here. */
  readonly raw?: ((request: ApiRequest, services: Services) => Work | UncheckedWork | undefined) | undefined
  /** The work on a long payload, in steps. The work may have it parsed after all, in its turn among the long payloads. */
  readonly rawLong?:
    | ((request: ApiRequest, services: Services, longPayloads: LongPayloads) => Steps<Work | undefined>)
    | undefined
  /** Parses the payload, at once or in steps; a long one is parsed in slices. */
  readonly parse: (
    request: ApiRequest,
    services: Services,
  ) => Result<Payload, ApiResponse> | Steps<Result<Payload, ApiResponse>>
  readonly work: (call: Call<Services>, payload: Payload) => ReturnType<Work>
}

/** An operation that checks path, payload and tenant in this order [context 1.5], [NGSIv2 context 1.4]. */
export function operationOf<Services extends OperationServices, Payload>(
  { use, wrapStatus, check, raw, rawLong, parse, work }: OperationParts<Services, Payload>,
  tenantError: (why: string) => ApiResponse,
): Unbound<Services> {
  return (services, longPayloads) => {
    const prepared = (request: ApiRequest, payload: Result<Payload, ApiResponse>): Prepared => {
      if (!payload.ok) return payload
      return ok(() => {
        const tenant = tenantOf(request, services.options)
        return tenant.ok ? work({ services, request, tenant: tenant.value }, payload.value) : tenantError(tenant.error)
      })
    }
    function* preparedLong(request: ApiRequest, raw: Steps<Work | undefined>): Steps<Prepared> {
      const rawWork = yield* raw
      if (rawWork) return ok(rawWork)
      const payload = parse(request, services)
      return prepared(request, 'ok' in payload ? payload : yield* payload)
    }
    return {
      use,
      ...(wrapStatus && { wrapStatus }),
      prepare: (request) => {
        const response = check?.(request, services)
        if (response) return err(response)
        const long = isLong(request.body)
        if (long && rawLong) return longPayloads.read(preparedLong(request, rawLong(request, services, longPayloads)))
        const rawWork = long ? undefined : raw?.(request, services)
        if (rawWork) return ok(rawWork)
        const payload = parse(request, services)
        if ('ok' in payload) return prepared(request, payload)
        if (!long) return prepared(request, atOnce(payload))
        return longPayloads.read(payload).then((read) => prepared(request, read))
      },
    }
  }
}

/** For operations without a payload. */
export function noPayload(): Result<undefined, never> {
  return ok(undefined)
}

/** The tenant of a request; without `multiservice` the header is checked and otherwise ignored [context 5.1]. */
export function tenantOf(
  { headers }: Pick<ApiRequest, 'headers'>,
  { multiservice }: Pick<Options, 'multiservice'>,
): Result<Tenant, string> {
  const header = headers['fiware-service']
  return parseTenant(header === undefined ? undefined : String(header), multiservice)
}

/** Binds the operations of an interface to its services. */
export function binding<Services>(
  services: Services,
): (operations: Partial<Readonly<Record<Verb, Unbound<Services>>>>) => Resource['operations'] {
  const longPayloads = new LongPayloads()
  return (operations) =>
    Object.fromEntries(Object.entries(operations).map(([verb, operation]) => [verb, operation(services, longPayloads)]))
}
