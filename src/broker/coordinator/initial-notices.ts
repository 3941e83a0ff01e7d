import type { Entity, ServicePath } from '../../model/context/entity.js'
import type { Query, Scope, Selector } from '../../model/context/query.js'
import { maxSteps, StepBudget } from '../../model/context/step-budget.js'
import type { Origin } from '../../model/context/update.js'
import { stateOf } from '../../model/subscription/change.js'
import { legacyEntity } from '../../model/subscription/legacy-entity.js'
import { untyped } from '../../model/subscription/match-group.js'
import { bodyTermsOf, type MessageRenderer, renderedMessage } from '../../model/subscription/message.js'
import type { Notice, NoticeNumber, NoticeRenderer, OrderingKey } from '../../model/subscription/notice.js'
import { isLegacy, termsOf } from '../../model/subscription/patch.js'
import type { Subscription } from '../../model/subscription/subscription.js'
import type { Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { Unavailable } from '../front-end/broker.js'
import type { StatePage } from '../front-end/partition-readers.js'

/** The parts that notifications about the state of entities are made with. */
export interface StateParts {
  readonly state: (query: Query) => Promise<Result<StatePage, Unavailable>>
  readonly legacyBody: NoticeRenderer
  /** Renders the messages in the forms of NGSIv2. */
  readonly message: MessageRenderer
  /** The most entities that a notification shows. */
  readonly limit: number
}

/** A message has no more paths than a broker that receives it takes [subscriptions 6.2]. */
const mostPaths = 10

/**
 * What an initial notification or a tick shows: the entities that match and have something to show, oldest first
 * [subscriptions 3.5, 3.6]. None when one of the triggering attributes is asked for and nothing has any.
 */
export async function stateToShow(
  { state, limit }: Pick<StateParts, 'state' | 'limit'>,
  subscription: Subscription,
  triggering: readonly string[],
): Promise<Result<StatePage, Unavailable>> {
  const { tenant, path, terms } = subscription
  const scopes = [...subscription.scopes, ...(terms?.condition?.scopes ?? [])]
  // What a form of NGSIv2 shows does not decide what is shown, nor do names of what is left out.
  const isList = isLegacy(subscription) && !termsOf(subscription).notification.excepts
  const attributes = isList ? subscription.attributes : []
  const selectors = selectorsMeant(subscription)
  const all = { tenant, paths: [path], selectors, order: [], offset: 0, counted: false }
  const triggers = holdingAny(triggering)
  for (const [at, holding] of triggers.entries()) {
    const trigger = await state({ ...all, ...holding, limit: 1 })
    if (!trigger.ok) return trigger
    if (trigger.value.entities.length > 0) break
    if (at === triggers.length - 1) return trigger
  }
  return state({ ...all, attributes, scopes, limit })
}

/** By the rules of NGSIv1 an entity without type matches whatever the type of a selector is [subscriptions 3.1, point 4]. */
function selectorsMeant({ selectors, terms }: Subscription): readonly Selector[] {
  if (terms?.condition !== undefined) return selectors
  return selectors.flatMap((each) => (each.type === undefined ? [each] : [each, { ...each, type: untyped }]))
}

/** Queries that together find what has one of these attributes. The name `*` is one like any other, though not in a query. */
function holdingAny(names: readonly string[]): readonly Pick<Query, 'attributes' | 'scopes'>[] {
  const others = names.filter((name) => name !== '*')
  return [
    ...(others.length === 0 ? [] : [{ attributes: others, scopes: [] }]),
    ...(others.length === names.length ? [] : [{ attributes: [], scopes: [hasStar] }]),
  ]
}

const hasStar: Scope = {
  kind: 'filter',
  filter: { on: 'attributes', dialect: 'ngsi1', statements: [{ path: ['*'], condition: { kind: 'exists' } }] },
}

/** The notices about entities as they are: one, or several where one would name too many paths. */
export function noticesAbout(
  entities: readonly Entity[],
  subscription: Subscription,
  { legacyBody, message }: Pick<StateParts, 'legacyBody' | 'message'>,
  common: {
    readonly orderingKey: OrderingKey
    readonly made: Milliseconds
    readonly origin: Origin
    readonly after?: readonly NoticeNumber[]
  },
): readonly Notice[] {
  const { orderingKey, made, origin, after } = common
  const { id, tenant } = subscription
  const whole = showingAll(subscription)
  if (!isLegacy(subscription)) return messagesAbout(entities, whole, message, common)
  const terms = bodyTermsOf(whole)
  const shown = entities.map((entity) => legacyEntity(terms, stateOf(tenant, entity)))
  return portions(shown).map((portion) => ({
    subscription: id,
    orderingKey,
    made,
    tenant,
    paths: portion.map(({ path }) => path),
    correlator: origin.correlator,
    token: origin.token,
    service: origin.service,
    body: legacyBody({ id, attributes: [] }, portion),
    after,
  }))
}

type Common = Parameters<typeof noticesAbout>[3]

/** A subscription that shows all that it selects, not only what a request contained [NGSIv2 subscriptions 9]. */
function showingAll(subscription: Subscription): Subscription {
  const terms = termsOf(subscription)
  return { ...subscription, terms: { ...terms, notification: { ...terms.notification, onlyChanged: false } } }
}

/** In the forms of NGSIv2 each entity has a notice of its own [NGSIv2 subscriptions 9]. */
function messagesAbout(
  entities: readonly Entity[],
  subscription: Subscription,
  message: MessageRenderer,
  { orderingKey, made, origin, after }: Common,
): readonly Notice[] {
  const { id, tenant } = subscription
  // The step budget of the templates of one change.
  const budget = new StepBudget(maxSteps)
  return entities.flatMap((entity, at) => {
    const rendered = renderedMessage(message, subscription, stateOf(tenant, entity), { origin, time: made }, budget)
    if (rendered === undefined) return []
    const correlator = `${origin.correlator}; cbnotif=${at + 1}`
    const { token, service } = origin
    const from = { correlator, token, service }
    return [{ subscription: id, orderingKey, made, tenant, paths: [entity.path], ...from, after, ...rendered }]
  })
}

function portions(entities: readonly Entity[]): readonly (readonly Entity[])[] {
  const root = '/' as ServicePath
  if (entities.length === 0) return []
  if (entities.every(({ path }) => path === root)) return [entities]
  const number = Math.ceil(entities.length / mostPaths)
  return Array.from({ length: number }, (_, at) => entities.slice(at * mostPaths, (at + 1) * mostPaths))
}
