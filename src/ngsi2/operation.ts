import {
  type ApiRequest,
  type ApiResponse,
  isLong,
  type Operation,
  type Prepared,
  requestOrigin,
  type TenantWork,
  type Use,
  type Work,
} from '../api/api.js'
import type { RawUpdate, Unavailable } from '../broker/broker.js'
import type { NotificationOptions, Options } from '../command-line/settings.js'
import { hasForbiddenInId, type Tenant } from '../context/entity.js'
import { parseTenant } from '../context/scope-headers.js'
import type { DeprecatedUses } from '../measure/deprecated-uses.js'
import type { RawUpdateReply } from '../partition/commands.js'
import { type ForwardingServices, mayPassOn } from '../providers/forwarder.js'
import { err, ok, type Result } from '../result.js'
import { atOnce, type LongPayloads, type Steps } from '../slices.js'
import { badInput, unavailable } from './errors.js'
import { pathOfWrite } from './parameters.js'
import { encodeWrite, onlyWrittenId, partitionResponse, type SingleWrite } from './single-write.js'

export interface Ngsi2Services extends ForwardingServices {
  readonly options: Pick<Options, 'multiservice' | 'queryTimeout_ms'> & {
    /** Without it no template is too long. */
    readonly notifications?: Pick<NotificationOptions, 'maxSize'>
  }
  /** Identifies this broker in `Via`. Without it, a loop of forwarded requests is not recognized. */
  readonly brokerId?: string
  readonly longPayloads: LongPayloads
  readonly deprecated: Pick<DeprecatedUses, 'note'>
}

type PathWork = (request: ApiRequest, tenant: Tenant) => ReturnType<Work>

/** A read without payload; id and name in the path are checked first [NGSIv2 context 1.4, 4.1]. */
export function pathRead(services: Ngsi2Services, work: PathWork): Operation {
  return pathOperation(services, 'read', work)
}

/** A write without payload; id and name in the path are checked first [NGSIv2 context 1.4, 4.1]. */
export function pathWrite(services: Ngsi2Services, work: PathWork): Operation {
  return pathOperation(services, 'write', work)
}

function pathOperation(services: Ngsi2Services, use: Use, work: PathWork): Operation {
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
  /** The request as a write of one entity, for operations that can write one only: its partition may parse the payload. */
  readonly single?: (request: ApiRequest) => SingleWrite
  readonly parse: (request: ApiRequest) => Steps<Result<Payload, ApiResponse>>
  readonly work: (request: ApiRequest, tenant: Tenant, payload: Payload) => ReturnType<Work>
}

/**
 * An operation that writes what its payload says. A long payload is read in slices; a short one at once, by the partition of
 * its entity where it has only one.
 */
export function payloadWrite<Payload>(
  services: Ngsi2Services,
  { checksName = true, single, parse, work }: PayloadWrite<Payload>,
): Operation {
  function* readHere(request: ApiRequest): Steps<Prepared> {
    const payload = yield* parse(request)
    if (!payload.ok) return payload
    return ok(() => withTenant(services, request, (_, tenant) => work(request, tenant, payload.value)))
  }
  return {
    use: 'write',
    prepare: (request) => {
      const { segments } = request
      if (hasForbiddenIds(checksName ? request : { segments: { id: segments['id'] ?? '' } })) {
        return err(badInput('invalid character in URI'))
      }
      if (isLong(request.body)) return services.longPayloads.read(readHere(request))
      const raw = single && rawUpdateOf(services, request, single(request))
      if (raw === undefined) return atOnce(readHere(request))
      return ok({ run: () => services.broker.rawUpdate(raw, request.client).then(checked) })
    },
  }
}

/**
 * A write whose payload its partition parses. Undefined when the front end has to parse it: the payload may be about several ids,
 * the write may have to be forwarded, or the headers are wrong, which is reported after mistakes in the payload.
 */
function rawUpdateOf(services: Ngsi2Services, request: ApiRequest, write: SingleWrite): RawUpdate | undefined {
  const { brokerId = '', options } = services
  const { body } = request
  const id = write.target?.id ?? onlyWrittenId(body)
  const tenant = tenantOf(request, options)
  const path = pathOfWrite(request)
  if (id === undefined || !tenant.ok || !path.ok || mayPassOn(services, tenant.value, id, 'ngsi2')) return undefined
  return {
    tenant: tenant.value,
    path: path.value,
    id,
    body,
    flags: encodeWrite(write),
    target: write.target ?? { id },
    origin: requestOrigin(request, brokerId),
  }
}

/** A write that the broker cannot take now is counted as accepted: nobody has parsed its payload. */
function checked(reply: Result<RawUpdateReply, Unavailable>): Result<ApiResponse, ApiResponse> {
  if (!reply.ok) return ok(unavailable(reply.error))
  const response = partitionResponse(reply.value)
  return reply.value.accepted ? ok(response) : err(response)
}

/** Whether the id of an entity or the name of an attribute in the path is no identifier [NGSIv2 context 4.1]. */
function hasForbiddenIds({ segments }: Pick<ApiRequest, 'segments'>): boolean {
  return hasForbiddenInId(segments['id'] ?? '') || hasForbiddenInId(segments['name'] ?? '')
}

/** Does the work for the tenant of a request. The tenant is checked after the payload [NGSIv2 context 1.4]. */
export function withTenant({ options }: Ngsi2Services, request: ApiRequest, work: PathWork): ReturnType<Work> {
  const tenant = tenantOf(request, options)
  return tenant.ok ? work(request, tenant.value) : badInput(tenant.error)
}

function tenantOf({ headers }: ApiRequest, { multiservice }: Ngsi2Services['options']): ReturnType<typeof parseTenant> {
  const header = headers['fiware-service']
  return parseTenant(header === undefined ? undefined : String(header), multiservice)
}

/** An operation that checks its payload first, then the tenant [NGSIv2 context 1.4]. */
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

/** Parses the payload of an operation that has none. */
export function noPayload(): Result<undefined, never> {
  return ok(undefined)
}
