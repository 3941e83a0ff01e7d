import { err, ok, type Result } from '../result.js'
import type { Value } from './entity.js'
import { compareValues } from './order.js'
import { isArray, isObject } from './value.js'

/** What a value can ask to be done to the stored one, in place of being stored itself [NGSIv2 context 12]. */
const operators = ['$inc', '$mul', '$min', '$max', '$push', '$addToSet', '$pull', '$pullAll', '$set', '$unset'] as const
type Operator = (typeof operators)[number]

/** An object whose first key is an operator. */
interface Operation {
  readonly [key: string]: Value
}

/** Whether a key of a value names an operator. */
export function isOperator(key: string | undefined): key is Operator {
  return operators.some((operator) => operator === key)
}

/** Whether a value is an object whose first key is an operator: it is applied, not stored. */
export function isOperation(value: Value): value is Operation {
  return isObject(value) && isOperator(Object.keys(value)[0])
}

/** Whether these keys may stand in one operation: `$set` beside `$unset`, every other operator alone. */
export function mayStandTogether(keys: readonly string[]): boolean {
  return keys.length === 1 || (keys.length === 2 && keys.includes('$set') && keys.includes('$unset'))
}

/**
 * What an operation leaves of the stored value; nothing for an attribute that is new and is not to be created by it. Refuses
 * with the name of the operator that does not fit the value [NGSIv2 context 12.1-12.3].
 *
 * @param held nothing for a new attribute, whose reference is 0, the beginning of 1970, an empty array or an empty object
 */
export function operated(operation: Operation, held: Value | undefined): Result<Value | undefined, Operator> {
  const { $set: set, $unset: unset } = operation
  if (set !== undefined && unset !== undefined) return setAndUnset(set, unset, held)
  for (const operator of operators) {
    const given = operation[operator]
    if (given === undefined) continue
    const after = apply[operator](given, held)
    return after === unfit ? err(operator) : ok(after)
  }
  throw new Error('an operation has an operator')
}

/** Says that an operator cannot be applied: no value is a symbol. */
const unfit = Symbol('unfit')

type Apply = (given: Value, held: Value | undefined) => Value | undefined | typeof unfit

const apply: { readonly [Name in Operator]: Apply } = {
  $inc: (given, held = 0) => arithmetic(given, held, (a, b) => a + b),
  $mul: (given, held = 0) => arithmetic(given, held, (a, b) => a * b),
  $min: (given, held) => extreme(given, held, -1),
  $max: (given, held) => extreme(given, held, 1),
  $push: (given, held = []) => (isArray(held) ? pushed(given, held) : unfit),
  $addToSet: (given, held = []) => (isArray(held) ? addedToSet(given, held) : unfit),
  $pull: (given, held) => pulled([given], held),
  $pullAll: (given, held) => (isArray(given) ? pulled(given, held) : unfit),
  $set: (given, held = {}) => (isObject(given) ? changed(held, given, {}) : given),
  $unset: (given, held) => (isObject(given) && held !== undefined ? changed(held, {}, given) : held),
}

function setAndUnset(set: Value, unset: Value, held: Value | undefined): Result<Value | undefined, Operator> {
  if (!isObject(set)) return err('$set')
  if (!isObject(unset)) return err('$unset')
  if (Object.keys(set).some((key) => Object.hasOwn(unset, key))) return err('$set')
  const after = changed(held ?? {}, set, unset)
  return after === unfit ? err('$set') : ok(after)
}

/** A result that is too large for a number does not fit. */
function arithmetic(given: Value, held: Value, calculate: (a: number, b: number) => number): number | typeof unfit {
  if (typeof given !== 'number' || typeof held !== 'number') return unfit
  const result = calculate(held, given)
  return Number.isFinite(result) ? result : unfit
}

function extreme(given: Value, held: Value | undefined, sign: 1 | -1): Value {
  if (held === undefined && typeof given === 'string') return given
  const reference = held === undefined ? 0 : held
  return sign * compareValues(given, reference) > 0 ? given : reference
}

function pushed(given: Value, held: readonly Value[]): Value | typeof unfit {
  const several = severalIn(given)
  if (several === unfit) return unfit
  const { items, position = held.length } = several
  const at = position < 0 ? Math.max(0, held.length + position) : Math.min(position, held.length)
  return [...held.slice(0, at), ...items, ...held.slice(at)]
}

function addedToSet(given: Value, held: readonly Value[]): Value | typeof unfit {
  const several = severalIn(given)
  if (several === unfit || several.position !== undefined) return unfit
  const known = new Set(held.map(canonical))
  const added: Value[] = []
  for (const item of several.items) {
    const text = canonical(item)
    if (!known.has(text)) added.push(item)
    known.add(text)
  }
  return added.length === 0 ? held : [...held, ...added]
}

function pulled(given: readonly Value[], held: Value | undefined): Value | undefined | typeof unfit {
  if (held === undefined) return undefined
  if (!isArray(held)) return unfit
  const gone = new Set(given.map(canonical))
  return held.filter((item) => !gone.has(canonical(item)))
}

interface Several {
  readonly items: readonly Value[]
  readonly position: number | undefined
}

/** What `$push` and `$addToSet` are given: one value, or those of `$each` [NGSIv2 context 12.1]. */
function severalIn(given: Value): Several | typeof unfit {
  if (!isObject(given) || !Object.hasOwn(given, '$each')) return { items: [given], position: undefined }
  const { $each: items, $position: position, ...others } = given
  if (items === undefined || !isArray(items) || Object.keys(others).length > 0) return unfit
  if (position === undefined) return { items, position: undefined }
  return typeof position === 'number' && Number.isInteger(position) ? { items, position } : unfit
}

/** An object with some keys set and others removed: keys are names, whatever stands in them. */
function changed(
  held: Value,
  set: { readonly [key: string]: Value },
  unset: { readonly [key: string]: Value },
): Value | typeof unfit {
  if (!isObject(held)) return unfit
  const members = new Map(Object.entries(held))
  for (const [key, value] of Object.entries(set)) members.set(key, value)
  for (const key of Object.keys(unset)) members.delete(key)
  return Object.fromEntries(members)
}

/** A text that equal values share, and no others: one look into a set then tells whether an array has a value. */
function canonical(value: Value): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(canonical).join()}]`
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`)
  return `{${members.sort().join()}}`
}
