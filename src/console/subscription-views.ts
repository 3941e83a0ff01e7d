import { type ApiRequest, type ApiResponse, type Operation, type Resource, segment } from '../api/api.js'
import { json, shortForm } from '../api/response.js'
import type { ShownSubscription, SubscriptionSearch } from '../broker/broker.js'
import type { EntityId, EntityType } from '../context/entity.js'
import { everywhere } from '../context/scope-headers.js'
import { logChange } from '../management/changes.js'
import { operation } from '../management/response-forms.js'
import { stateReads, subscriptionIdOf, unknownSubscription } from '../management/subscription-states.js'
import { unavailable } from '../ngsi2/errors.js'
import { inSlices, listText } from '../slices.js'
import { now } from '../time.js'
import type { ConsoleParts } from './console-parts.js'
import { explanationOf, imaginedChanges } from './explanation.js'
import { GivenParameters } from './given-parameters.js'
import type { ExplanationList } from './shapes.js'
import { shownDetails, shownState, shownWhole } from './subscription-details.js'

const path = '/admin/subscriptions'
const searchNames = ['service', 'limit', 'offset', 'details', 'status', 'receiver', 'text']
const mostShown = 1000
const usuallyShown = 100

/** Subscriptions to context as operators see them: how their deliveries go, what they ask for, why one is silent [console: data]. */
export function subscriptionViews(parts: ConsoleParts): readonly Resource[] {
  const { subscriptions } = parts.broker
  const reads = stateReads((which) => subscriptions.states(which))
  const polled = { anyCase: false, polled: true } as const
  return [
    { ...polled, pattern: path, operations: { GET: listing(parts, reads.all) } },
    {
      ...polled,
      pattern: `${path}/{id}`,
      operations: { GET: showing(parts, reads.one), DELETE: operation('write', (request) => ended(parts, request)) },
    },
    { ...polled, pattern: `${path}/{id}/explain`, operations: { GET: explaining(parts) } },
  ]
}

/** Without parameters of a search the list of all that machines poll. */
function listing(parts: ConsoleParts, all: (request: ApiRequest) => Promise<ApiResponse>): Operation {
  return {
    use: 'read',
    prepare: (request) => {
      const { parameters } = request
      const isSearch = searchNames.some((name) => name !== 'service' && parameters.has(name))
      if (!isSearch) return operation('read', all).prepare(request)
      const given = new GivenParameters(request, searchNames)
      const tenant = given.tenant()
      const which: SubscriptionSearch = {
        ...(tenant !== undefined && { tenant }),
        status: given.oneOf('status', ['active', 'inactive', 'oneshot', 'failed', 'expired']),
        receiver: given.folded('receiver'),
        text: given.folded('text'),
        offset: given.whole('offset', 0, 0, 10_000_000),
        limit: given.whole('limit', usuallyShown, 1, mostShown),
      }
      const isDetailed = given.oneOf('details', ['on', 'off']) === 'on'
      return given.prepared(() => found(parts, which, isDetailed))
    },
  }
}

async function found({ broker }: ConsoleParts, which: SubscriptionSearch, isDetailed: boolean): Promise<ApiResponse> {
  const { count, subscriptions } = await broker.subscriptions.search(which)
  const at = now()
  const shown = isDetailed ? shownDetails : shownState
  const list = await inSlices(listText(subscriptions, (each) => JSON.stringify(shown(each, at))))
  return { status: 200, body: isDetailed ? `{"count":${count},"subscriptions":${list}}` : list }
}

function showing(parts: ConsoleParts, one: (request: ApiRequest) => Promise<ApiResponse>): Operation {
  return {
    use: 'read',
    prepare: (request) => {
      if (!request.parameters.has('details')) return operation('read', one).prepare(request)
      const given = new GivenParameters(request, ['details'])
      const isDetailed = given.oneOf('details', ['on', 'off']) === 'on'
      return given.prepared(async () => {
        if (!isDetailed) return one(request)
        const subscription = await subscriptionOf(parts, request)
        if (subscription === undefined) return unknownSubscription
        const inspected = await parts.broker.subscriptions.inspected(subscription.subscription.id)
        return json(shownWhole(subscription, inspected, now()))
      })
    },
  }
}

/** Ends a subscription of any tenant; what waits for it is dropped, and the response says how much that was. */
async function ended(parts: ConsoleParts, request: ApiRequest): Promise<ApiResponse> {
  const shown = await subscriptionOf(parts, request)
  if (shown === undefined) return unknownSubscription
  const { id, tenant } = shown.subscription
  const removed = await parts.broker.subscriptions.unsubscribe(tenant, id)
  if (!removed.ok)
    return removed.error.kind === 'subscriptionUnknown' ? unknownSubscription : unavailable(removed.error)
  const { queueDepth: dropped, queueBytes: dropped_bytes } = shown.delivery
  logChange(parts.log, request, `subscription ${id} ended`, { subscription: id, tenant, dropped })
  return json({ id, dropped, droppedBytes: dropped_bytes })
}

async function subscriptionOf({ broker }: ConsoleParts, request: ApiRequest): Promise<ShownSubscription | undefined> {
  const which = { id: subscriptionIdOf(request), offset: 0, limit: 1 }
  return (await broker.subscriptions.search(which)).subscriptions[0]
}

/** Entities of one id that are explained, by path and type. */
const mostExplained = 20

/** Why a subscription would be notified of a change of an entity, or not. */
function explaining(parts: ConsoleParts): Operation {
  return {
    use: 'read',
    prepare: (request) => {
      const given = new GivenParameters(request, ['entity', 'type', 'service', 'attributes', 'change'])
      const id = given.text('entity')
      if (id === undefined) given.refuse('the URI parameter entity is missing: the id of an entity')
      const type = given.text('type')
      const attributes = given.text('attributes')?.split(',')
      const change = given.oneOf('change', imaginedChanges) ?? 'entityChange'
      const tenant = given.tenant()
      return given.prepared(async () => {
        const shown = await subscriptionOf(parts, request)
        if (shown === undefined) return unknownSubscription
        const of = tenant ?? shown.subscription.tenant
        const entities = await parts.broker.entities(
          of,
          [everywhere],
          id as EntityId,
          type as EntityType | undefined,
          request.client,
        )
        if (!entities.ok) return unavailable(entities.error)
        if (entities.value.length === 0) return noSuchEntity
        const asked = { tenant: of, attributes, change, at: now() }
        const some = entities.value.slice(0, mostExplained)
        const list: ExplanationList = {
          subscription: segment(request, 'id').toLowerCase(),
          entities: some.map((entity) => explanationOf(shown, entity, asked, parts)),
          more: entities.value.length - some.length,
        }
        return json(list)
      })
    },
  }
}

const noSuchEntity = shortForm(
  404,
  'there is no such entity in the tenant, so nothing has changed that could be notified: check entity, type and service',
)
