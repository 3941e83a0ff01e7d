import { err, ok, type Result } from '../../result.js'

const durationPattern =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/

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
  const amounts = text === 'P' ? null : durationPattern.exec(text)
  if (amounts === null) return err({ kind: 'durationMalformed' })
  const seconds = units_s.reduce((sum, unit_s, at) => sum + Number(amounts[at + 1] ?? 0) * unit_s, 0)
  return ok(Math.min(Math.round(seconds) * 1000, longest_ms))
}

/** Schemes, host and port are those of RFC 3986; a host may have underscores, as names of containers do. */
const url = /^https?:\/\/(?:(?<name>[^/?#:[\]]+)|\[[0-9a-f:.]+\])(?::(?<port>\d{1,5}))?(?:[/?#][^\s\p{Cc}]*)?$/iu

const label = /^(?!-)[\w-]{1,63}(?<!-)$/
const longestName = 253
const highestPort = 65_535

/**
 * Whether notifications can be posted to a reference: a URL of http or https with a legal host name and a port from 1 to
 * 65535, or none [subscriptions 2.1.1].
 */
export function isReference(text: string): boolean {
  const parts = url.exec(text)?.groups
  if (parts === undefined) return false
  const { name, port } = parts
  const hostIsLegal = name === undefined || isHostName(name)
  const portIsLegal = port === undefined || (Number(port) >= 1 && Number(port) <= highestPort)
  // Addresses such as 10.0.0.256 look like names; whoever sends would not take them.
  return hostIsLegal && portIsLegal && URL.canParse(text)
}

function isHostName(name: string): boolean {
  return (
    name.length <= longestName &&
    name
      .replace(/\.$/, '')
      .split('.')
      .every((part) => label.test(part))
  )
}
