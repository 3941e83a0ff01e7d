import { hasForbidden } from '../../context/characters.js'
import { parseDate } from '../../context/date.js'
import { type JsonMalformed, parseJson } from '../../json-reader.js'
import type { Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import { type Given, refuse, tooDeepText } from './checked.js'

/** What a payload says, if it is JSON. Only within `checked`: refuses one that is nested too deep. */
export function parsedJson(body: string): Result<Given, JsonMalformed> {
  const parsed = parseJson(body)
  if (!parsed.ok && parsed.error.isTooDeep) refuse(tooDeepText)
  return parsed
}

const maxDescription_bytes = 1024

/** Reads a description; what is missing has none. `noText` is said of one that is no string [NGSIv2 subscriptions 2.2, 10]. */
export function readDescription(given: Given, noText: string): string | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'string') refuse(noText)
  if (Buffer.byteLength(given) > maxDescription_bytes) refuse('max description length exceeded')
  if (hasForbidden(given)) refuse('forbidden characters in description')
  return given
}

/** Reads a date, with what is said of one that is no string, and of one that is malformed [NGSIv2 subscriptions 1.3]. */
export function readDate(given: Given, noText: string, malformed: string): Milliseconds {
  if (typeof given !== 'string') refuse(noText)
  const seconds = parseDate(given)
  if (seconds === undefined) refuse(malformed)
  return Math.round(seconds * 1000) as Milliseconds
}
