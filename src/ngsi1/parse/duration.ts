import { err, ok, type Result } from '../../result.js'

const pattern = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/

/** Seconds of the units in the order of the pattern: a year has 365 days, a month 30. */
const units_s = [31_536_000, 2_592_000, 604_800, 86_400, 3_600, 60, 1]

/** About 200,000 years; what is added to the date of now is still a date that can be written. */
const longest_ms = 6_000_000_000_000_000

/**
 * A duration, throttling or time interval in milliseconds, by whole seconds; nothing for the empty text, which counts as
 * not given. Refuses what is no ISO 8601 duration [subscriptions 1.5].
 */
export function parseDuration(text: string): Result<number | undefined, { readonly kind: 'durationMalformed' }> {
  if (text === '') return ok(undefined)
  const amounts = text === 'P' ? null : pattern.exec(text)
  if (amounts === null) return err({ kind: 'durationMalformed' })
  const seconds = units_s.reduce((sum, unit_s, at) => sum + Number(amounts[at + 1] ?? 0) * unit_s, 0)
  return ok(Math.min(Math.round(seconds) * 1000, longest_ms))
}
