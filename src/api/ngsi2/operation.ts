import { onlyId, rawResponse } from '../../broker/front-end/raw-replies.js'
import {
  type ApiRequest,
  type ApiResponse,
  requestOrigin,
  type UncheckedWork,
  type Use,
  type Work,
} from '../../broker/operations/api.js'
import {
  type Call,
  noPayload,
  type OperationParts,
  operationOf,
  tenantOf,
  type Unbound,
} from '../../broker/operations/operation.js'
import { type ForwardingServices, mayPassOn } from '../../broker/providers/forwarder.js'
import type { NotificationOptions, Options } from '../../flags/settings.js'
import { hasForbiddenInId } from '../../model/context/entity.js'
import type { DeprecatedUses } from '../../observe/measure/deprecated-uses.js'
import { atOnce, noSteps, type Steps } from '../../slices.js'
import { badInput, unavailable } from './errors.js'
import { pathOfWrite } from './parameters.js'
import { encodeWrite, partitionResponse, type SingleWrite } from './single-write.js'

export interface Ngsi2Services extends ForwardingServices {
  readonly options: Pick<Options, 'multiservice' | 'queryTimeout_ms'> & {
    /** Absent: no template is too long. */
    readonly notifications?: Pick<NotificationOptions, 'maxSize'>
  }
  /** Identifies this broker in `Via`. Without it, a loop of forwarded requests is not recognized. */
  readonly brokerId?: string
  readonly deprecated: Pick<DeprecatedUses, 'note'>
}

export type Ngsi2Call = Call<Ngsi2Services>

export function operation<Payload>(parts: OperationParts<Ngsi2Services, Payload>): Unbound<Ngsi2Services> {
  return operationOf(parts, badInput)
}

/** An operation without payload; id and name in the path are checked first [NGSIv2 context 1.4, 4.1]. */
export function pathOperation(use: Use, work: (call: Ngsi2Call) => ReturnType<Work>): Unbound<Ngsi2Services> {
  return operation({ use, check: checkPath, parse: noPayload, work })
}

/** An operation whose payload is parsed after the path has been checked [NGSIv2 context 1.4]. */
interface PayloadWrite<Payload> extends Pick<OperationParts<Ngsi2Services, Payload>, 'parse' | 'work'> {
  /** Whether the name in the path is checked like the id. */
  readonly checksName?: boolean
  /**
   * For operations that can write a single entity: the request as such a write, whose payload the entity's partition may parse.
   */
  readonly single?: (request: ApiRequest) => SingleWrite
  /** For operations that can write many entities: the work on a payload whose entities their partitions parse, if they may. */
  readonly many?: (services: Ngsi2Services, request: ApiRequest) => Steps<Work | undefined>
}

/** An operation that writes its payload. What `single` and `many` find parseable is parsed by the partitions of its entities. */
export function payloadWrite<Payload>({
  checksName = true,
  single,
  many = () => noSteps(undefined),
  parse,
  work,
}: PayloadWrite<Payload>): Unbound<Ngsi2Services> {
  return operation({
    use: 'write',
    check: checksName ? checkPath : checkId,
    raw:
      single && ((request, services) => rawWork(services, request, single(request)) ?? atOnce(many(services, request))),
    rawLong: (request, services) => many(services, request),
    parse,
    work,
  })
}

/**
 * A write whose payload its partition parses. Undefined when the front end has to parse it: the payload may be about several ids,
 * the write may have to be forwarded, or the headers are wrong, which is reported after mistakes in the payload.
 */
function rawWork(services: Ngsi2Services, request: ApiRequest, write: SingleWrite): UncheckedWork | undefined {
  const { brokerId = '', options, broker } = services
  const { body, client } = request
  const id = write.target?.id ?? onlyId(body)
  const tenant = tenantOf(request, options)
  const path = pathOfWrite(request)
  if (id === undefined || !tenant.ok || !path.ok || mayPassOn(services, tenant.value, id, 'ngsi2')) return undefined
  const raw = {
    tenant: tenant.value,
    path: path.value,
    id,
    body,
    flags: encodeWrite(write),
    target: write.target ?? { id },
    origin: requestOrigin(request, brokerId),
  }
  return {
    run: () => broker.rawUpdate(raw, client).then((reply) => rawResponse(reply, unavailable, partitionResponse)),
  }
}

/** The response to an invalid entity id in the path [NGSIv2 context 4.1]. */
function checkId({ segments }: ApiRequest): ApiResponse | undefined {
  return hasForbiddenInId(segments['id'] ?? '') ? badInput('invalid character in URI') : undefined
}

/** The response to an invalid entity id or attribute name in the path [NGSIv2 context 4.1]. */
function checkPath(request: ApiRequest): ApiResponse | undefined {
  return hasForbiddenInId(request.segments['name'] ?? '') ? badInput('invalid character in URI') : checkId(request)
}
