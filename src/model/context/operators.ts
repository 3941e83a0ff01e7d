import { err, ok, type Result } from '../../result.js'
import type { Value } from './entity.js'
import { type HeldValue, plainValue } from './large/large-attribute.js'
import { valueGiven } from './large/large-given.js'
import { type GivenItems, type GivenMembers, LargeValue } from './large/large-value.js'
import { ValueSet } from './large/value-set.js'
import { compareValues } from './order.js'
import type { GivenAttribute } from './update.js'
import { isArray, isObject } from './value.js'

/** Operators that are applied to the stored value instead of being stored [NGSIv2 context 12]. */
const operators = ['$inc', '$mul', '$min', '$max', '$push', '$addToSet', '$pull', '$pullAll', '$set', '$unset'] as const
type Operator = (typeof operators)[number]

export function isOperator(key: string | undefined): key is Operator {
  return operators.some((operator) => operator === key)
}

/**
 * The operator of a value that is an object whose first key is one: it is applied, not stored. Undefined for any other value. A large value is
 * read as far as its first key.
 */
export function operatorOf(value: HeldValue): Operator | undefined {
  if (value instanceof LargeValue) return operators.find((operator) => value.text?.startsWith(`{"${operator}":`))
  if (!isObject(value)) return undefined
  // Listing the keys of an object of thousands of members takes as long as everything else that is done with it.
  if (!operators.some((operator) => Object.hasOwn(value, operator))) return undefined
  const [first] = Object.keys(value)
  return isOperator(first) ? first : undefined
}

/** The operator that an update gives instead of a value. */
export function operatorGiven(given: Pick<GivenAttribute, 'value'>): Operator | undefined {
  const value = valueGiven(given)
  return value === undefined ? undefined : operatorOf(value)
}

/** Whether these keys may be in one operation: `$set` beside `$unset`, every other operator alone. */
export function mayStandTogether(keys: readonly string[]): boolean {
  return keys.length === 1 || (keys.length === 2 && keys.includes('$set') && keys.includes('$unset'))
}

/**
 * The stored value after an operation, whose first key is an operator; undefined for a new attribute that the operation does not create. Refuses
 * with the name of the operator that does not fit the value [NGSIv2 context 12.1-12.3].
 *
 * @param held undefined for a new attribute, whose reference is 0, the beginning of 1970, an empty array or an empty object
 */
export function operated(operation: HeldValue, held: HeldValue | undefined): Result<HeldValue | undefined, Operator> {
  const operands = operandsOf(operation)
  const [set, unset] = [operands.get('$set'), operands.get('$unset')]
  // A `$unset` of something that is no object does nothing: `$set` beside it stands alone.
  if (set !== undefined && unset !== undefined && areMembers(unset)) return setAndUnset(set, unset, held)
  for (const operator of operators) {
    const given = operands.get(operator)
    if (given === undefined) continue
    const after = apply[operator](given, held)
    return after === unfit ? err(operator) : ok(after)
  }
  throw new Error('an operation has an operator')
}

/** Only `$set` and `$unset` may stand together: the operand of any other operation ends with its text, which need not be read for it. */
function operandsOf(operation: HeldValue): ReadonlyMap<string, HeldValue> {
  if (operation instanceof LargeValue) {
    const first = operatorOf(operation)
    const isAlone = operation.text?.includes(first === '$set' ? '"$unset":' : '"$set":') === false
    const operand = first !== undefined && isAlone ? operation.onlyPart(first) : undefined
    return first === undefined || operand === undefined ? operation.parts : new Map([[first, operand]])
  }
  return new Map(isObject(operation) ? Object.entries(operation) : [])
}

/** The operator cannot be applied; no value is a symbol. */
const unfit = Symbol('unfit')

type Apply = (given: HeldValue, held: HeldValue | undefined) => HeldValue | undefined | typeof unfit

const apply: { readonly [Name in Operator]: Apply } = {
  $inc: (given, held = 0) => arithmetic(given, held, (a, b) => a + b),
  $mul: (given, held = 0) => arithmetic(given, held, (a, b) => a * b),
  $min: (given, held) => extreme(given, held, -1),
  $max: (given, held) => extreme(given, held, 1),
  $push: (given, held = []) => (isList(held) ? pushed(given, held) : unfit),
  $addToSet: (given, held = []) => (isList(held) ? addedToSet(given, held) : unfit),
  $pull: (given, held) => pulled([given], held),
  $pullAll: (given, held) => (isList(given) ? pulled(given, held) : unfit),
  $set: (given, held = {}) => (areMembers(given) ? changed(held, given, {}) : given),
  $unset: (given, held) => (areMembers(given) && held !== undefined ? changed(held, {}, given) : held),
}

