import type { ShownSubscription } from '../broker/broker.js'
import type { Entity, Tenant, Value } from '../context/entity.js'
import { locationAttribute } from '../context/location.js'
import type { Scope, Selector } from '../context/query.js'
import { everywhere } from '../context/scope-headers.js'
import { pathRangeText } from '../management/subscription-states.js'
import { selectorShown } from '../ngsi2/render/shown-resources.js'
import type { Cause, Change } from '../subscription/change.js'
import type { Matcher } from '../subscription/matcher.js'
import { termsOf } from '../subscription/patch.js'
import type { Subscription } from '../subscription/subscription.js'
import { type Alteration, alterations, type FiringCondition, type SubscriptionTerms } from '../subscription/terms.js'
import { dateText, type Milliseconds, never } from '../time.js'
import type { ExplainedCondition, Explanation } from './shapes.js'

/** What may be imagined to happen to the entity. */
export const imaginedChanges: readonly Alteration[] = alterations

/** What is asked: of which change it is to be explained whether it would be notified. */
export interface ExplainedChange {
  readonly tenant: Tenant
  /** The attributes that change; all of the entity's without them. */
  readonly attributes: readonly string[] | undefined
  readonly change: Alteration
  readonly at: Milliseconds
}

/** What it is explained with. */
export interface ExplainingParts {
  readonly newMatcher: () => Matcher
  /** Notices that may wait for one subscription. */
  readonly queueMax: number
}

/**
 * Tries a change of an entity on a subscription with a matcher of the partitions: on the whole of it, and on each of its
 * conditions alone, with a subscription that asks for nothing else.
 */
export function explanationOf(
  shown: ShownSubscription,
  entity: Entity,
  asked: ExplainedChange,
  { newMatcher, queueMax }: ExplainingParts,
): Explanation {
  const { subscription, delivery } = shown
  const { lastNotification = 0 as Milliseconds } = delivery
  const change = changeImagined(entity, asked)
  const outcomeOf = (alone: Subscription): string | undefined => {
    const matcher = newMatcher()
    matcher.put({ subscription: alone, clock: { moments: new BigInt64Array([BigInt(lastNotification)]), at: 0 } })
    const outcomes = matcher.outcomes(change, causeImagined(asked.at))
    matcher.remove(alone.id)
    return outcomes.has(alone.id) ? outcomes.get(alone.id) : 'not meant'
  }
  const why = subscription.onChange === undefined ? 'not triggered' : outcomeOf(subscription)
  const plain = plainOf(subscription, asked.tenant)
  const fits = (asks: TriedCondition['asks']): boolean => {
    const outcome = outcomeOf({ ...plain, ...asks })
    // An entity without attributes has nothing to show to any of them.
    return outcome === undefined || (outcome === 'nothing to show' && asks.attributes === undefined)
  }
  const tried = conditionsOf(subscription, plain, change, lastNotification, asked.at)
  return {
    id: entity.id,
    type: entity.type,
    servicePath: entity.path,
    wouldNotify: why === undefined,
    why,
    conditions: [
      ...tried.map(({ asks, ...condition }) => ({ ...condition, fits: fits(asks) })),
      ...deliveryConditions(shown, queueMax),
    ],
  }
}

/** An update of the entity as it is, by which all that is named counts as changed. */
function changeImagined(entity: Entity, { tenant, attributes, change }: ExplainedChange): Change {
  const names = [...new Set(entity.attributes.map(({ name }) => name))]
  const changed = attributes ?? names
  const given = entity.attributes.filter(({ name }) => changed.includes(name))
  const common = { tenant, entity, before: entity, changed, given, isForced: true }
  if (change === 'entityCreate') return { ...common, kind: 'put', before: undefined }
  if (change === 'entityDelete') return { ...common, kind: 'remove', changed: [], given: [] }
  return change === 'entityUpdate' ? { ...common, kind: 'same', changed: [] } : { ...common, kind: 'put' }
}

function causeImagined(time: Milliseconds): Cause {
  return { time, origin: { correlator: 'N/A', token: '' } }
}

/** A notice that is made waits in the outbox of its subscription, until its receiver is tried again. */
function deliveryConditions({ delivery }: ShownSubscription, queueMax: number): readonly ExplainedCondition[] {
  const { nextAttempt, failsCounter, lastFailureReason, queueDepth } = delivery
  return [
    {
      condition: 'receiver',
      fits: nextAttempt === undefined,
      asked: 'not paused after failed attempts',
      held:
        nextAttempt === undefined
          ? 'not paused'
          : { nextAttempt: dateText(nextAttempt), failsCounter, lastFailureReason },
    },
    {
      condition: 'outbox',
      fits: queueDepth < queueMax,
      asked: `fewer than ${queueMax} waiting`,
      held: `${queueDepth} waiting`,
    },
  ]
}

/** A condition that is to be tried: what a subscription asks that asks for nothing else. */
interface TriedCondition extends Omit<ExplainedCondition, 'fits'> {
  readonly asks: Partial<Subscription>
}

/** The same subscription as one of this tenant that every change of every entity fires, by the rules of the same interface. */
function plainOf(subscription: Subscription, tenant: Tenant): Subscription {
  const { terms } = subscription
  const condition = terms?.condition && plainCondition
  const plain: SubscriptionTerms | undefined = terms && { ...termsOf({}), condition }
  return {
    ...subscription,
    tenant,
    path: everywhere,
    selectors: [anyEntity],
    attributes: [],
    expires: never,
    throttling_ms: 0,
    onChange: [],
    terms: plain,
  }
}

const anyEntity: Selector = { id: { kind: 'any' }, type: undefined }

const plainCondition: FiringCondition = {
  alterations: [],
  onMetadata: true,
  expression: {},
  scopes: [],
  jexl: undefined,
}

