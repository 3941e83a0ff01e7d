import { Effort, maxSteps } from '../context/effort.js'
import type { Entity } from '../context/entity.js'
import { compileQuery } from '../context/match.js'
import type { Scope } from '../context/query.js'
import type { Cause, Change } from './change.js'
import type { Subscription } from './subscription.js'

/** Whether an expression of templates is true of the entity of a change; false when that takes more than the effort has [NGSIv2 subscriptions 4.1, 6.3]. */
export type ConditionEvaluator = (expression: string, change: Change, cause: Cause, effort: Effort) => boolean

/**
 * What tells whether the selectors and the expression of a subscription by the rules of NGSIv2 hold for the entity of a change;
 * nothing for one that has no expression and means what the index finds for it [NGSIv2 subscriptions 4.1]. They do not when that
 * takes more steps than there may be, or than the effort of the change has left.
 */
export function acceptanceOf(subscription: Subscription, ofChange: Effort): ((change: Change) => boolean) | undefined {
  const { terms, tenant, path, selectors } = subscription
  const condition = terms?.condition
  if (condition === undefined) return undefined
  const effort = new Effort(maxSteps, ofChange)
  const matches = compileQuery(
    {
      ...{ tenant, paths: [path], selectors, attributes: [], scopes: condition.scopes },
      ...{ order: [], offset: 0, limit: 0, counted: false },
    },
    effort,
  )
  const needed = attributesNeeded(condition.scopes)
  return ({ entity }) => {
    effort.renew()
    if (needed.some((name) => !hasAttribute(entity, name))) return false
    return matches(entity) && !effort.isSpent
  }
}

/**
 * The attributes that statements of `mq` are about. Other than in a query, where metadata of an attribute that is absent are
 * absent, too, none of them holds without its attribute [NGSIv2 subscriptions 4.1].
 */
function attributesNeeded(scopes: readonly Scope[]): readonly string[] {
  return scopes.flatMap((scope) => {
    if (scope.kind !== 'filter' || scope.filter.on !== 'metadata') return []
    return scope.filter.statements.flatMap(({ path: [name = ''] }) => name)
  })
}

function hasAttribute({ attributes }: Entity, wanted: string): boolean {
  return attributes.some(({ name }) => name === wanted)
}
