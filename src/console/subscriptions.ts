import { type ApiRequest, type ApiResponse, type Operation, type Resource, segment } from '../api/api.js'
import { json, shortForm } from '../api/response.js'
import type { ShownSubscription, SubscriptionSearch } from '../broker/broker.js'
import type { EntityId, EntityType } from '../context/entity.js'
import { everywhere } from '../context/scope-headers.js'
import type { InspectedQueue } from '../delivery/message.js'
import { textWithoutSecrets, urlWithoutSecrets, withoutSecrets } from '../log/secrets.js'
import { logChange } from '../management/changes.js'
import { operation } from '../management/response-forms.js'
import { stateReads, stateShown, subscriptionIdOf, unknownSubscription } from '../management/subscription-states.js'
import { unavailable } from '../ngsi2/errors.js'
import { subjectShown } from '../ngsi2/render/shown-resources.js'
import { inSlices, listText } from '../slices.js'
import { termsOf } from '../subscription/patch.js'
import type { HttpTarget, MqttTarget, Template } from '../subscription/terms.js'
import { dateText, type Milliseconds, now } from '../time.js'
import { explanationOf, imaginedChanges } from './explanation.js'
import type { ExplanationList, SubscriptionDetails, SubscriptionRow, WholeSubscription } from './shapes.js'
import type { ConsoleParts } from './views.js'
import { GivenParameters } from './views.js'

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

/** How the deliveries of a subscription go at a moment. */
function shownState({ subscription, delivery, fired }: ShownSubscription, at: Milliseconds): SubscriptionRow {
  const status = fired ? 'inactive' : termsOf(subscription).status
  return stateShown({ ...subscription, status, delivery }, at)
}

/** The same with what the subscription asks for. */
function shownDetails(shown: ShownSubscription, at: Milliseconds): SubscriptionDetails {
  const { subscription } = shown
  const { attributes, interval_ms } = subscription
  const { description, notification, maxFails } = termsOf(subscription)
  const { target, format, excepts, metadata, onlyChanged, covered } = notification
  return {
    ...shownState(shown, at),
    description: description === '' ? undefined : description,
    subject: subjectShown(subscription),
    notification: {
      ...(excepts ? { exceptAttrs: attributes } : { attrs: attributes }),
      attrsFormat: format,
      metadata,
      onlyChangedAttrs: onlyChanged,
      covered,
      maxFailsLimit: maxFails,
      kind: target.kind,
      isCustom: target.custom !== undefined,
    },
    interval: interval_ms === undefined ? undefined : interval_ms / 1000,
  }
}

/** A subscription with all that it says. */
function shownWhole(
  shown: ShownSubscription,
  { state, underWay, failures }: InspectedQueue,
  at: Milliseconds,
): WholeSubscription {
  const { target } = termsOf(shown.subscription).notification
  return {
    ...shownDetails(shown, at),
    target: target.kind === 'http' ? httpTargetShown(target) : mqttTargetShown(target),
    queue: { state, underWay },
    lastFailures: failures.map((failure) => ({ at: dateText(failure.at), reason: failure.reason })),
  }
}

function httpTargetShown({ timeout_ms, custom }: HttpTarget): object {
  const { method, qs, headers } = custom ?? {}
  return {
    kind: 'http',
    timeout: timeout_ms === 0 ? undefined : timeout_ms,
    method,
    qs: qs && Object.fromEntries(Object.entries(qs).map(([name, value]) => [name, parameterShown(name, value)])),
    headers: headers && withoutSecrets(headers),
    ...templateShown(custom),
  }
}

function parameterShown(name: string, value: string): string {
  return urlWithoutSecrets(`?${name}=${value}`).slice(name.length + 2)
}

function mqttTargetShown({ topic, qos, retain, user, custom }: MqttTarget): object {
  return { kind: 'mqtt', topic, qos, retain, user, ...templateShown(custom) }
}

function templateShown({ payload, json, ngsi }: Template = {}): object {
  return { payload: typeof payload === 'string' ? textWithoutSecrets(payload) : payload, json, ngsi }
}
