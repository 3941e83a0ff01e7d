import { parseDate } from './date.js'
import type { Value } from './entity.js'

/** Whether two values are the same: kind and content, members of objects in any order, items of arrays in theirs [context 11]. */
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

/** A text that equal values share, and no others: one look into a set then tells whether an array has a value. */
export function canonical(value: Value): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(canonical).join()}]`
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`)
  return `{${members.sort().join()}}`
}

/**
 * A text as the attribute's type would have it, for clients who write numbers, booleans and dates as texts; what can
 * not be converted stays text [context 3.4]. Dates become seconds since 1970.
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

/** What stands in a compound value under these keys; nothing when there is no such member [context 7.4.2]. */
export function valueAt(value: Value, keys: readonly string[]): Value | undefined {
  let found: Value | undefined = value
  for (const key of keys) {
    if (found === undefined || !isObject(found)) return undefined
    found = Object.hasOwn(found, key) ? found[key] : undefined
  }
  return found
}

/** Whether a value is an object: no array and no scalar. */
export function isObject(value: Value): value is { readonly [key: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is an array. */
export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

const decimalForm = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/** The number that a text writes in decimal form, with or without an exponent; nothing for any other text or kind. */
export function parseDecimal(text: string): number | undefined {
  const number = decimalForm.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}
