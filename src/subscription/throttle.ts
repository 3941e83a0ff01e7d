import type { Milliseconds } from '../time.js'
import type { SubscriptionClock } from './subscription.js'

/** The moment of a notice, noted before the notice is on disk. */
export interface Claim {
  /** The notice was not made after all. Leaves a moment that somebody else has noted since. */
  undo(): void
}

/** Keeps the notices of a subscription apart, over all partitions, by the clock that they share [subscriptions 3.4]. */
export class Throttle {
  readonly #last: BigInt64Array

  constructor(clock: SubscriptionClock) {
    this.#last = clock
  }

  /**
   * Notes the moment of a notice; nothing when the last one is less than `throttling_ms` away, so that this one is
   * suppressed. Away in either direction: commands of several front ends come out of order by a millisecond or two, but
   * a clock of the day that was set back must not silence a subscription until it has caught up.
   */
  claim(time: Milliseconds, throttling_ms: number): Claim | undefined {
    for (;;) {
      const held = Atomics.load(this.#last, 0)
      const last = Number(held)
      if (throttling_ms > 0 && last !== 0 && Math.abs(time - last) < throttling_ms) return undefined
      // Without throttling an earlier moment is one out of order.
      const noted = throttling_ms === 0 && time < last ? held : BigInt(time)
      if (Atomics.compareExchange(this.#last, 0, held, noted) === held) return this.#claimOf(held, noted)
    }
  }

  #claimOf(held: bigint, noted: bigint): Claim {
    return { undo: () => Atomics.compareExchange(this.#last, 0, noted, held) }
  }
}

/** A clock is told of a notification that was made then; it never goes back. */
export function advanceClock(clock: SubscriptionClock, made: number): void {
  const moment = BigInt(made)
  let held = Atomics.load(clock, 0)
  while (held < moment) {
    const found = Atomics.compareExchange(clock, 0, held, moment)
    if (found === held) return
    held = found
  }
}
