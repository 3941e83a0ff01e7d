import { type ApiRequest, type ApiResponse, type Resource, segment } from '../api.js'
import {
  givenPosition,
  hasExpired,
  type ListeningTerms,
  listeningTerms,
  nothingNamed,
  notStreamed,
  positionElsewhere,
  streamResponse,
} from '../broker/listening.js'
import type { Tenant } from '../context/entity.js'
import { isBoundTo } from '../context/service-path.js'
import type { StreamRefusal } from '../delivery/stream-message.js'
import type { StreamPosition } from '../delivery/stream-position.js'
import { err, ok, type Result } from '../result.js'
import { parseGivenId } from '../subscription/given-id.js'
import { streamReference } from '../subscription/notification-url.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { badInput, unavailable } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { subscriptionNotFound } from './subscription-requests.js'
import { tenantOperation } from './tenant-operation.js'

/** `/v2/subscriptions/{id}/events`: the notifications of a subscription as a stream of events, and how far a client has got. */
export function subscriptionEvents(services: Ngsi2Services): Resource {
  return {
    pattern: '/v2/subscriptions/{subscriptionId}/events',
    countedAs: '/v2/subscriptions/{id}/events',
    anyCase: false,
    givesEvents: true,
    operations: {
      GET: tenantOperation(services, 'read', {
        parse: (request) => orBadInput(listeningTerms(request)),
        work: (request, tenant, terms) => listen(services, request, tenant, terms),
      }),
      // Whoever may listen may say what has arrived.
      POST: tenantOperation(services, 'read', {
        parse: (request) => {
          const position = orBadInput(givenPosition(request))
          if (!position.ok) return position
          return position.value === undefined ? err(badInput(nothingNamed)) : ok(position.value)
        },
        work: (request, tenant, upTo) => confirm(services, request, tenant, upTo),
      }),
    },
  }
}

function orBadInput<Value>(read: Result<Value, string>): Result<Value, ApiResponse> {
  return read.ok ? read : err(badInput(read.error))
}

async function listen(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  terms: ListeningTerms,
): Promise<ApiResponse> {
  const subscription = await listenable(services, request, tenant)
  if (!subscription.ok) return subscription.error
  const opened = await services.broker.listening.open({ subscription: subscription.value, ...terms }, request.client)
  return opened.ok ? streamResponse(opened.value) : refusals[opened.error]
}

async function confirm(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  upTo: StreamPosition,
): Promise<ApiResponse> {
  const subscription = await listenable(services, request, tenant)
  if (!subscription.ok) return subscription.error
  const confirmed = await services.broker.listening.confirm(subscription.value, upTo)
  if (!confirmed.ok) return refusals[confirmed.error]
  return confirmed.value ? { status: 204 } : badInput(positionElsewhere)
}

/** The subscription that is meant, if it can be listened to. */
async function listenable(
  { broker }: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
): Promise<Result<SubscriptionId, ApiResponse>> {
  const id = parseGivenId(segment(request, 'subscriptionId'))
  if (!id.ok) return err(badInput(`Invalid subscription ID: ${id.error}`))
  const found = await broker.subscriptions.one(tenant, id.value as SubscriptionId)
  if (!found.ok) return err(unavailable(found.error))
  const shown = found.value
  if (shown === undefined || !isBoundTo(request.paths, shown.subscription.path)) return err(subscriptionNotFound)
  return shown.subscription.reference === streamReference ? ok(shown.subscription.id) : err(badInput(notStreamed))
}

const refusals: Readonly<Record<StreamRefusal | 'away', ApiResponse>> = {
  unknown: subscriptionNotFound,
  notStreamed: badInput(notStreamed),
  expired: badInput(hasExpired),
  full: unavailable({ kind: 'listenersFull' }),
  away: unavailable({ kind: 'courierAway' }),
}