function setAndUnset(set: HeldValue, unset: GivenMembers, held: HeldValue = {}): Result<HeldValue, Operator> {
  const after = areMembers(set) ? changed(held, set, unset) : unfit
  return after === unfit ? err('$set') : ok(after)
}

/** A result too large for a number does not fit. */
function arithmetic(
  given: HeldValue,
  held: HeldValue,
  calculate: (a: number, b: number) => number,
): number | typeof unfit {
  if (typeof given !== 'number' || typeof held !== 'number') return unfit
  const result = calculate(held, given) + 0 // Stored zeros have no sign.
  return Number.isFinite(result) ? result : unfit
}

function extreme(given: HeldValue, held: HeldValue | undefined, sign: 1 | -1): HeldValue {
  if (held === undefined && typeof given === 'string') return given
  const reference = held === undefined ? 0 : held
  return sign * compareValues(plainValue(given), plainValue(reference)) > 0 ? given : reference
}

function isList(held: HeldValue): held is readonly Value[] | LargeValue {
  return held instanceof LargeValue ? held.kind === 'array' : isArray(held)
}

function areMembers(given: HeldValue): given is GivenMembers {
  return given instanceof LargeValue ? given.kind === 'object' : isObject(given)
}

function pushed(given: HeldValue, held: readonly Value[] | LargeValue): HeldValue | typeof unfit {
  const several = severalIn(given)
  if (several === unfit) return unfit
  const { items, position = held.length } = several
  const at = position < 0 ? Math.max(0, held.length + position) : Math.min(position, held.length)
  if (held instanceof LargeValue || !arePlain(items)) return largeOf(held).inserted(at, items)
  return [...held.slice(0, at), ...items, ...held.slice(at)]
}

function addedToSet(given: HeldValue, held: readonly Value[] | LargeValue): HeldValue | typeof unfit {
  const several = severalIn(given)
  if (several === unfit || several.position !== undefined) return unfit
  const { items } = several
  if (held instanceof LargeValue || !arePlain(items)) return largeOf(held).extended(items)
  const known = new ValueSet(held)
  const added = items.filter((item) => known.add(item))
  return added.length === 0 ? held : [...held, ...added]
}

function pulled(given: GivenItems, held: HeldValue | undefined): HeldValue | undefined | typeof unfit {
  if (held === undefined) return undefined
  if (!isList(held)) return unfit
  if (held instanceof LargeValue || !arePlain(given)) return largeOf(held).reduced(given)
  const gone = new ValueSet(given)
  return held.filter((item) => !gone.has(item))
}

/** Whether these are items of which none is held as a text. */
function arePlain(items: GivenItems): items is readonly Value[] {
  return !(items instanceof LargeValue) && !items.some((item) => item instanceof LargeValue)
}

function largeOf(held: readonly Value[] | GivenMembers): LargeValue {
  return held instanceof LargeValue ? held : LargeValue.of(held)
}

interface Several {
  readonly items: GivenItems
  readonly position: number | undefined
}

/** The operands of `$push` and `$addToSet`: one value, or those of `$each` [NGSIv2 context 12.1]. */
function severalIn(given: HeldValue): Several | typeof unfit {
  const one = { items: [given], position: undefined }
  if (!areMembers(given)) return one
  if (given instanceof LargeValue ? given.text?.includes('"$each":') !== true : !Object.hasOwn(given, '$each'))
    return one
  const parts = operandsOf(given)
  const [items, position] = [parts.get('$each'), parts.get('$position')]
  if (items === undefined) return one
  if (!isList(items) || parts.size > (position === undefined ? 1 : 2)) return unfit
  if (position === undefined) return { items, position }
  return typeof position === 'number' && Number.isInteger(position) ? { items, position } : unfit
}

/** An object with some keys set and others removed; a key may be in one of them only. Keys are names, also those with dots. */
function changed(held: HeldValue, set: GivenMembers, unset: GivenMembers): HeldValue | typeof unfit {
  if (!areMembers(held)) return unfit
  if (held instanceof LargeValue || set instanceof LargeValue || unset instanceof LargeValue) {
    return largeOf(held).changed(set, unset) ?? unfit
  }
  if (Object.keys(set).some((key) => Object.hasOwn(unset, key))) return unfit
  const members = new Map(Object.entries(held))
  for (const [key, value] of Object.entries(set)) members.set(key, value)
  for (const key of Object.keys(unset)) members.delete(key)
  return Object.fromEntries(members)
}
