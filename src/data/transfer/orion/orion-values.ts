import { Binary, Decimal128, Double, Int32, Long, ObjectId } from 'bson'
import { type Given, type GivenObject, isGivenObject, refuse } from '../../../api/ngsi2/parse/tree.js'
import { maxNesting } from '../../../json-reader.js'
import type { Value } from '../../../model/context/entity.js'
import { after, type Milliseconds, never } from '../../../time.js'

/** A name as clients see it: Orion stores `=` for a dot, which names in the database cannot have. */
export function decodedName(stored: string): string {
  return stored.replaceAll('=', '.')
}

/** A number in any of BSON's forms; undefined for other values. */
export function numberIn(given: Given): number | undefined {
  if (typeof given === 'number') return given
  if (typeof given === 'bigint') return Number(given)
  if (given instanceof Long) return given.toNumber()
  if (given instanceof Int32 || given instanceof Double) return given.valueOf()
  if (given instanceof Decimal128) return Number(given.toString())
  return undefined
}

/** A text; undefined for other values, such as the null of old versions for a missing type. */
export function textIn(given: Given): string | undefined {
  return typeof given === 'string' ? given.toWellFormed() : undefined
}

/** Whether a flag is set: old versions store the text `true`. */
export function isTrue(given: Given): boolean {
  return given === true || given === 'true'
}

/** A moment that is stored as seconds or as a BSON date; undefined where there is none. */
export function momentIn(given: Given): Milliseconds | undefined {
  if (given instanceof Date) return given.getTime() as Milliseconds
  const seconds = numberIn(given)
  return seconds === undefined || !Number.isFinite(seconds) ? undefined : (Math.round(seconds * 1000) as Milliseconds)
}

/** Later than any date that a client has chosen: versions of Orion store different ones for "never". */
const endless_s = 9_999_999_999

/** The moment of an end, or `never`. */
export function endIn(given: Given): Milliseconds {
  if (given instanceof Date) return given.getTime() as Milliseconds
  const seconds = numberIn(given)
  return seconds === undefined || seconds < 0 || seconds >= endless_s ? never : after(0 as Milliseconds, seconds * 1000)
}

/** The 24 digits of an id. */
export function idIn(given: Given): string {
  if (given instanceof ObjectId) return given.toHexString()
  if (typeof given === 'string' && /^[\da-f]{24}$/i.test(given)) return given.toLowerCase()
  return refuse('_id is no ObjectId')
}

/** The members of an object; refuses other values. */
export function objectIn(given: Given, what: string): GivenObject {
  return isGivenObject(given) && !(given instanceof ObjectId) && !(given instanceof Date)
    ? given
    : refuse(`${what} is not an object`)
}

/** The items of an array; none where it is missing. */
export function arrayIn(given: Given, what: string): readonly Given[] {
  if (given === undefined || given === null) return []
  return Array.isArray(given) ? given : refuse(`${what} is not an array`)
}

/** The texts of an array; none where it is missing. */
export function textsIn(given: Given, what: string): readonly string[] {
  return arrayIn(given, what).map((item) => textIn(item) ?? refuse(`${what} holds something that is not a text`))
}

/**
 * A value as clients see it, with dots in the names of compound values. A date becomes its number of seconds, as Orion stores its
 * own. Refuses values that no client can have stored.
 */
export function valueIn(given: Given, what: string, depth = 0): Value {
  if (depth > maxNesting) refuse(`${what} is nested deeper than ${maxNesting} levels`)
  if (given === null || given === undefined) return null
  if (typeof given === 'string') return given.toWellFormed()
  if (typeof given === 'boolean') return given
  if (given instanceof Date) return given.getTime() / 1000
  const number = numberIn(given)
  if (number !== undefined) return Number.isFinite(number) ? number : refuse(`${what} is no number: ${number}`)
  if (given instanceof ObjectId) return given.toHexString()
  if (given instanceof Binary) refuse(`${what} is binary`)
  if (Array.isArray(given)) return given.map((item) => valueIn(item, what, depth + 1))
  if (!isGivenObject(given)) refuse(`${what} is of a kind that JSON does not have`)
  if ('_bsontype' in given) refuse(`${what} is a ${String(given['_bsontype'])} of BSON, which JSON does not have`)
  const members = Object.entries(given)
  return Object.fromEntries(members.map(([name, value]) => [decodedName(name), valueIn(value, what, depth + 1)]))
}
