import type { ShownSubscription } from '../../broker/front-end/broker.js'
import type { Entity, Tenant, Value } from '../../model/context/entity.js'
import { locationAttribute } from '../../model/context/location.js'
import { pathRangeText, type Scope, type Selector } from '../../model/context/query.js'
import { everywhere } from '../../model/context/scope-headers.js'
import type { Cause, Change } from '../../model/subscription/change.js'
import type { Matcher } from '../../model/subscription/matcher.js'
import { termsOf } from '../../model/subscription/patch.js'
import type { Subscription } from '../../model/subscription/subscription.js'
import {
  type Alteration,
  alterations,
  type FiringCondition,
  type SubscriptionTerms,
} from '../../model/subscription/terms.js'
import { dateText, type Milliseconds, never } from '../../time.js'
import { selectorShown } from '../ngsi2/render/shown-resources.js'
import type { ExplainedCondition, Explanation } from './shapes.js'

/** The changes that can be tried. */
export const imaginedChanges: readonly Alteration[] = alterations

/** The change that is tried. */
export interface ExplainedChange {
  readonly tenant: Tenant
  /** The changed attributes; undefined for all of the entity. */
  readonly attributes: readonly string[] | undefined
  readonly change: Alteration
  readonly at: Milliseconds
}

export interface ExplainingParts {
  readonly newMatcher: () => Matcher
  /** Limit of notices that wait for one subscription. */
  readonly queueMax: number
}

/**
 * Tries a change of an entity with a matcher like those of the partitions: on the whole subscription, then on each of its
 * conditions alone, as a subscription without other conditions.
 */
export function explanationOf(
  shown: ShownSubscription,
  entity: Entity,
  explained: ExplainedChange,
  { newMatcher, queueMax }: ExplainingParts,
): Explanation {
  const { subscription, delivery } = shown
  const { lastNotification = 0 as Milliseconds } = delivery
  const change = changeImagined(entity, explained)
  const outcomeOf = (alone: Subscription): string | undefined => {
    const matcher = newMatcher()
    matcher.put({ subscription: alone, clock: { moments: new BigInt64Array([BigInt(lastNotification)]), at: 0 } })
    const outcomes = matcher.outcomes(change, causeImagined(explained.at))
    matcher.remove(alone.id)
    return outcomes.has(alone.id) ? outcomes.get(alone.id) : 'not meant'
  }
  const untriggered = subscription.onChange === undefined ? 'not triggered' : outcomeOf(subscription)
  const ofDelivery = deliveryConditions(shown, queueMax)
  const why = untriggered ?? whyNotSent(ofDelivery)
  const plain = plainOf(subscription, explained.tenant)
  const fits = (requires: TriedCondition['requires']): boolean => {
    const outcome = outcomeOf({ ...plain, ...requires })
    // Whether attributes are shown is a condition of its own; an entity without attributes must not fail all others.
    return outcome === undefined || (outcome === 'nothing to show' && requires.attributes === undefined)
  }
  const tried = conditionsOf(subscription, plain, change, lastNotification, explained.at)
  return {
    id: entity.id,
    type: entity.type,
    servicePath: entity.path,
    wouldNotify: why === undefined,
    why,
    conditions: [...tried.map(({ requires, ...condition }) => ({ ...condition, fits: fits(requires) })), ...ofDelivery],
  }
}

/** An update that leaves the entity as it is but counts the named attributes as changed. */
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

/** Whether a matching notice would be sent at once: the receiver is not paused, and the outbox has room. */
function deliveryConditions({ delivery }: ShownSubscription, queueMax: number): readonly ExplainedCondition[] {
  const { nextAttempt, failsCounter, lastFailureReason, queueDepth } = delivery
  return [
    {
      condition: 'receiver',
      fits: nextAttempt === undefined,
      required: 'not paused after failed attempts',
      held:
        nextAttempt === undefined
          ? 'not paused'
          : { nextAttempt: dateText(nextAttempt), failsCounter, lastFailureReason },
    },
    {
      condition: 'outbox',
      fits: queueDepth < queueMax,
      required: `fewer than ${queueMax} waiting`,
      held: `${queueDepth} waiting`,
    },
  ]
}

/** Why a notice that is made would not be sent at once; undefined when it would be. */
function whyNotSent(conditions: readonly ExplainedCondition[]): string | undefined {
  const held = conditions.find(({ fits }) => !fits)
  if (held === undefined) return undefined
  return held.condition === 'receiver' ? 'the receiver is paused after failed attempts' : 'the outbox is full'
}

