import { type Packed, packed, unpacked } from '../../threads/shared-memory/packed.js'
import type { Milliseconds } from '../../time.js'
import type { SubscriptionClock } from './subscription.js'

/**
 * The moments that a turn has reserved on clocks, to take them back if the turn fails. They are kept in parallel arrays: one change
 * may cause notices of very many subscriptions, and an object for each would cost more than all the rest.
 */
export class Reservations {
  #clocks: SubscriptionClock[] = []
  #held: bigint[] = []
  #noted: bigint[] = []
  #time: Milliseconds | undefined
  #moment = 0n

  /** A time in the form of the clocks, converted once for all notices of a change. */
  momentOf(time: Milliseconds): bigint {
    if (time !== this.#time) {
      this.#time = time
      this.#moment = BigInt(time)
    }
    return this.#moment
  }

  /** Notes that the clock now has `noted` in place of `held`. */
  add(clock: SubscriptionClock, held: bigint, noted: bigint): void {
    this.#clocks.push(clock)
    this.#held.push(held)
    this.#noted.push(noted)
  }

  /** Takes the moments back: the notices were not made. Moments that another thread has put on a clock since stay. */
  undo(): void {
    for (let one = this.#clocks.length - 1; one >= 0; one -= 1) {
      const [clock, held, noted] = [this.#clocks[one], this.#held[one], this.#noted[one]]
      if (clock !== undefined && held !== undefined && noted !== undefined) {
        Atomics.compareExchange(clock.moments, clock.at, noted, held)
      }
    }
    this.clear()
  }

  /** Keeps the moments on the clocks. */
  clear(): void {
    if (this.#clocks.length === 0) return
    this.#clocks = []
    this.#held = []
    this.#noted = []
  }
}

/**
 * Reserves the moment of a notice on its subscription's clock, which throttles over all partitions [subscriptions 3.4]. False, and the
 * notice is suppressed, when the last one is less than `throttling_ms` away in either direction: commands of several front ends may be
 * out of order by a millisecond or two, but setting the clock of the day back must not silence a subscription until it has caught up.
 *
 * @param armed when a oneshot was set: false when it has been notified since; `time` is not before it
 */
export function reserveMoment(
  clock: SubscriptionClock,
  time: Milliseconds,
  throttling_ms: number,
  reservations: Reservations,
  armed = 0,
): boolean {
  const { moments, at } = clock
  for (;;) {
    const held = Atomics.load(moments, at)
    const last = Number(held)
    if (armed > 0 && last >= armed) return false
    if (throttling_ms > 0 && last !== 0 && Math.abs(time - last) < throttling_ms) return false
    // Without throttling an earlier moment is a command out of order.
    if (throttling_ms === 0 && time <= last) return true
    const noted = reservations.momentOf(time)
    if (Atomics.compareExchange(moments, at, held, noted) !== held) continue
    reservations.add(clock, held, noted)
    return true
  }
}

/**
 * The second clock of the same subscription: a proposed version uses it until the change is decided, so that a withdrawn version
 * has throttled nothing.
 */
export function otherClock({ moments, at }: SubscriptionClock): SubscriptionClock {
  return { moments, at: at ^ 1 }
}

export function setClock({ moments, at }: SubscriptionClock, like: SubscriptionClock): void {
  Atomics.store(moments, at, Atomics.load(like.moments, like.at))
}

/** The moment of the last notification; 0 before the first. */
export function lastNotified({ moments, at }: SubscriptionClock): number {
  return Number(Atomics.load(moments, at))
}

/** Moves a clock forward to the moment of a notification; a clock never goes back. */
export function advanceClock({ moments, at }: SubscriptionClock, made: number): void {
  const moment = BigInt(made)
  let held = Atomics.load(moments, at)
  while (held < moment) {
    const found = Atomics.compareExchange(moments, at, held, moment)
    if (found === held) return
    held = found
  }
}

/** Values that have clocks, as they cross to other threads. */
export interface PackedWithClocks<Value> {
  readonly values: Packed<Value>
  /** The views on shared memory that hold the clocks. */
  readonly moments: readonly BigInt64Array[]
  /** For each value two numbers: the index of its view in `moments`, and of its clock in that view. */
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
