import type { SilentSubscriptionRequest } from '../../broker/front-end/broker.js'
import { type ApiResponse, segment } from '../../broker/operations/api.js'
import type { Tenant } from '../../model/context/entity.js'
import type { PathRange } from '../../model/context/query.js'
import { everywhere, isBoundTo, meansEverywhere } from '../../model/context/scope-headers.js'
import { jsonRead, shortestBody } from '../../model/subscription/custom-message.js'
import { armedAt, coversNothing, type SubscriptionPatch, termsOf } from '../../model/subscription/patch.js'
import { parseGivenId, type SubscriptionId } from '../../model/subscription/subscription.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices, type Steps } from '../../slices.js'
import { type Milliseconds, never, now } from '../../time.js'
import { badInput, errorOf, unavailable } from './errors.js'
import { type Ngsi2Services, operation, pathOperation } from './operation.js'
import { listed, pageOf } from './parameters.js'
import {
  coveredWithoutAttributes,
  type KafkaBody,
  kafkaUnsupported,
  type NewSubscriptionBody,
  parseNewSubscription,
  parseSubscriptionPatch,
  type SubscriptionBody,
} from './parse/subscription-body.js'
import { renderSubscription, renderSubscriptions } from './render/shown-resources.js'
import { filterOf } from './subscription-filter.js'

/** No subscription has that id, or it has another path. */
export const subscriptionNotFound = errorOf('NotFound', 'The requested subscription has not been found. Check id')
const noKafka = errorOf('NotImplemented', kafkaUnsupported)
const notPatched = errorOf('NotFound', 'subscription id not found')

/** The response to an empty id in the path, which counts as malformed, by the method [NGSIv2 context 1.1]. */
export function subscriptionUnnamed(method: string): ApiResponse {
  if (method === 'DELETE') return subscriptionNotFound
  return method === 'PATCH' ? notPatched : badInput('Invalid subscription ID: bad length - 24 chars expected')
}

/** `POST /v2/subscriptions` [NGSIv2 subscriptions 3.1]. */
export const createSubscription = operation({
  use: 'write',
  parse: function* ({ body, paths }, services) {
    const payload = yield* parseNewSubscription(body)
    if (!payload.ok) return err(errorOf(payload.error.error, payload.error.description))
    if (paths.length > 1) return err(badInput('max one service-path allowed for subscriptions'))
    if ('kafka' in payload.value) return payload
    const long = yield* tooLongTemplate(services, payload.value)
    return long === undefined ? payload : err(long)
  },
  work: async ({ services, request, tenant }, payload) => {
    if ('kafka' in payload) return noKafka
    const [path = everywhere] = request.paths
    const made = await services.broker.subscriptions.add(newSubscription(tenant, path, payload, now()))
    if (!made.ok) return unavailable(made.error)
    return { status: 201, headers: { Location: `/v2/subscriptions/${made.value}` } }
  },
})

/** Refuses a template all of whose notifications would be dropped as too long (`-notifMaxSize`). */
function* tooLongTemplate(
  { options }: Ngsi2Services,
  { notification }: SubscriptionBody,
): Steps<ApiResponse | undefined> {
  const template = notification?.target.custom
  const max = options.notifications?.maxSize
  if (template === undefined || max === undefined) return undefined
  yield* jsonRead(template)
  const bytes = shortestBody(template)
  if (bytes <= max) return undefined
  return badInput(`notification template has at least ${bytes} bytes, max notification size: ${max}`)
}

/** The subscription that a payload creates at a moment [NGSIv2 subscriptions 2.1]. */
export function newSubscription(
  tenant: Tenant,
  path: PathRange,
  { description = '', subject, notification, expires, status = 'active', throttling_s = 0 }: NewSubscriptionBody,
  made: Milliseconds,
): SilentSubscriptionRequest {
  const { selectors, onChange, alterations, expression, scopes, jexl, onMetadata = true } = subject
  const { reference, attributes, target, format, excepts, metadata, maxFails } = notification
  const { onlyChanged = false, covered = false } = notification
  return {
    tenant,
    path,
    selectors,
    attributes,
    reference,
    expires: expires === undefined || expires === 'never' ? never : expires,
    throttling_ms: throttling_s * 1000,
    onChange,
    interval_ms: undefined,
    scopes: [],
    terms: {
      description,
      status,
      armed: armedAt(made, 0),
      condition: { alterations, onMetadata, expression, scopes, jexl },
      notification: { target, format, excepts, metadata, onlyChanged, covered },
      maxFails,
    },
  }
}

