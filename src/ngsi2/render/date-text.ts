import type { Milliseconds } from '../../time.js'

/** A date as responses have it: ISO 8601, UTC, with milliseconds [NGSIv2 subscriptions 1.3]. */
export function dateText(date: Milliseconds): string {
  return new Date(date).toISOString()
}
