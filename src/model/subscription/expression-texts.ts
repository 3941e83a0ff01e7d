import { atOnce, mapInSlices, type Steps } from '../../slices.js'
import type { ExpressionHolder } from '../expression/expressions.js'
import { macrosIn } from '../expression/json-template.js'
import { macrosOf } from '../expression/macros.js'
import { jsonRead } from './custom-message.js'
import { versionsOf } from './decisions.js'
import type { Subscription } from './subscription.js'

/**
 * The expressions that are evaluated for a change that triggers a subscription: its condition, and those in all texts of its
 * template, repeated ones included [NGSIv2 subscriptions 4.1, 6.1].
 */
export function* expressionsOf({ reference, terms }: Pick<Subscription, 'reference' | 'terms'>): Generator<string> {
  if (terms === undefined) return
  const { condition, notification } = terms
  if (condition?.jexl !== undefined) yield condition.jexl
  const { target } = notification
  if (target.custom === undefined) return
  if (target.kind === 'mqtt') yield* macrosOf(target.topic)
  else {
    yield* macrosOf(reference)
    for (const pairs of [target.custom.qs ?? {}, target.custom.headers ?? {}]) {
      for (const [name, value] of Object.entries(pairs)) {
        yield* macrosOf(name)
        yield* macrosOf(value)
      }
    }
  }
  const { payload } = target.custom
  if (typeof payload === 'string') yield* macrosOf(payload)
  const json = atOnce(jsonRead(target.custom))
  if (json !== undefined) yield* macrosIn(json)
}

/**
 * Parses the expressions of all versions of a subscription, in steps, and keeps them parsed until the function that it gives is
 * called. That releases many of them in slices, later.
 */
export function* expressionsRead(record: Subscription, expressions: ExpressionHolder): Steps<() => void> {
  const { standing, proposed } = versionsOf(record)
  const held: string[] = []
  for (const version of [standing, proposed]) {
    if (version === undefined) continue
    const { custom } = version.subscription.terms?.notification.target ?? {}
    if (custom !== undefined) yield* jsonRead(custom)
    for (const text of expressionsOf(version.subscription)) {
      expressions.hold(text)
      held.push(text)
      yield
    }
  }
  return () => {
    mapInSlices(held, (text) => expressions.release(text))
  }
}
