import type { ShownSubscription, SubscriptionSearch } from '../../broker/front-end/broker.js'
import {
  type ApiRequest,
  type ApiResponse,
  type Operation,
  type Prepared,
  type Resource,
  segment,
} from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import type { InspectedQueue } from '../../delivery/queue/courier-protocol.js'
import type { EntityId, EntityType } from '../../model/context/entity.js'
import { everywhere } from '../../model/context/scope-headers.js'
import { termsOf } from '../../model/subscription/patch.js'
import type { HttpTarget, MqttTarget, Template } from '../../model/subscription/terms.js'
import { textWithoutSecrets, urlWithoutSecrets, withoutSecrets } from '../../observe/log/secrets.js'
import { ok } from '../../result.js'
import { inSlices, listText } from '../../slices.js'
import { type Milliseconds, now } from '../../time.js'
import { logChange, operation } from '../management/parts.js'
import {
  attemptShown,
  stateReads,
  stateShown,
  subscriptionIdOf,
  unknownSubscription,
} from '../management/subscription-states.js'
import { unavailable } from '../ngsi2/errors.js'
import { subjectShown } from '../ngsi2/render/shown-resources.js'
import { explanationOf, imaginedChanges } from './explanation.js'
import type { ExplanationList, SubscriptionDetails, SubscriptionRow, WholeSubscription } from './shapes.js'
import { type ConsoleParts, GivenParameters, view } from './views.js'

const path = '/admin/subscriptions'
const searchNames = ['service', 'limit', 'offset', 'details', 'status', 'receiver', 'text']

/** Context subscriptions for operators: state of their deliveries, contents, and why one notifies or does not [console: data]. */
export function subscriptionViews(parts: ConsoleParts): readonly Resource[] {
  const { subscriptions } = parts.broker
  const reads = stateReads(
    (which) => subscriptions.states(which),
    (id) => subscriptions.inspected(id),
  )
  const whole = view(`${path}/{id}`, showing(parts, reads.one))
  return [
    view(path, listing(parts, reads.all)),
    { ...whole, operations: { ...whole.operations, DELETE: operation('write', (request) => remove(parts, request)) } },
    view(`${path}/{id}/explain`, (request) => explaining(parts, request)),
  ]
}

/** Without search parameters, the list of all subscriptions that monitoring polls. */
function listing(parts: ConsoleParts, all: Read): Operation['prepare'] {
  return (request) => {
    const isSearch = searchNames.some((name) => name !== 'service' && request.parameters.has(name))
    if (!isSearch) return ok(() => all(request))
    const given = new GivenParameters(request, searchNames)
    const tenant = given.tenant()
    const which: SubscriptionSearch = {
      ...(tenant !== undefined && { tenant }),
      status: given.oneOf('status', ['active', 'inactive', 'oneshot', 'failed', 'expired']),
      receiver: given.folded('receiver'),
      text: given.folded('text'),
      ...given.slice(),
    }
    const isDetailed = given.oneOf('details', ['on', 'off']) === 'on'
    return given.prepared(() => found(parts, which, isDetailed))
  }
}

type Read = (request: ApiRequest) => Promise<ApiResponse>

async function found({ broker }: ConsoleParts, which: SubscriptionSearch, isDetailed: boolean): Promise<ApiResponse> {
  const { count, subscriptions } = await broker.subscriptions.search(which)
  const at = now()
  const shown = isDetailed ? shownDetails : shownState
  const list = await inSlices(listText(subscriptions, (each) => JSON.stringify(shown(each, at))))
  return { status: 200, body: isDetailed ? `{"count":${count},"subscriptions":${list}}` : list }
}

