import { err, ok, type Result } from '../../result.js'
import type { Value } from './entity.js'
import { type HeldValue, plainValue } from './large/large-attribute.js'
import { LargeValue } from './large/large-value.js'
import { ValueSet } from './large/value-set.js'
import { compareValues } from './order.js'
import { isArray, isObject } from './value.js'

/** Operators that are applied to the stored value instead of being stored [NGSIv2 context 12]. */
const operators = ['$inc', '$mul', '$min', '$max', '$push', '$addToSet', '$pull', '$pullAll', '$set', '$unset'] as const
type Operator = (typeof operators)[number]

interface Operation {
  readonly [key: string]: Value
}

export function isOperator(key: string | undefined): key is Operator {
  return operators.some((operator) => operator === key)
}

/** Whether a value is an object whose first key is an operator: it is applied, not stored. */
export function isOperation(value: Value): value is Operation {
  if (!isObject(value)) return false
  // Listing the keys of an object of thousands of members takes as long as everything else that is done with it.
  return operators.some((operator) => Object.hasOwn(value, operator)) && isOperator(Object.keys(value)[0])
}

/** Whether these keys may be in one operation: `$set` beside `$unset`, every other operator alone. */
export function mayStandTogether(keys: readonly string[]): boolean {
  return keys.length === 1 || (keys.length === 2 && keys.includes('$set') && keys.includes('$unset'))
}

/**
 * The stored value after an operation; undefined for a new attribute that the operation does not create. Refuses with the name of
 * the operator that does not fit the value [NGSIv2 context 12.1-12.3].
 *
 * @param held undefined for a new attribute, whose reference is 0, the beginning of 1970, an empty array or an empty object
 */
export function operated(operation: Operation, held: HeldValue | undefined): Result<HeldValue | undefined, Operator> {
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

/** The operator cannot be applied; no value is a symbol. */
const unfit = Symbol('unfit')

type Apply = (given: Value, held: HeldValue | undefined) => HeldValue | undefined | typeof unfit

const apply: { readonly [Name in Operator]: Apply } = {
  $inc: (given, held = 0) => arithmetic(given, held, (a, b) => a + b),
  $mul: (given, held = 0) => arithmetic(given, held, (a, b) => a * b),
  $min: (given, held) => extreme(given, held, -1),
  $max: (given, held) => extreme(given, held, 1),
  $push: (given, held = []) => (isList(held) ? pushed(given, held) : unfit),
  $addToSet: (given, held = []) => (isList(held) ? addedToSet(given, held) : unfit),
  $pull: (given, held) => pulled([given], held),
  $pullAll: (given, held) => (isArray(given) ? pulled(given, held) : unfit),
  $set: (given, held = {}) => (isObject(given) ? changed(held, given, {}) : given),
  $unset: (given, held) => (isObject(given) && held !== undefined ? changed(held, {}, given) : held),
}

function setAndUnset(set: Value, unset: Value, held: HeldValue | undefined): Result<HeldValue | undefined, Operator> {
  if (!isObject(set)) return err('$set')
  if (!isObject(unset)) return err('$unset')
  if (Object.keys(set).some((key) => Object.hasOwn(unset, key))) return err('$set')
  const after = changed(held ?? {}, set, unset)
  return after === unfit ? err('$set') : ok(after)
}

/** A result too large for a number does not fit. */
function arithmetic(given: Value, held: HeldValue, calculate: (a: number, b: number) => number): number | typeof unfit {
  if (typeof given !== 'number' || typeof held !== 'number') return unfit
  const result = calculate(held, given) + 0 // Stored zeros have no sign.
  return Number.isFinite(result) ? result : unfit
}

function extreme(given: Value, held: HeldValue | undefined, sign: 1 | -1): HeldValue {
  if (held === undefined && typeof given === 'string') return given
  const reference = held === undefined ? 0 : held
  return sign * compareValues(given, plainValue(reference)) > 0 ? given : reference
}

function isList(held: HeldValue): held is readonly Value[] | LargeValue {
  return held instanceof LargeValue ? held.kind === 'array' : isArray(held)
}

function pushed(given: Value, held: readonly Value[] | LargeValue): HeldValue | typeof unfit {
  const several = severalIn(given)
  if (several === unfit) return unfit
  const { items, position = held.length } = several
  const at = position < 0 ? Math.max(0, held.length + position) : Math.min(position, held.length)
  if (held instanceof LargeValue) return held.inserted(at, items)
  return [...held.slice(0, at), ...items, ...held.slice(at)]
}

function addedToSet(given: Value, held: readonly Value[] | LargeValue): HeldValue | typeof unfit {
  const several = severalIn(given)
  if (several === unfit || several.position !== undefined) return unfit
  if (held instanceof LargeValue) return held.extended(several.items)
  const known = new ValueSet(held)
  const added = several.items.filter((item) => known.add(item))
  return added.length === 0 ? held : [...held, ...added]
}

function pulled(given: readonly Value[], held: HeldValue | undefined): HeldValue | undefined | typeof unfit {
  if (held === undefined) return undefined
  if (!isList(held)) return unfit
  if (held instanceof LargeValue) return held.reduced(given)
  const gone = new ValueSet(given)
  return held.filter((item) => !gone.has(item))
}

interface Several {
  readonly items: readonly Value[]
  readonly position: number | undefined
}

/** The operands of `$push` and `$addToSet`: one value, or those of `$each` [NGSIv2 context 12.1]. */
function severalIn(given: Value): Several | typeof unfit {
  if (!isObject(given) || !Object.hasOwn(given, '$each')) return { items: [given], position: undefined }
  const { $each: items, $position: position, ...others } = given
  if (items === undefined || !isArray(items) || Object.keys(others).length > 0) return unfit
  if (position === undefined) return { items, position: undefined }
  return typeof position === 'number' && Number.isInteger(position) ? { items, position } : unfit
}

/** An object with some keys set and others removed. Keys are names, also those with dots. */
function changed(
  held: HeldValue,
  set: { readonly [key: string]: Value },
  unset: { readonly [key: string]: Value },
): HeldValue | typeof unfit {
  if (held instanceof LargeValue) return held.kind === 'object' ? held.changed(set, unset) : unfit
  if (!isObject(held)) return unfit
  const members = new Map(Object.entries(held))
  for (const [key, value] of Object.entries(set)) members.set(key, value)
  for (const key of Object.keys(unset)) members.delete(key)
  return Object.fromEntries(members)
}
