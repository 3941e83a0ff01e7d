import type { Value } from '../context/entity.js'
import { isArray, isObject } from '../context/value.js'
import type { ExpressionHolder } from '../expression/expressions.js'
import { hasMacro, macrosOf } from '../expression/template.js'
import type { Steps } from '../slices.js'
import { versionsOf } from './decisions.js'
import type { Subscription } from './subscription.js'

/**
 * The expressions that a subscription asks to be evaluated for a change: its condition, and those in all texts of its template
 * [NGSIv2 subscriptions 4.1, 6.1]. One that stands in several places is given as often.
 */
export function* expressionsOf({ reference, terms }: Pick<Subscription, 'reference' | 'terms'>): Generator<string> {
  if (terms === undefined) return
  const { condition, notification } = terms
  if (condition?.jexl !== undefined) yield condition.jexl
  const { target } = notification
  if (target.custom === undefined) return
  if (target.kind === 'mqtt') yield* macrosIn(target.topic)
  else {
    yield* macrosIn(reference)
    for (const pair of Object.entries(target.custom.qs ?? {})) yield* macrosIn(pair)
    for (const pair of Object.entries(target.custom.headers ?? {})) yield* macrosIn(pair)
  }
  const { payload = null, json = null, ngsi = null } = target.custom
  yield* macrosIn(payload)
  yield* macrosIn(json)
  yield* macrosIn(ngsi)
}

/** The names of members are not filled in. */
function* macrosIn(template: Value): Generator<string> {
  if (typeof template === 'string') {
    if (hasMacro(template)) yield* macrosOf(template)
  } else if (isArray(template)) for (const item of template) yield* macrosIn(item)
  else if (isObject(template)) for (const member of Object.values(template)) yield* macrosIn(member)
}

/** Reads the expressions of all versions of a subscription, in steps, so that it comes into force at once; gives what lets go of them. */
export function* expressionsRead(record: Subscription, expressions: ExpressionHolder): Steps<() => void> {
  const { standing, proposed } = versionsOf(record)
  const held: string[] = []
  for (const version of [standing, proposed]) {
    if (version === undefined) continue
    for (const text of expressionsOf(version.subscription)) {
      expressions.hold(text)
      held.push(text)
      yield
    }
  }
  return () => {
    for (const text of held) expressions.release(text)
  }
}