/** A condition to try, with the parts of a subscription that has no other condition. */
interface TriedCondition extends Omit<ExplainedCondition, 'fits'> {
  readonly requires: Partial<Subscription>
}

/** The subscription without conditions, for a tenant: each change of each entity triggers it. The rules of its NGSI version remain. */
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

/** The conditions of a subscription in the order of the matcher, each with what the change has to offer. */
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
    { condition: 'tenant', requires: { tenant }, required: tenant, held: change.tenant },
    { condition: 'servicePath', requires: { path }, required: pathRangeText(path), held: entity.path },
    ...selectorConditions(subscription.selectors, entity),
    {
      condition: 'changed attributes',
      requires: { onChange },
      required: onChange === undefined ? 'no change fires it' : onChange.length === 0 ? 'any' : onChange,
      held: change.changed,
    },
    ...termsConditions(subscription, plain, change),
    {
      condition: 'attributes to show',
      requires: { attributes, ...showing },
      required: attributes.length === 0 ? 'any' : notification.excepts ? { except: attributes } : attributes,
      held: names,
    },
    ...statusConditions(subscription, plain),
    {
      condition: 'expiry',
      requires: { expires },
      required: expires >= never ? 'never' : dateText(expires),
      held: dateText(at),
    },
    {
      condition: 'throttling',
      requires: { throttling_ms },
      required: throttling_ms === 0 ? 'none' : { seconds: throttling_ms / 1000 },
      held: lastNotification === 0 ? 'never notified' : { lastNotification: dateText(lastNotification) },
    },
  ]
}

/** At most this many selectors are shown. */
const mostSelectors = 20

/** A single selector is split into id and type. */
function selectorConditions(selectors: readonly Selector[], { id, type }: Entity): readonly TriedCondition[] {
  const [only] = selectors
  if (selectors.length !== 1 || only === undefined) {
    const required = selectors.slice(0, mostSelectors).map(selectorShown)
    return [{ condition: 'entities', requires: { selectors }, required, held: { id, type } }]
  }
  const { id: ofId, ...ofType } = only
  const idText = ofId.kind === 'exact' ? ofId.id : ofId.kind === 'pattern' ? { idPattern: ofId.pattern } : 'any'
  const { typePattern } = ofType
  const typeText = typePattern === undefined ? (ofType.type ?? 'any') : { typePattern }
  return [
    { condition: 'id', requires: { selectors: [{ id: ofId, type: undefined }] }, required: idText, held: id },
    { condition: 'type', requires: { selectors: [{ ...anyEntity, ...ofType }] }, required: typeText, held: type },
  ]
}

function termsConditions({ terms }: Subscription, plain: Subscription, change: Change): readonly TriedCondition[] {
  const condition = terms?.condition
  const { terms: plainTerms } = plain
  if (condition === undefined || plainTerms === undefined) return []
  const asking = (part: Partial<FiringCondition>): TriedCondition['requires'] => ({
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
      requires: asking({ alterations }),
      required: alterations,
      held: held[change.kind],
    })
  }
  for (const scope of scopes) {
    const requires = asking({ scopes: [scope] })
    if (scope.kind !== 'filter')
      tried.push({ condition: 'place', requires, required: place, held: placeOf(change.entity) })
    else {
      const isOfMetadata = scope.filter.on === 'metadata'
      const held = valuesOf(change.entity, scope)
      tried.push({ condition: isOfMetadata ? 'mq' : 'q', requires, required: isOfMetadata ? mq : q, held })
    }
  }
  if (jexl !== undefined)
    tried.push({ condition: 'jexlExpression', requires: asking({ jexl }), required: jexl, held: 'the entity' })
  return tried
}

function statusConditions({ terms }: Subscription, plain: Subscription): readonly TriedCondition[] {
  if (terms === undefined || plain.terms === undefined) return []
  const { status, armed } = terms
  return [
    {
      condition: 'status',
      requires: { terms: { ...plain.terms, status, armed } },
      required: status === 'oneshot' ? `oneshot, not notified since ${dateText(armed)}` : 'active',
      held: status,
    },
  ]
}

/** Longer values are cut. */
const longestValue_characters = 1000

/** The values that a filter compares, by name of their attribute. */
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
