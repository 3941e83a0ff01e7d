import { type Packed, packed, unpacked } from '../shared-memory/packed.js'
import type { SubscriptionClock } from './subscription.js'

/** Values that have clocks, as they cross to other threads. */
export interface PackedWithClocks<Value> {
  readonly values: Packed<Value>
  /** What the clocks are in, over shared memory. */
  readonly moments: readonly BigInt64Array[]
  /** Of each value: in which of them its clock is, and which one there. */
  readonly clocks: Uint32Array
}

/** Packs values with their clocks, which stay shared. */
export function packedWithClocks<Value>(
  values: readonly Value[],
  clockOf: (at: number) => SubscriptionClock | undefined,
): PackedWithClocks<Value> {
  return withClocks(packed(values), clockOf)
}

/** Packed values with their clocks; the clocks are asked for in order. */
export function withClocks<Value>(
  values: Packed<Value>,
  clockOf: (at: number) => SubscriptionClock | undefined,
): PackedWithClocks<Value> {
  const numbers = new Map<BigInt64Array, number>()
  const clocks = new Uint32Array(2 * values.count)
  for (let at = 0; at < values.count; at += 1) {
    const clock = clockOf(at)
    if (!(clock?.moments.buffer instanceof SharedArrayBuffer)) throw new Error('a clock has to lie in shared memory')
    const number = numbers.get(clock.moments) ?? numbers.size
    numbers.set(clock.moments, number)
    clocks[2 * at] = number
    clocks[2 * at + 1] = clock.at
  }
  return { values, moments: [...numbers.keys()], clocks }
}

/** The values that `packedWithClocks` wrote, in order, with their clocks. */
export function* unpackedWithClocks<Value>({
  values,
  moments: all,
  clocks,
}: PackedWithClocks<Value>): Generator<readonly [Value, SubscriptionClock]> {
  let number = 0
  for (const value of unpacked(values)) {
    const moments = all[clocks[2 * number] ?? -1]
    const at = clocks[2 * number + 1]
    if (moments === undefined || at === undefined) throw new Error('a value has no clock')
    yield [value, { moments, at }]
    number += 1
  }
}
