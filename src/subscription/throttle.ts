import type { Milliseconds } from '../time.js'
import type { SubscriptionClock } from './subscription.js'

/** The moment of a notice, noted before the notice is on disk. */
export interface Claim {
  /** The notice was not made after all. Leaves a moment that somebody else has noted since. */
  undo(): void
}

/**
 * Notes the moment of a notice on its subscription's clock, which keeps the notices apart over all partitions
 * [subscriptions 3.4]; nothing when the last one is less than `throttling_ms` away, so that this one is suppressed. Away in
 * either direction: commands of several front ends come out of order by a millisecond or two, but a clock of the day that
 * was set back must not silence a subscription until it has caught up.
 */
export function claimNotice(
  { moments, at }: SubscriptionClock,
  time: Milliseconds,
  throttling_ms: number,
): Claim | undefined {
  for (;;) {
    const held = Atomics.load(moments, at)
    const last = Number(held)
    if (throttling_ms > 0 && last !== 0 && Math.abs(time - last) < throttling_ms) return undefined
    // Without throttling an earlier moment is one out of order.
    const noted = throttling_ms === 0 && time < last ? held : BigInt(time)
    if (Atomics.compareExchange(moments, at, held, noted) === held) {
      return { undo: () => Atomics.compareExchange(moments, at, noted, held) }
    }
  }
}

/** The moment of the last notification; 0 before the first. */
export function lastNotified({ moments, at }: SubscriptionClock): number {
  return Number(Atomics.load(moments, at))
}

/** A clock is told of a notification that was made then; it never goes back. */
export function advanceClock({ moments, at }: SubscriptionClock, made: number): void {
  const moment = BigInt(made)
  let held = Atomics.load(moments, at)
  while (held < moment) {
    const found = Atomics.compareExchange(moments, at, held, moment)
    if (found === held) return
    held = found
  }
}
