import type { Brand } from './result.js'

/** Milliseconds since 1970, by the clock of the day: for dates that clients see. */
export type Milliseconds = Brand<number, 'Milliseconds'>

/** Nanoseconds of the monotonic clock, the same clock in every thread of the process: for waits and durations. */
export type Nanoseconds = bigint

/** The date of now. Read at the boundary only; rules get their time with the command. */
export function now(): Milliseconds {
  return Date.now() as Milliseconds
}

/** Later than every moment: the last that a date can be. */
export const never = 8.64e15 as Milliseconds

/** The moment that is this long after another one. */
export function after(moment: Milliseconds, duration_ms: number): Milliseconds {
  return (moment + duration_ms) as Milliseconds
}

/** A moment by both clocks: the same for all threads of the process, also for those that are started later. */
export interface ClockStart {
  readonly date: Milliseconds
  readonly steady_ns: Nanoseconds
}

/** This moment; to be taken when the process starts. */
export function clockStart(): ClockStart {
  return { date: now(), steady_ns: process.hrtime.bigint() }
}

/** No right clock shows an earlier date: the broker that reads it was made later. */
const earliest = Date.UTC(2026, 0) as Milliseconds

/**
 * How long ago something was dated, 0 for what was dated in the future: by the clock of the day, but never longer than by
 * the steady clock, so that a jump of the former makes nothing older that was dated rightly. What
 * was dated while that clock was behind seems older once it is right: whoever knows a later bound takes that. A machine without a battery
 * for its clock begins in 1970, or when its system was made: what was dated so before the process started is as old as the process.
 */
export function age_ms(dated: Milliseconds, start: ClockStart): number {
  const steady = start.date + Number((process.hrtime.bigint() - start.steady_ns) / 1_000_000n)
  const since = dated < earliest && start.date >= earliest ? start.date : dated
  return Math.max(0, Math.min(now(), steady) - since)
}

/** For what people read: to the microsecond. */
export function toMilliseconds(duration: Nanoseconds): number {
  return Number(duration / 1000n) / 1000
}

/** Decimal seconds with nine fraction digits, exact: no floating-point number between the clock and the text [management 5.1]. */
export function secondsText(duration: Nanoseconds): string {
  return `${duration / 1_000_000_000n}.${String(duration % 1_000_000_000n).padStart(9, '0')}`
}

/** A date as responses have it: ISO 8601, UTC, with milliseconds [NGSIv2 subscriptions 1.3]. */
export function dateText(date: Milliseconds): string {
  return new Date(date).toISOString()
}
