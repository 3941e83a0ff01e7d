import type { Steps } from '../../slices.js'
import type { ExpressionHolder } from '../expression/expressions.js'
import { macrosIn, readJsonTemplate } from '../expression/json-template.js'
import { hasMacro, macrosOf } from '../expression/macros.js'
import { jsonOf } from './custom-message.js'
import { versionsOf } from './decisions.js'
import type { Subscription } from './subscription.js'

/**
 * The expressions that are evaluated for a change that triggers a subscription: its condition, and those in all texts of its
 * template, repeated ones included [NGSIv2 subscriptions 4.1, 6.1].
 */
export function expressionsOf({ reference, terms }: Pick<Subscription, 'reference' | 'terms'>): readonly string[] {
  const found: string[] = []
  if (terms === undefined) return found
  const { condition, notification } = terms
  if (condition?.jexl !== undefined) found.push(condition.jexl)
  const { target } = notification
  if (target.custom === undefined) return found
  if (target.kind === 'mqtt') gatherMacros(target.topic, found)
  else {
    gatherMacros(reference, found)
    for (const pairs of [target.custom.qs ?? {}, target.custom.headers ?? {}]) {
      for (const [name, value] of Object.entries(pairs)) {
        gatherMacros(name, found)
        gatherMacros(value, found)
      }
    }
  }
  const { payload, ngsi } = target.custom
  if (typeof payload === 'string') gatherMacros(payload, found)
  for (const json of [jsonOf(target.custom), ngsi && readJsonTemplate(ngsi)]) {
    if (json !== undefined) for (const text of macrosIn(json)) found.push(text)
  }
  return found
}

function gatherMacros(text: string, found: string[]): void {
  if (hasMacro(text)) for (const expression of macrosOf(text)) found.push(expression)
}

/**
 * Parses the expressions of all versions of a subscription, in steps, so that the subscription comes into force at once; gives
 * the function that releases them.
 */
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
