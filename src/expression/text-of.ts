import type { Value } from '../context/entity.js'

/** A value within a text: a text as it is, everything else as JSON [NGSIv2 subscriptions 6.2]. */
export function textOf(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
