import {
  type ApiRequest,
  type ApiResponse,
  requestOrigin,
  type StatusText,
  type Use,
  type Work,
} from '../../broker/operations/api.js'
import {
  type Call,
  noPayload,
  type OperationParts,
  operationOf,
  type Unbound,
} from '../../broker/operations/operation.js'
import type { ForwardingServices } from '../../broker/providers/forwarder.js'
import type { Options } from '../../flags/settings.js'
import { type EntityId, type EntityType, hasForbiddenInId, type ServicePath } from '../../model/context/entity.js'
import type { PathRange, Scope } from '../../model/context/query.js'
import { onePath } from '../../model/context/scope-headers.js'
import type { Origin } from '../../model/context/update.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { requestedExistence, requestedType, requestsUntyped } from './parse/parameters.js'
import { type PayloadRefusal, parseTraced } from './parse/payload-errors.js'
import { badRequest, statusOf, statusResponse } from './render/status.js'

export interface Ngsi1Services extends ForwardingServices {
  readonly options: Pick<Options, 'multiservice' | 'strictNgsiv1Ids' | 'ngsiv1Autocast' | 'queryTimeout_ms'>
}

export type Ngsi1Call = Call<Ngsi1Services>

/** Parses and checks a payload; `strictIds` is `-strictNgsiv1Ids`. */
export type ParsePayload<Payload, Refusal extends PayloadRefusal = PayloadRefusal> = (
  body: string,
  strictIds: boolean,
  request: ApiRequest,
) => Steps<Result<Payload, Refusal>>

interface PayloadOperation<Payload, Refusal extends PayloadRefusal>
  extends Omit<OperationParts<Ngsi1Services, Payload>, 'check' | 'parse'> {
  /** Whether `-strictNgsiv1Ids` checks the path and its parameters. */
  readonly checksPath?: boolean
  readonly parse: ParsePayload<Payload, Refusal>
  readonly refusalResponse: (refusal: Refusal) => ApiResponse
}

/** An operation with a payload. */
export function payloadOperation<Payload, Refusal extends PayloadRefusal>({
  checksPath = false,
  parse,
  refusalResponse,
  ...parts
}: PayloadOperation<Payload, Refusal>): Unbound<Ngsi1Services> {
  return operation({
    ...parts,
    check: checksPath ? checkIds : undefined,
    *parse(request, { options, log }) {
      const { body } = request
      const payload = yield* parseTraced(log, body, parse(body, options.strictNgsiv1Ids, request))
      return payload.ok ? payload : err(refusalResponse(payload.error))
    },
  })
}

/** An operation without a payload, on a path that `-strictNgsiv1Ids` checks. */
export function pathOperation(use: Use, work: (call: Ngsi1Call) => ReturnType<Work>): Unbound<Ngsi1Services> {
  return operation({ use, check: checkIds, parse: noPayload, work })
}

export function operation<Payload>(parts: OperationParts<Ngsi1Services, Payload>): Unbound<Ngsi1Services> {
  return operationOf(parts, (why) => statusResponse('orionError', statusOf(400, why)))
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

/** The path of a subscription, if the request names one [subscriptions 2.1.1, 2.1.3]. */
export function pathOfSubscription(paths: readonly PathRange[]): Result<PathRange | undefined, StatusText> {
  const tooMany = paths.length > 1
  return tooMany ? err(statusOf(400, 'max one service-path allowed for subscriptions')) : ok(paths[0])
}

/** The parts of a request that its notifications pass on [subscriptions 4.1]. */
export function originOf(
  { forwarding }: Pick<Ngsi1Services, 'forwarding'>,
  { correlator, headers }: Pick<ApiRequest, 'correlator' | 'headers'>,
): Origin {
  return requestOrigin({ correlator, headers }, forwarding?.brokerId ?? '')
}

/** The types that a convenience operation means [context 8.1]. */
export interface TypesMeant {
  /** Undefined for any. */
  readonly type: EntityType | undefined
  /** Conditions on the type of the entities. */
  readonly scopes: readonly Scope[]
}

/** Reads the type from path and parameters; refuses when they contradict each other [context 8.1]. */
export function typesMeant({ segments, parameters }: ApiRequest): Result<TypesMeant, StatusText> {
  const inPath = segments['type'] as EntityType | undefined
  const requested = requestedType(parameters)
  if (inPath === undefined) return ok({ type: requested, scopes: requestedExistence(parameters) })
  if (requested !== undefined && requested !== inPath) return err(statusOf(400, 'non-matching entity::types in URL'))
  if (requestsUntyped(parameters)) return err(statusOf(400, 'entity::type cannot be empty for this request'))
  return ok({ type: inPath, scopes: [] })
}

/** The response to ids, names and types in the path and in `entity::type` that `-strictNgsiv1Ids` forbids [context 4.1]. */
function checkIds({ segments, parameters }: ApiRequest, { options }: Ngsi1Services): ApiResponse | undefined {
  if (!options.strictNgsiv1Ids) return undefined
  const isForbidden = (name: string) => name !== 'metaID' && hasForbiddenInId(segments[name] ?? '')
  if (Object.keys(segments).some(isForbidden)) return badRequest('invalid character in URI')
  const isTypeForbidden = hasForbiddenInId(requestedType(parameters) ?? '')
  return isTypeForbidden ? badRequest('invalid character in URI parameter') : undefined
}

/** The names in the path of a convenience operation of the registry [subscriptions 7.6]. */
export interface NamedByPath {
  readonly id: EntityId | undefined
  readonly type: EntityType | undefined
  readonly attribute: string | undefined
}

/** Reads the path; refuses URI parameters that contradict its type [subscriptions 7.6]. */
export function namedByPath(request: ApiRequest): Result<NamedByPath, StatusText> {
  const { id, type, name: attribute } = request.segments
  if (id !== undefined && type !== undefined) {
    const types = typesMeant(request)
    if (!types.ok) return types
  }
  return ok({ id: id as EntityId | undefined, type: type as EntityType | undefined, attribute })
}