/** The conditions of a subscription, in the order in which they are asked, beside what a change brings. */
function conditionsOf(
  subscription: Subscription,
  plain: Subscription,
  change: Change,
  lastNotification: Milliseconds | 0,
  at: Milliseconds,
): readonly TriedCondition[] {
  const { tenant, path, onChange, attributes, expires, throttling_ms } = subscription
  const { notification } = termsOf(subscription)
  const { entity } = change
  const names = [...new Set(entity.attributes.map(({ name }) => name))]
  const showing = subscription.terms && plain.terms && { terms: { ...plain.terms, notification } }
  return [
    { condition: 'tenant', asks: { tenant }, asked: tenant, held: change.tenant },
    { condition: 'servicePath', asks: { path }, asked: pathRangeText(path), held: entity.path },
    ...selectorConditions(subscription.selectors, entity),
    {
      condition: 'changed attributes',
      asks: { onChange },
      asked: onChange === undefined ? 'no change fires it' : onChange.length === 0 ? 'any' : onChange,
      held: change.changed,
    },
    ...termsConditions(subscription, plain, change),
    {
      condition: 'attributes to show',
      asks: { attributes, ...showing },
      asked: attributes.length === 0 ? 'any' : notification.excepts ? { except: attributes } : attributes,
      held: names,
    },
    ...statusConditions(subscription, plain),
    {
      condition: 'expiry',
      asks: { expires },
      asked: expires >= never ? 'never' : dateText(expires),
      held: dateText(at),
    },
    {
      condition: 'throttling',
      asks: { throttling_ms },
      asked: throttling_ms === 0 ? 'none' : { seconds: throttling_ms / 1000 },
      held: lastNotification === 0 ? 'never notified' : { lastNotification: dateText(lastNotification) },
    },
  ]
}

/** Selectors that are shown. */
const mostSelectors = 20

/** Of one selector id and type by themselves. */
function selectorConditions(selectors: readonly Selector[], { id, type }: Entity): readonly TriedCondition[] {
  const [only] = selectors
  if (selectors.length !== 1 || only === undefined) {
    const asked = selectors.slice(0, mostSelectors).map(selectorShown)
    return [{ condition: 'entities', asks: { selectors }, asked, held: { id, type } }]
  }
  const { id: ofId, ...ofType } = only
  const idText = ofId.kind === 'exact' ? ofId.id : ofId.kind === 'pattern' ? { idPattern: ofId.pattern } : 'any'
  const { typePattern } = ofType
  const typeText = typePattern === undefined ? (ofType.type ?? 'any') : { typePattern }
  return [
    { condition: 'id', asks: { selectors: [{ id: ofId, type: undefined }] }, asked: idText, held: id },
    { condition: 'type', asks: { selectors: [{ ...anyEntity, ...ofType }] }, asked: typeText, held: type },
  ]
}

function termsConditions({ terms }: Subscription, plain: Subscription, change: Change): readonly TriedCondition[] {
  const condition = terms?.condition
  const { terms: plainTerms } = plain
  if (condition === undefined || plainTerms === undefined) return []
  const asking = (part: Partial<FiringCondition>): TriedCondition['asks'] => ({
    terms: { ...plainTerms, condition: { ...plainCondition, ...part } },
  })
  const { alterations, scopes, expression, jexl } = condition
  const { q, mq, ...place } = expression
  const tried: TriedCondition[] = []
  if (alterations.length > 0) {
    const held = {
      put: change.before === undefined ? 'entityCreate' : 'entityChange',
      same: 'entityUpdate',
      remove: 'entityDelete',
    }
    tried.push({
      condition: 'alteration types',
      asks: asking({ alterations }),
      asked: alterations,
      held: held[change.kind],
    })
  }
  for (const scope of scopes) {
    const asks = asking({ scopes: [scope] })
    if (scope.kind !== 'filter') tried.push({ condition: 'place', asks, asked: place, held: placeOf(change.entity) })
    else {
      const isOfMetadata = scope.filter.on === 'metadata'
      const held = valuesOf(change.entity, scope)
      tried.push({ condition: isOfMetadata ? 'mq' : 'q', asks, asked: isOfMetadata ? mq : q, held })
    }
  }
  if (jexl !== undefined)
    tried.push({ condition: 'jexlExpression', asks: asking({ jexl }), asked: jexl, held: 'the entity' })
  return tried
}

function statusConditions({ terms }: Subscription, plain: Subscription): readonly TriedCondition[] {
  if (terms === undefined || plain.terms === undefined) return []
  const { status, armed } = terms
  return [
    {
      condition: 'status',
      asks: { terms: { ...plain.terms, status, armed } },
      asked: status === 'oneshot' ? `oneshot, not notified since ${dateText(armed)}` : 'active',
      held: status,
    },
  ]
}

/** Longer values are cut: what they begin with tells enough. */
const longestValue_characters = 1000

/** The attributes that a filter looks at. */
function valuesOf({ attributes }: Entity, { filter }: Extract<Scope, { kind: 'filter' }>): object {
  const names = new Set(filter.statements.map(({ path: [name = ''] }) => name))
  const held = attributes.filter(({ name }) => names.has(name))
  return Object.fromEntries(
    held.map(({ name, value, metadata }) => [
      name,
      filter.on === 'attributes'
        ? cut(value)
        : Object.fromEntries(metadata.map((each) => [each.name, cut(each.value)])),
    ]),
  )
}

function placeOf(entity: Entity): unknown {
  const location = locationAttribute(entity)
  return location === undefined ? 'no location' : { [location.name]: cut(location.value) }
}

function cut(value: Value): Value {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= longestValue_characters ? value : `${text.slice(0, longestValue_characters)} (...)`
}
