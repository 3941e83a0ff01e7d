import { err, ok, type Result } from '../result.js'
import { parseDate } from './date.js'
import type { Metadata, Value } from './entity.js'
import { isObject } from './value.js'

/** The types whose values are dates [NGSIv2 context 3.2]. */
export function isDateType(type: string): boolean {
  return type === 'DateTime' || type === 'ISO8601'
}

/** The type whose values may have forbidden characters; also the metadata, with value true, that allows them [NGSIv2 context 4.1]. */
const unrestricted = 'TextUnrestricted'

/** Whether the value of an attribute may have forbidden characters [NGSIv2 context 4.1]. */
export function isUnrestricted(type: string, metadata: readonly Metadata[]): boolean {
  return type === unrestricted || metadata.some(({ name, value }) => name === unrestricted && value === true)
}

/**
 * The value of an attribute of a date's type as it is stored: a date becomes an instant, null stays, `$min` and `$max` take
 * a date. Refuses everything else [NGSIv2 context 3.2, 3.3].
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
