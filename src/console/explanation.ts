import type { ShownSubscription } from '../broker/broker.js'
import type { Entity, Tenant } from '../context/entity.js'
import type { Cause, Change } from '../subscription/change.js'
import type { Matcher } from '../subscription/matcher.js'
import type { Subscription } from '../subscription/subscription.js'
import { type Alteration, alterations } from '../subscription/terms.js'
import { dateText, type Milliseconds } from '../time.js'
import { conditionsOf, plainOf, type TriedCondition } from './explained-conditions.js'
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
