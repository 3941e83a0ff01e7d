import { type Packed, packed, unpacked } from '../packed.js'
import type { SubscriptionClock } from './subscription.js'

/** Values that have clocks, as they cross to other threads. */
export interface PackedWithClocks<Value> {
  readonly values: Packed<Value>
  /** The pieces of memory that the clocks lie in. */
  readonly memories: readonly SharedArrayBuffer[]
  /** Of each value: which piece of memory, and the byte in it. */
  readonly clocks: Uint32Array
}

/** Packs values with their clocks, which stay shared. */
export function packedWithClocks<Value>(
  values: readonly Value[],
  clockOf: (at: number) => SubscriptionClock | undefined,
): PackedWithClocks<Value> {
  const numbers = new Map<SharedArrayBuffer, number>()
  const clocks = new Uint32Array(2 * values.length)
  for (let at = 0; at < values.length; at += 1) {
    const clock = clockOf(at)
    if (!(clock?.buffer instanceof SharedArrayBuffer)) throw new Error('a clock has to lie in shared memory')
    const number = numbers.get(clock.buffer) ?? numbers.size
    numbers.set(clock.buffer, number)
    clocks[2 * at] = number
    clocks[2 * at + 1] = clock.byteOffset
  }
  return { values: packed(values), memories: [...numbers.keys()], clocks }
}

/** The values that `packedWithClocks` wrote, in order, with their clocks. */
export function* unpackedWithClocks<Value>({
  values,
  memories,
  clocks,
}: PackedWithClocks<Value>): Generator<readonly [Value, SubscriptionClock]> {
  let at = 0
  for (const value of unpacked(values)) {
    const memory = memories[clocks[2 * at] ?? -1]
    if (memory === undefined) throw new Error('a value has no clock')
    yield [value, new BigInt64Array(memory, clocks[2 * at + 1], 1)]
    at += 1
  }
}
