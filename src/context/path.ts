import type { Value } from './entity.js'

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

/** Whether a value is a array. */
export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}
