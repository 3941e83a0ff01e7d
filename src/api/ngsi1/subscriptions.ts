import type { SubscriptionUnknown, Unavailable } from '../../broker/front-end/broker.js'
import { type ApiRequest, type ApiResponse, type StatusText, segment } from '../../broker/operations/api.js'
import { noPayload, type Unbound } from '../../broker/operations/operation.js'
import type { PathRange } from '../../model/context/query.js'
import { everywhere } from '../../model/context/scope-headers.js'
import { parseGivenId, type SubscriptionId, unknownId } from '../../model/subscription/subscription.js'
import { ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import {
  type Ngsi1Call,
  type Ngsi1Services,
  operation,
  originOf,
  type ParsePayload,
  pathOfSubscription,
  payloadOperation,
} from './operation.js'
import { requestedExistence } from './parse/parameters.js'
import { detailsOfPayload, isParserRefusal, type PayloadRefusal } from './parse/payload-errors.js'
import {
  type AvailabilityChangePayload,
  type AvailabilityPayload,
  parseAvailability,
  parseAvailabilityChange,
} from './parse/registry-payload.js'
import {
  type ChangePayload,
  type NamedRefusal,
  type NamedSubscription,
  parseChange,
  parseIdPayload,
  parseSubscription,
  type Spans,
  type SubscriptionPayload,
} from './parse/subscription-payload.js'
import { bodyResponse, okStatus, statusOf, unavailableResponse } from './render/status.js'

/** The differences between operations on context subscriptions and on availability subscriptions. */
interface SubscriptionKind<Creation extends Spanned, Change extends Spanned & NamedSubscription> {
  readonly parseCreation: ParsePayload<Creation>
  /** Parses a creation by the convenience operation. */
  readonly parsePosted: ParsePayload<Creation>
  readonly parseChange: ParsePayload<Change, NamedRefusal>
  /** The path of the subscription that a request creates. */
  readonly pathOf: (request: ApiRequest) => Result<PathRange | undefined, StatusText>
  readonly create: (
    call: Ngsi1Call,
    path: PathRange | undefined,
    creation: Creation,
  ) => Promise<Result<SubscriptionId, Unavailable>>
  readonly change: (
    call: Ngsi1Call,
    path: PathRange | undefined,
    id: SubscriptionId,
    change: Change,
  ) => Promise<Result<undefined, SubscriptionUnknown | Unavailable>>
  readonly remove: (
    call: Ngsi1Call,
    id: SubscriptionId,
  ) => Promise<Result<undefined, SubscriptionUnknown | Unavailable>>
  /** The body that confirms a subscription. */
  readonly accepted: (subscriptionId: string, spans: Spans) => unknown
  /** The body of an error; without an id for a creation. */
  readonly failed: (status: StatusText, subscriptionId?: string) => unknown
  readonly detailsOfCreation: (refusal: PayloadRefusal) => string
  /** The body for a malformed id. */
  readonly malformedId: (givenId: string, why: string) => Cancelled
  /** The status for an unknown id. */
  readonly notFound: (givenId: string) => StatusText
}

interface Spanned {
  readonly spans: Spans
}

interface SubscriptionOperations {
  /** `POST /v1/subscribeContext` and its like [subscriptions 2.1, 7.4]. */
  readonly subscribe: Unbound<Ngsi1Services>
  /** POST of the convenience operations [subscriptions 2.4, 7.6]. */
  readonly post: Unbound<Ngsi1Services>
  /** `POST /v1/updateContextSubscription` and its like [subscriptions 2.2, 7.4]. */
  readonly update: Unbound<Ngsi1Services>
  /** PUT of the convenience operations: the payload has to repeat the id of the path [subscriptions 2.4, 7.6]. */
  readonly put: Unbound<Ngsi1Services>
  /** `POST /v1/unsubscribeContext` and its like [subscriptions 2.3, 7.4]. */
  readonly unsubscribe: Unbound<Ngsi1Services>
  /** DELETE of the convenience operations: a malformed id is an unknown one [subscriptions 2.4, 7.6]. */
  readonly delete: Unbound<Ngsi1Services>
}

export function subscriptionOperations<Creation extends Spanned, Change extends Spanned & NamedSubscription>(
  kind: SubscriptionKind<Creation, Change>,
): SubscriptionOperations {
  const creating = (parse: ParsePayload<Creation>, wrapStatus?: (status: StatusText) => unknown) =>
    payloadOperation({
      use: 'write',
      wrapStatus,
      parse,
      refusalResponse: (refusal) => failed(kind, statusOf(400, kind.detailsOfCreation(refusal))),
      work: (call, creation) => create(kind, call, creation),
    })
  const changing = (
    objection: (request: ApiRequest, change: Change) => StatusText | undefined,
    wrapStatus?: (status: StatusText) => unknown,
  ) =>
    payloadOperation({
      use: 'write',
      wrapStatus,
      parse: kind.parseChange,
      refusalResponse: (refusal) => failed(kind, statusOf(400, detailsOfPayload(refusal)), refusal.givenId),
      work: (call, payload) => {
        const wrong = objection(call.request, payload)
        return wrong ? failed(kind, wrong, unknownId) : change(kind, call, payload)
      },
    })
  return {
    subscribe: creating(kind.parseCreation, (status) => kind.failed(status)),
    post: creating(kind.parsePosted),
    update: changing(
      () => undefined,
      (status) => kind.failed(status, unknownId),
    ),
    put: changing(unmatchingId),
    unsubscribe: payloadOperation({
      use: 'write',
      wrapStatus: (status) => cancelled(unknownId, status),
      parse: parseIdPayload,
      refusalResponse: (refusal) =>
        refusal.kind === 'givenIdMalformed'
          ? cancelledResponse(kind.malformedId(refusal.givenId, refusal.why))
          : cancelledResponse(cancelled(unknownId, statusOf(400, detailsOfPayload(refusal)))),
      work: (call, { id, givenId }) => remove(kind, call, id, givenId),
    }),
    delete: operation({
      use: 'write',
      parse: noPayload,
      work: (call) => {
        const givenId = segment(call.request, 'id')
        const id = parseGivenId(givenId)
        return remove(kind, call, id.ok ? (id.value as SubscriptionId) : undefined, givenId)
      },
    }),
  }
}

async function create<Creation extends Spanned, Change extends Spanned & NamedSubscription>(
  kind: SubscriptionKind<Creation, Change>,
  call: Ngsi1Call,
  creation: Creation,
): Promise<ApiResponse> {
  const path = kind.pathOf(call.request)
  if (!path.ok) return failed(kind, path.error)
  const id = await kind.create(call, path.value, creation)
  return id.ok ? bodyResponse(kind.accepted(id.value, creation.spans)) : unavailableResponse(id.error)
}

async function change<Creation extends Spanned, Change extends Spanned & NamedSubscription>(
  kind: SubscriptionKind<Creation, Change>,
  call: Ngsi1Call,
  payload: Change,
): Promise<ApiResponse> {
  const { id, givenId, spans } = payload
  if (id === undefined) return failed(kind, unknown, unknownId)
  const path = kind.pathOf(call.request)
  if (!path.ok) return failed(kind, path.error, givenId)
  const changed = await kind.change(call, path.value, id, payload)
  if (changed.ok) return bodyResponse(kind.accepted(givenId, spans))
  const { error } = changed
  return error.kind === 'subscriptionUnknown' ? failed(kind, unknown, givenId) : unavailableResponse(error)
}

async function remove(
  kind: Pick<SubscriptionKind<never, never>, 'remove' | 'notFound'>,
  call: Ngsi1Call,
  id: SubscriptionId | undefined,
  givenId: string,
): Promise<ApiResponse> {
  if (id === undefined) return cancelledResponse(cancelled(givenId || unknownId, unknown))
  const removed = await kind.remove(call, id)
  if (removed.ok) return cancelledResponse(cancelled(givenId, okStatus))
  const { error } = removed
  return error.kind === 'subscriptionUnknown'
    ? cancelledResponse(cancelled(givenId, kind.notFound(givenId)))
    : unavailableResponse(error)
}

/** The status of an unknown subscription, without its id. */
const unknown = statusOf(404)

function unmatchingId(request: ApiRequest, { givenId }: NamedSubscription): StatusText | undefined {
  const inPath = segment(request, 'id')
  if (inPath.toLowerCase() === givenId.toLowerCase()) return undefined
  return statusOf(400, `unmatching subscriptionId URI/payload: /${inPath}/ vs /${givenId}/`)
}

/** The body of the response to the end of a subscription [subscriptions 2.3, 7.4]. */
interface Cancelled {
  readonly subscriptionId: string
  readonly statusCode: StatusText
}

/** The response to an unsubscription. */
function cancelled(subscriptionId: string, statusCode: StatusText): Cancelled {
  return { subscriptionId, statusCode }
}

function cancelledResponse(body: Cancelled): ApiResponse {
  return bodyResponse(body, body.statusCode)
}

/** The response to a refused creation or change; a creation has no id. */
function failed(
  kind: Pick<SubscriptionKind<never, never>, 'failed'>,
  status: StatusText,
  subscriptionId?: string,
): ApiResponse {
  return bodyResponse(kind.failed(status, subscriptionId), status)
}

/** Subscriptions to changes of context [subscriptions 2]. */
export const contextSubscriptions: SubscriptionKind<SubscriptionPayload, ChangePayload> = {
  parseCreation: parseSubscription,
  parsePosted,
  parseChange,
  pathOf: ({ paths }) => pathOfSubscription(paths),
  create: ({ services, request, tenant }, path = everywhere, { spans, ...creation }) => {
    const { subscriptions } = services.broker
    const origin = originOf(services, request)
    // Its initial notification may need a scan.
    return request.client.aside(() => subscriptions.subscribe({ ...creation, tenant, path, origin }))
  },
  change: ({ services, request, tenant }, path, id, { spans, givenId, ...change }) => {
    const { subscriptions } = services.broker
    const origin = originOf(services, request)
    return request.client.aside(() => subscriptions.change({ ...change, tenant, id, path, origin }))
  },
  remove: ({ services, tenant }, id) => services.broker.subscriptions.unsubscribe(tenant, id),
  accepted: (subscriptionId, { duration, throttling }) => ({
    subscribeResponse: { subscriptionId, duration, throttling },
  }),
  failed: (errorCode, subscriptionId) => ({ subscribeError: { subscriptionId, errorCode } }),
  detailsOfCreation,
  malformedId: (givenId, why) => cancelled(unknownId, statusOf(400, `Invalid Subscription Id: /${givenId}/: ${why}`)),
  notFound: (givenId) => statusOf(404, `subscriptionId: /${givenId}/`),
}

/** Subscriptions to registrations [subscriptions 7.4]. */
export const availabilitySubscriptions: SubscriptionKind<AvailabilityPayload, AvailabilityChangePayload> = {
  parseCreation: parseAvailability,
  parsePosted: parseAvailability,
  parseChange: parseAvailabilityChange,
  pathOf: () => ok(undefined),
  create: ({ services, request, tenant }, _path, { spans, ...creation }) => {
    const { correlator, service } = originOf(services, request)
    return services.broker.registry.subscribe({ ...creation, tenant, correlator, service })
  },
  change: ({ services, request, tenant }, _path, id, { spans, givenId, ...change }) => {
    const { correlator, service } = originOf(services, request)
    return services.broker.registry.change({ ...change, tenant, id, correlator, service })
  },
  remove: ({ services, tenant }, id) => services.broker.registry.unsubscribe(tenant, id),
  accepted: (subscriptionId, { duration }) => ({ subscriptionId, duration }),
  failed: (errorCode, subscriptionId = unknownId) => ({ subscriptionId, errorCode }),
  detailsOfCreation: detailsOfPayload,
  malformedId: (givenId, why) => cancelled(givenId, statusOf(400, why)),
  notFound: () => statusOf(404),
}

/** Only a creation begins with `invalid payload`, and not where the parser has found the mistake [subscriptions 2.1.1]. */
function detailsOfCreation(refusal: PayloadRefusal): string {
  const details = detailsOfPayload(refusal)
  return isParserRefusal(refusal) ? details : `invalid payload: ${details}`
}

/** URI parameters restrict what is posted, too [subscriptions 2.1.2]. */
function* parsePosted(
  body: string,
  strictIds: boolean,
  { parameters }: ApiRequest,
): Steps<Result<SubscriptionPayload, PayloadRefusal>> {
  const payload = yield* parseSubscription(body, strictIds)
  if (!payload.ok) return payload
  const { scopes } = payload.value
  return ok({ ...payload.value, scopes: [...scopes, ...requestedExistence(parameters)] })
}
