/** Digits are grouped, since figures of a broker are large. */
const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** A number of things: `18,204`; large ones as `1.2 M`. */
export function countText(count: number): string {
  if (Math.abs(count) < 1e7) return grouped.format(count)
  return `${threeDigits(count / (count < 1e9 ? 1e6 : 1e9))} ${count < 1e9 ? 'M' : 'G'}`
}

/** A rate per second: small ones with a decimal. */
export function rateText(perSecond: number): string {
  return perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : countText(Math.round(perSecond))
}

/** A share as a percentage. */
export function shareText(share: number): string {
  return `${Math.round(100 * share)} %`
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** A size in units of a thousand: `1.1 GB`. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 999.5 && unit < byteUnits.length - 1) [value, unit] = [value / 1000, unit + 1]
  return `${unit === 0 ? String(Math.round(value)) : threeDigits(value)} ${byteUnits[unit]}`
}

/** A duration given in seconds, in the unit that suits it: `7.8 ms`. */
export function durationText(duration_s: number): string {
  if (!Number.isFinite(duration_s)) return '–'
  if (duration_s === 0) return '0'
  if (duration_s < 0.000_999_5) return `${threeDigits(duration_s * 1e6)} µs`
  if (duration_s < 0.9995) return `${threeDigits(duration_s * 1e3)} ms`
  return duration_s < 120 ? `${threeDigits(duration_s)} s` : spanText(duration_s)
}

/** A span of time in its two largest units: `3 d 4 h`. */
export function spanText(span_s: number): string {
  const seconds = Math.max(0, Math.floor(span_s))
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([number]) => number > 0)
  if (first === -1) return '0 s'
  return parts
    .slice(first, first + 2)
    .filter(([number]) => number > 0)
    .map(([number, unit]) => `${number} ${unit}`)
    .join(' ')
}

/** A time of day: `14:02:07`. */
export function clockText(at_ms: number): string {
  return new Date(at_ms).toLocaleTimeString('en-GB')
}

/** When something began, to the minute: `19:15`, with the date if that was on another day. */
export function sinceText(at_ms: number, now_ms = Date.now()): string {
  const at = new Date(at_ms)
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  if (at.toDateString() === new Date(now_ms).toDateString()) return time
  return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`
}

/** Date and time in full, with the zone, for titles. */
export function exactText(at_ms: number): string {
  return new Date(at_ms).toISOString()
}

/** Why an attempt failed, without the word before it that says whether it is repeated; a number is the status of a response. */
export function reasonText(reason: string): string {
  const [, detail = reason] = /^(?:trouble|refused): (.+)$/s.exec(reason) ?? []
  return /^\d{3}$/.test(detail) ? `status ${detail}` : detail
}

function threeDigits(value: number): string {
  const digits = Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2
  return value.toFixed(digits)
}
