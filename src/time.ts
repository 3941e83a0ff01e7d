import type { Brand } from './brand.js'

/** Milliseconds since 1970, by the clock of the day: for dates that clients see. */
export type Milliseconds = Brand<number, 'Milliseconds'>

/** Nanoseconds of the monotonic clock, the same clock in every thread of the process: for waits and durations. */
export type Nanoseconds = bigint

/** The date of now. Read at the boundary only; rules get their time with the command. */
export function now(): Milliseconds {
  return Date.now() as Milliseconds
}

/** Decimal seconds with nine fraction digits, exact: no floating-point number between the clock and the text [management 5.1]. */
export function secondsText(duration: Nanoseconds): string {
  return `${duration / 1_000_000_000n}.${String(duration % 1_000_000_000n).padStart(9, '0')}`
}
