import { Effort, maxSteps } from '../context/effort.js'
import { compileQuery } from '../context/match.js'
import type { Scope } from '../context/query.js'
import type { Cause, Change } from './change.js'
import { indexOf } from './change-index.js'
import type { Subscription } from './subscription.js'

/** Whether an expression of templates is true of the entity of a change; false when that takes more than the effort has [NGSIv2 subscriptions 4.1, 6.3]. */
export type ConditionEvaluator = (expression: string, change: Change, cause: Cause, effort: Effort) => boolean

/**
 * What tells whether the selectors and the expression of a subscription by the rules of NGSIv2 hold for the entity of a change;
 * nothing for one that has no expression and means what the index finds for it [NGSIv2 subscriptions 4.1]. They do not when that
 * takes more steps than it may.
 */
export function acceptanceOf(subscription: Subscription): ((change: Change, effort: Effort) => boolean) | undefined {
  const { terms, tenant, path, selectors } = subscription
  const condition = terms?.condition
  if (condition === undefined) return undefined
  const own = new Effort(maxSteps)
  const matches = compileQuery(
    {
      ...{ tenant, paths: [path], selectors, attributes: [], scopes: condition.scopes },
      ...{ order: [], offset: 0, limit: 0, counted: false },
    },
    own,
  )
  const needed = attributesNeeded(condition.scopes)
  return (change, effort) => {
    const most = effort.left
    own.renew(most)
    if (needed.some((name) => indexOf(change).after(name) === undefined)) return false
    const isMatch = matches(change.entity)
    return effort.spend(most - own.left) && isMatch
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