function showing(parts: ConsoleParts, one: Read): Operation['prepare'] {
  return (request) => {
    if (!request.parameters.has('details')) return ok(() => one(request))
    const given = new GivenParameters(request, ['details'])
    const isDetailed = given.oneOf('details', ['on', 'off']) === 'on'
    return given.prepared(async () => {
      if (!isDetailed) return one(request)
      const shown = await subscriptionOf(parts, request)
      if (shown === undefined) return unknownSubscription
      const inspected = await parts.broker.subscriptions.inspected(shown.subscription.id)
      return json(shownWhole(shown, inspected, now()))
    })
  }
}

/** Deletes a subscription of any tenant. Its queued notifications are dropped; the response gives their number and size. */
async function remove(parts: ConsoleParts, request: ApiRequest): Promise<ApiResponse> {
  const shown = await subscriptionOf(parts, request)
  if (shown === undefined) return unknownSubscription
  const { id, tenant } = shown.subscription
  const done = await parts.broker.subscriptions.unsubscribe(tenant, id)
  if (!done.ok) return done.error.kind === 'subscriptionUnknown' ? unknownSubscription : unavailable(done.error)
  const { queueDepth: dropped, queueBytes: dropped_bytes } = shown.delivery
  logChange(parts.log, request, `subscription ${id} ended`, { subscription: id, tenant, dropped })
  return json({ id, dropped, droppedBytes: dropped_bytes })
}

async function subscriptionOf({ broker }: ConsoleParts, request: ApiRequest): Promise<ShownSubscription | undefined> {
  const which = { id: subscriptionIdOf(request), offset: 0, limit: 1 }
  return (await broker.subscriptions.search(which)).subscriptions[0]
}

/** At most this many entities of one id are explained; they differ in path or type. */
const mostExplained = 20

/** Whether an imagined change of an entity would notify a subscription, and which of its conditions hold. */
function explaining(parts: ConsoleParts, request: ApiRequest): Prepared {
  const given = new GivenParameters(request, ['entity', 'type', 'service', 'attributes', 'change'])
  const id = given.text('entity')
  if (id === undefined) given.refuse('the URI parameter entity is missing: the id of an entity')
  const type = given.text('type') as EntityType | undefined
  const attributes = given.text('attributes')?.split(',')
  const change = given.oneOf('change', imaginedChanges) ?? 'entityChange'
  const service = given.tenant()
  return given.prepared(async () => {
    const shown = await subscriptionOf(parts, request)
    if (shown === undefined) return unknownSubscription
    const tenant = service ?? shown.subscription.tenant
    const entities = await parts.broker.entities(tenant, [everywhere], id as EntityId, type, request.client)
    if (!entities.ok) return unavailable(entities.error)
    if (entities.value.length === 0) return noSuchEntity
    const explained = { tenant, attributes, change, at: now() }
    const some = entities.value.slice(0, mostExplained)
    const list: ExplanationList = {
      subscription: segment(request, 'id').toLowerCase(),
      entities: some.map((entity) => explanationOf(shown, entity, explained, parts)),
      more: entities.value.length - some.length,
    }
    return json(list)
  })
}

const noSuchEntity = shortForm(
  404,
  'there is no such entity in the tenant, so nothing has changed that could be notified: check entity, type and service',
)

function shownState({ subscription, delivery, fired }: ShownSubscription, at: Milliseconds): SubscriptionRow {
  const status = fired ? 'inactive' : termsOf(subscription).status
  return stateShown({ ...subscription, status, delivery }, at)
}

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

function shownWhole(
  shown: ShownSubscription,
  { state, underWay, attempts }: InspectedQueue,
  at: Milliseconds,
): WholeSubscription {
  const { target } = termsOf(shown.subscription).notification
  return {
    ...shownDetails(shown, at),
    target: target.kind === 'http' ? httpTargetShown(target) : mqttTargetShown(target),
    queue: { state, underWay },
    attempts: attempts.map(attemptShown),
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
  return {
    payload: typeof payload === 'string' ? textWithoutSecrets(payload) : payload,
    json: json && JSON.parse(json),
    ngsi: ngsi && JSON.parse(ngsi),
  }
}
