import { type ApiRequest, type ApiResponse, type Operation, type StatusText, segment } from '../api/api.js'
import type { SubscriptionUnknown, Unavailable } from '../broker/broker.js'
import type { Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import { ok, type Result } from '../result.js'
import { parseGivenId, unknownId } from '../subscription/given-id.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { forTenant, type ParsePayload, payloadOperation } from './operation.js'
import type { PayloadRefusal } from './parse/payload-refusal.js'
import { type NamedRefusal, type NamedSubscription, parseIdPayload, type Spans } from './parse/subscription-payload.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { bodyResponse, unavailableResponse } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import type { Ngsi1Services } from './services.js'

/** What the operations on context subscriptions and on availability subscriptions differ in. */
export interface SubscriptionKind<Creation extends Spanned, Change extends Spanned & NamedSubscription> {
  readonly parseCreation: ParsePayload<Creation>
  /** The same for the convenience operation. */
  readonly parsePosted: ParsePayload<Creation>
  readonly parseChange: ParsePayload<Change, NamedRefusal>
  /** The path that a request binds its subscription to. */
  readonly pathOf: (request: ApiRequest) => Result<PathRange | undefined, StatusText>
  readonly create: (head: SubscriptionHead, creation: Creation) => Promise<Result<SubscriptionId, Unavailable>>
  readonly change: (
    head: SubscriptionHead,
    id: SubscriptionId,
    change: Change,
  ) => Promise<Result<undefined, SubscriptionUnknown | Unavailable>>
  readonly remove: (tenant: Tenant, id: SubscriptionId) => Promise<Result<undefined, SubscriptionUnknown | Unavailable>>
  /** The body that says that a subscription is in force as requested. */
  readonly accepted: (subscriptionId: string, spans: Spans) => unknown
  /** The body of an error; without an id for a creation. */
  readonly failed: (status: StatusText, subscriptionId?: string) => unknown
  readonly detailsOfCreation: (refusal: PayloadRefusal) => string
  /** The body for an id that cannot be one. */
  readonly malformedId: (givenId: string, why: string) => Cancelled
  /** Why the subscription with an id cannot be removed: there is none. */
  readonly notFound: (givenId: string) => StatusText
}

interface Spanned {
  readonly spans: Spans
}

/** What the head of a request says of its subscription. */
export interface SubscriptionHead {
  readonly request: ApiRequest
  readonly tenant: Tenant
  readonly path: PathRange | undefined
}

export interface SubscriptionOperations {
  /** `POST /v1/subscribeContext` and its like [subscriptions 2.1, 7.4]. */
  readonly subscribe: Operation
  /** POST of the convenience operations [subscriptions 2.4, 7.6]. */
  readonly post: Operation
  /** `POST /v1/updateContextSubscription` and its like [subscriptions 2.2, 7.4]. */
  readonly update: Operation
  /** PUT of the convenience operations: the payload has to repeat the id of the path [subscriptions 2.4, 7.6]. */
  readonly put: Operation
  /** `POST /v1/unsubscribeContext` and its like [subscriptions 2.3, 7.4]. */
  readonly unsubscribe: Operation
  /** DELETE of the convenience operations: a malformed id is an unknown one [subscriptions 2.4, 7.6]. */
  readonly delete: Operation
}

/** The operations on subscriptions of one kind. */
export function subscriptionOperations<Creation extends Spanned, Change extends Spanned & NamedSubscription>(
  services: Ngsi1Services,
  kind: SubscriptionKind<Creation, Change>,
): SubscriptionOperations {
  const creating = (parse: ParsePayload<Creation>) =>
    payloadOperation(services, {
      use: 'write',
      parse,
      refused: (refusal) => failed(kind, statusOf(400, kind.detailsOfCreation(refusal))),
      work: (request, tenant, creation) => create(kind, request, tenant, creation),
    })
  const changing = (objection: (request: ApiRequest, change: Change) => StatusText | undefined) =>
    payloadOperation(services, {
      use: 'write',
      parse: kind.parseChange,
      refused: (refusal) => failed(kind, statusOf(400, detailsOfPayload(refusal)), refusal.givenId),
      work: (request, tenant, payload) => {
        const wrong = objection(request, payload)
        return wrong ? failed(kind, wrong, unknownId) : change(kind, request, tenant, payload)
      },
    })
  return {
    subscribe: { ...creating(kind.parseCreation), wrapStatus: (status) => kind.failed(status) },
    post: creating(kind.parsePosted),
    update: { ...changing(() => undefined), wrapStatus: (status) => kind.failed(status, unknownId) },
    put: changing(unmatchingId),
    unsubscribe: payloadOperation(services, {
      use: 'write',
      wrapStatus: (status) => cancelled(unknownId, status),
      parse: parseIdPayload,
      refused: (refusal) =>
        refusal.kind === 'givenIdMalformed'
          ? cancelledResponse(kind.malformedId(refusal.givenId, refusal.why))
          : cancelledResponse(cancelled(unknownId, statusOf(400, detailsOfPayload(refusal)))),
      work: (_, tenant, { id, givenId }) => remove(kind, tenant, id, givenId),
    }),
    delete: {
      use: 'write',
      prepare: (request) => {
        const givenId = segment(request, 'id')
        const id = parseGivenId(givenId)
        const known = id.ok ? (id.value as SubscriptionId) : undefined
        return ok(() => forTenant(services, request, (tenant) => remove(kind, tenant, known, givenId)))
      },
    },
  }
}

async function create<Creation extends Spanned, Change extends Spanned & NamedSubscription>(
  kind: SubscriptionKind<Creation, Change>,
  request: ApiRequest,
  tenant: Tenant,
  creation: Creation,
): Promise<ApiResponse> {
  const path = kind.pathOf(request)
  if (!path.ok) return failed(kind, path.error)
  const id = await kind.create({ request, tenant, path: path.value }, creation)
  return id.ok ? bodyResponse(kind.accepted(id.value, creation.spans)) : unavailableResponse(id.error)
}

async function change<Creation extends Spanned, Change extends Spanned & NamedSubscription>(
  kind: SubscriptionKind<Creation, Change>,
  request: ApiRequest,
  tenant: Tenant,
  payload: Change,
): Promise<ApiResponse> {
  const { id, givenId, spans } = payload
  if (id === undefined) return failed(kind, unknown, unknownId)
  const path = kind.pathOf(request)
  if (!path.ok) return failed(kind, path.error, givenId)
  const changed = await kind.change({ request, tenant, path: path.value }, id, payload)
  if (changed.ok) return bodyResponse(kind.accepted(givenId, spans))
  const { error } = changed
  return error.kind === 'subscriptionUnknown' ? failed(kind, unknown, givenId) : unavailableResponse(error)
}

async function remove(
  kind: Pick<SubscriptionKind<never, never>, 'remove' | 'notFound'>,
  tenant: Tenant,
  id: SubscriptionId | undefined,
  givenId: string,
): Promise<ApiResponse> {
  if (id === undefined) return cancelledResponse(cancelled(givenId || unknownId, unknown))
  const removed = await kind.remove(tenant, id)
  if (removed.ok) return cancelledResponse(cancelled(givenId, okStatus))
  const { error } = removed
  return error.kind === 'subscriptionUnknown'
    ? cancelledResponse(cancelled(givenId, kind.notFound(givenId)))
    : unavailableResponse(error)
}

/** No such subscription; the status does not say which. */
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

/** What is said of the end of a subscription, or of why it has not come to it. */
export function cancelled(subscriptionId: string, statusCode: StatusText): Cancelled {
  return { subscriptionId, statusCode }
}

function cancelledResponse(body: Cancelled): ApiResponse {
  return bodyResponse(body, body.statusCode)
}

/** The response to a creation or change that was refused; without an id to a creation. */
function failed(
  kind: Pick<SubscriptionKind<never, never>, 'failed'>,
  status: StatusText,
  subscriptionId?: string,
): ApiResponse {
  return bodyResponse(kind.failed(status, subscriptionId), status)
}
