import { hasForbidden } from '../../context/characters.js'
import { parseDate } from '../../context/date.js'
import { err, ok, type Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import { type Given, refuse } from './checked.js'

/** What a payload says, if it is JSON. */
export function parsedJson(body: string): Result<Given, undefined> {
  try {
    return ok(JSON.parse(body))
  } catch {
    return err(undefined)
  }
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