/** `GET /v2/subscriptions` [NGSIv2 subscriptions 3.2]. */
export const listSubscriptions = pathOperation('read', async ({ services, request, tenant }) => {
  const { paths, parameters } = request
  const { offset, limit, counted } = pageOf(parameters)
  const filter = filterOf(parameters)
  if (!filter.ok) return badInput(filter.error)
  const meant = meansEverywhere(paths) ? undefined : paths
  const page = await services.broker.subscriptions.page({ tenant, paths: meant, filter: filter.value, offset, limit })
  if (!page.ok) return unavailable(page.error)
  const { count, subscriptions } = page.value
  const body = await inSlices(renderSubscriptions(subscriptions, now()))
  return listed(body, counted ? count : undefined)
})

/** `GET /v2/subscriptions/{id}` [NGSIv2 subscriptions 3.3]. */
export const showSubscription = pathOperation('read', async ({ services, request, tenant }) => {
  const id = parseGivenId(segment(request, 'subscriptionId'))
  if (!id.ok) return badInput(`Invalid subscription ID: ${id.error}`)
  const found = await services.broker.subscriptions.one(tenant, id.value as SubscriptionId, 'ngsi2')
  if (!found.ok) return unavailable(found.error)
  const shown = found.value
  if (shown === undefined || !isBoundTo(request.paths, shown.subscription.path)) return subscriptionNotFound
  return { status: 200, body: renderSubscription(shown, now()) }
})

/** `PATCH /v2/subscriptions/{id}` [NGSIv2 subscriptions 3.4]. */
export const patchSubscription = operation({
  use: 'write',
  parse: function* ({ body, paths }, services) {
    const payload = yield* parseSubscriptionPatch(body)
    if (!payload.ok) return err(errorOf(payload.error.error, payload.error.description))
    const long = 'kafka' in payload.value ? undefined : yield* tooLongTemplate(services, payload.value)
    if (long !== undefined) return err(long)
    const path = pathOfPatch(paths)
    return path.ok ? ok({ ...payload.value, path: path.value }) : path
  },
  work: async ({ services, request, tenant }, payload) => {
    const id = parseGivenId(segment(request, 'subscriptionId'))
    if (!id.ok) return notPatched
    if ('kafka' in payload) return kafkaRefused(services, tenant, id.value as SubscriptionId, payload)
    const patch = patchOf(tenant, id.value as SubscriptionId, payload)
    const done = await services.broker.subscriptions.patch(patch)
    if (done.ok) return { status: 204 }
    if (done.error.kind === 'subscriptionUnknown') return notPatched
    return done.error.kind === 'coversNothing' ? badInput(coveredWithoutAttributes) : unavailable(done.error)
  },
})

/** The response to a PATCH that asks for Kafka: what else is wrong with it comes first [NGSIv2 subscriptions 7.2]. */
async function kafkaRefused(
  { broker }: Ngsi2Services,
  tenant: Tenant,
  id: SubscriptionId,
  { kafka }: KafkaBody,
): Promise<ApiResponse> {
  const found = await broker.subscriptions.one(tenant, id, 'ngsi2')
  if (!found.ok) return unavailable(found.error)
  if (found.value === undefined) return notPatched
  const { covered = termsOf(found.value.subscription).notification.covered } = kafka
  return coversNothing({ ...kafka, covered }) ? badInput(coveredWithoutAttributes) : noKafka
}

function pathOfPatch(paths: readonly PathRange[]): Result<PathRange | undefined, ApiResponse> {
  const [path, ...others] = paths
  if (others.length > 0) return err(badInput('more than one servicepath in patch update request is not allowed'))
  if (path?.below) return err(badInput('servicepath with wildcard # is not allowed in patch update request'))
  return ok(path)
}

function patchOf(
  tenant: Tenant,
  id: SubscriptionId,
  { throttling_s, expires, ...payload }: SubscriptionBody & Pick<SubscriptionPatch, 'path'>,
): SubscriptionPatch {
  return {
    ...payload,
    tenant,
    id,
    expires: expires === 'never' ? never : expires,
    throttling_ms: throttling_s === undefined ? undefined : throttling_s * 1000,
  }
}

/** `DELETE /v2/subscriptions/{id}` [NGSIv2 subscriptions 3.5]. */
export const deleteSubscription = pathOperation('write', async ({ services, request, tenant }) => {
  if (request.paths.length > 1) return badInput('more than one servicepath is not allowed in DELETE operation')
  if (request.paths.some(({ below }) => below)) {
    return badInput('servicepath with wildcard # is not allowed in DELETE operation')
  }
  const id = parseGivenId(segment(request, 'subscriptionId'))
  if (!id.ok) return subscriptionNotFound
  const done = await services.broker.subscriptions.unsubscribe(tenant, id.value as SubscriptionId)
  if (done.ok) return { status: 204 }
  return done.error.kind === 'subscriptionUnknown' ? subscriptionNotFound : unavailable(done.error)
})
