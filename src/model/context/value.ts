import { err, ok, type Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { Entity, Metadata, Value } from './entity.js'

/** Whether two values are equal: members of objects in any order, items of arrays in theirs [context 11]. */
export function sameValue(a: Value, b: Value): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (isArray(a)) return isArray(b) && a.length === b.length && a.every((item, at) => sameValue(item, b[at] ?? null))
  if (isArray(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => sameMember(a, b, key))
}

function sameMember(a: { readonly [key: string]: Value }, b: { readonly [key: string]: Value }, key: string): boolean {
  const left = a[key]
  const right = Object.hasOwn(b, key) ? b[key] : undefined
  return left !== undefined && right !== undefined && sameValue(left, right)
}

/** A text that only equal values share: with a set of these, one look tells whether an array has a value. */
export function canonical(value: Value): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(canonical).join()}]`
  // Sorting the keys of tens of thousands of members takes a fraction of sorting their texts.
  const members = Object.keys(value).sort()
  return `{${members.map((key) => `${quote(key)}:${canonical(value[key] ?? null)}`).join()}}`
}

/**
 * Converts a text by the attribute's type, for clients that write numbers, booleans and dates as texts; a text that cannot be
 * converted stays [context 3.4]. Dates become seconds since 1970.
 */
export function castText(value: Value, type: string): Value {
  if (typeof value !== 'string') return value
  switch (type) {
    case 'Number':
    case 'Quantity':
      return /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value) && Number.isFinite(Number(value)) ? Number(value) : value
    case 'Boolean':
      return value === 'true' ? true : value === 'false' ? false : value
    case 'DateTime':
    case 'ISO8601':
      return parseDate(value) ?? value
    default:
      return value
  }
}

/** The type of an attribute or metadata element that has none, by the kind of its value [NGSIv2 context 2.2, 14.1]. */
function defaultTypeOf(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'Text'
    case 'number':
      return 'Number'
    case 'boolean':
      return 'Boolean'
    default:
      return value === null ? 'None' : 'StructuredValue'
  }
}

/** The type that clients of NGSIv2 see [NGSIv2 context 2.2, 14.1]. */
export function shownType({ type, value }: { readonly type: string; readonly value: Value }): string {
  return type === '' ? defaultTypeOf(value) : type
}

/** The value under these keys in a compound value; undefined when there is no such member [context 7.4.2]. */
export function valueAt(value: Value, keys: readonly string[]): Value | undefined {
  let found: Value | undefined = value
  for (const key of keys) {
    if (found === undefined || !isObject(found)) return undefined
    found = Object.hasOwn(found, key) ? found[key] : undefined
  }
  return found
}

/** Whether a value is an object, not an array or a scalar. */
export function isObject(value: Value): value is { readonly [key: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

const decimalForm = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/** Parses a decimal number, with or without an exponent; undefined for any other text. */
export function parseDecimal(text: string): number | undefined {
  const number = decimalForm.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** The types whose values are dates [NGSIv2 context 3.2]. */
export function isDateType(type: string): boolean {
  return type === 'DateTime' || type === 'ISO8601'
}

/**
 * The type whose values may have forbidden characters; also the name of the metadata that, with value true, allows them [NGSIv2
 * context 4.1].
 */
const unrestricted = 'TextUnrestricted'

/** Whether the value of an attribute may have forbidden characters [NGSIv2 context 4.1]. */
export function isUnrestricted(type: string, metadata: readonly Metadata[]): boolean {
  return type === unrestricted || metadata.some(({ name, value }) => name === unrestricted && value === true)
}

/**
 * The stored value of an attribute with a date's type: a date becomes seconds since 1970, null stays, `$min` and `$max` take a
 * date. Refuses everything else [NGSIv2 context 3.2, 3.3].
 */
export function dateValue(value: Value): Result<Value, 'noDate'> {
  if (value === null) return ok(null)
  if (typeof value === 'string') {
    const date = parseDate(value)
    return date === undefined ? err('noDate') : ok(date)
  }
  if (!isObject(value)) return err('noDate')
  const [member, ...others] = Object.entries(value)
  if (member === undefined || others.length > 0) return err('noDate')
  const [operator, given] = member
  const date = typeof given === 'string' ? parseDate(given) : undefined
  return (operator === '$min' || operator === '$max') && date !== undefined ? ok({ [operator]: date }) : err('noDate')
}

/** A stored date: seconds since 1970, with decimals for milliseconds. */
export type Seconds = number

const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d)(?:(:?)(\d\d)(?:(:?)(\d\d)(?:\.(\d+))?)?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?$/

/** The last millisecond of the year 9999. */
const last_ms = Date.UTC(10_000, 0) - 1

/** The most characters of a date. */
const maxCharacters = 29

/**
 * Parses an ISO 8601 date, in UTC unless it names its zone; fractions are cut to milliseconds [NGSIv2 context 3.3]. Undefined for
 * anything else: 30 February, a zone without a time, a year before 1900, a moment behind 9999 in UTC.
 */
export function parseDate(text: string): Seconds | undefined {
  if (text.length > maxCharacters) return undefined
  const parts = form.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour = 0, colon, minute = 0, otherColon = colon, second = 0, fraction = '', ...zone] =
    parts
  const [sign, zoneHour = 0, zoneMinute = 0] = zone
  if (otherColon !== colon) return undefined
  if (Number(year) < 1900 || Number(hour) > 23 || Number(zoneHour) > 23) return undefined
  if (Number(minute) > 59 || Number(second) > 59 || Number(zoneMinute) > 59) return undefined
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day))
  // Date takes a day that the month does not have for one of the next month.
  if (!new Date(midnight).toISOString().startsWith(`${year}-${month}-${day}`)) return undefined
  const local = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const ahead = (Number(zoneHour) * 3600 + Number(zoneMinute) * 60) * (sign === '-' ? -1 : 1)
  const time_ms = midnight + (local - ahead) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  // Its zone may lead beyond the years that have a text of this form.
  return time_ms > last_ms ? undefined : time_ms / 1000
}

const expirationName = 'dateExpires'

/** Whether an attribute of this name says when its entity expires [NGSIv2 context 3.4]. */
export function isExpiration(name: string): boolean {
  return name === expirationName
}

/**
 * When an entity is to be removed; undefined for one that stays, also when the expiration is null or a text [NGSIv2 context 3.4].
 */
export function expirationOf({ attributes }: Pick<Entity, 'attributes'>): Milliseconds | undefined {
  for (const attribute of attributes) {
    if (attribute.name !== expirationName || !isDateType(attribute.type)) continue
    // Reading materialises a large value: only this attribute is read.
    const { value } = attribute
    if (typeof value === 'number') return Math.round(value * 1000) as Milliseconds
  }
  return undefined
}

/**
 * JSON built by hand: most of a response is short texts that need no escape, for which this takes a third of the time of
 * `JSON.stringify`.
 */

/**
 * Everything but characters that stand for themselves in JSON. All surrogates are excluded, because half of a pair has to be
 * escaped.
 */
const needsEscape = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

export function quote(text: string): string {
  return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`
}

/**
 * Renders a value as JSON, by its kind; the number of a date, in seconds since 1970, as ISO 8601 [context 3.1], [NGSIv2 context
 * 3.1, 3.3].
 */
export function renderValue(value: Value, type: string): string {
  if (typeof value === 'string') return quote(value)
  return dateText(value, type) ?? JSON.stringify(value)
}

/** The ISO 8601 date of a value of this type, without quotation marks; undefined when it is not a date [NGSIv2 context 3.3]. */
export function plainDate(value: Value, type: string): string | undefined {
  if (typeof value !== 'number' || !isDateType(type)) return undefined
  const date = new Date(value * 1000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

function dateText(value: Value, type: string): string | undefined {
  const date = plainDate(value, type)
  return date === undefined ? undefined : `"${date}"`
}

/** A value for people: a text as it is, any other as JSON. */
export function valueText(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
