import type { SubscriptionService, SubscriptionState } from '../../broker/front-end/broker.js'
import { type ApiRequest, type ApiResponse, type Resource, segment } from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import type { PastAttempt } from '../../delivery/queue/courier-protocol.js'
import type { Tenant } from '../../model/context/entity.js'
import { pathRangeText } from '../../model/context/query.js'
import { shownStatus } from '../../model/subscription/patch.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import { inSlices, listText } from '../../slices.js'
import { dateText, type Milliseconds, never, now } from '../../time.js'
import { type ManagementParts, operation } from './parts.js'

/** How the deliveries of subscriptions to registrations go [subscriptions 5.7]. */
export function availabilityStateResources({
  broker: { registry, subscriptions },
}: {
  readonly broker: {
    readonly registry: Pick<ManagementParts['broker']['registry'], 'states'>
    readonly subscriptions: Pick<SubscriptionService, 'inspected'>
  }
}): readonly Resource[] {
  const path = '/admin/availabilitySubscriptions'
  const { all, one } = stateReads(
    (which) => registry.states(which),
    (id) => subscriptions.inspected(id), // There is one courier for both kinds.
  )
  const polled = { anyCase: false, polled: true } as const
  return [
    { ...polled, pattern: path, operations: { GET: operation('read', all) } },
    { ...polled, pattern: `${path}/{id}`, operations: { GET: operation('read', one) } },
  ]
}

/** Reads subscriptions of one kind: all or those of one tenant, or one with its last attempts. They are polled, so nothing is counted [management 4.4]. */
export function stateReads(states: SubscriptionService['states'], inspected: SubscriptionService['inspected']) {
  const all = async ({ parameters }: ApiRequest): Promise<ApiResponse> => {
    const service = parameters.get('service')
    const found = await states(service === undefined ? {} : { tenant: service.toLowerCase() as Tenant })
    const at = now()
    return { status: 200, body: await inSlices(listText(found, (state) => JSON.stringify(stateShown(state, at)))) }
  }
  const one = async (request: ApiRequest): Promise<ApiResponse> => {
    const id = subscriptionIdOf(request)
    const [state] = await states({ id })
    if (state === undefined) return unknownSubscription
    const { attempts } = await inspected(id)
    return json({ ...stateShown(state, now()), attempts: attempts.map(attemptShown) })
  }
  return { all, one }
}

/** The id of the path; a malformed one names no subscription. */
export function subscriptionIdOf(request: ApiRequest): SubscriptionId {
  return segment(request, 'id').toLowerCase() as SubscriptionId
}

/** The response to an id of no subscription. */
export const unknownSubscription = shortForm(404, 'The requested subscription has not been found. Check id')

/** A subscription as operators see it at a moment; members without a value are absent. */
export function stateShown(
  { id, tenant, path, reference, expires, throttling_ms, status = 'active', delivery }: SubscriptionState,
  at: Milliseconds,
) {
  const { failsCounter } = delivery
  return {
    id,
    service: tenant === '' ? undefined : tenant,
    servicePath: pathRangeText(path),
    reference: urlWithoutSecrets(reference),
    expires: expires === never ? undefined : dateText(expires),
    throttling: throttling_ms === 0 ? undefined : throttling_ms / 1000,
    status: shownStatus(status, expires, failsCounter, at),
    timesSent: delivery.timesSent,
    lastNotification: optionalDate(delivery.lastNotification),
    lastSuccess: optionalDate(delivery.lastSuccess),
    lastSuccessCode: delivery.lastSuccessCode,
    lastFailure: optionalDate(delivery.lastFailure),
    lastFailureReason: delivery.lastFailureReason,
    failsCounter,
    queueDepth: delivery.queueDepth,
    queueBytes: delivery.queueBytes,
    oldestQueued: optionalDate(delivery.oldestQueued),
    nextAttempt: optionalDate(delivery.nextAttempt),
    discarded: delivery.discarded,
  }
}

/** An attempt as operators see it. */
export function attemptShown({ at, duration_ms, ...attempt }: PastAttempt) {
  return { at: dateText(at), duration_ms: Number(duration_ms.toFixed(3)), ...attempt }
}

/** The text of a date; undefined for none. */
export function optionalDate(date: Milliseconds | undefined): string | undefined {
  return date === undefined ? undefined : dateText(date)
}
