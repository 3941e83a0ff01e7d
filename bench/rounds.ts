import type { Failures, LoadResult, LoadTask } from './load.js'
import type { Line } from './table.js'

/** Results of two things that were measured in turns, round by round. */
export interface Turns<Measured, Reference> {
  readonly measured: readonly Measured[]
  readonly reference: readonly Reference[]
}

/** Measures one thing and its reference in turns, so that what else the machine does hits both. */
export async function inTurns<Measured, Reference>(
  rounds: number,
  measure: (round: number) => Promise<Measured>,
  refer: (round: number) => Promise<Reference>,
): Promise<Turns<Measured, Reference>> {
  const measured: Measured[] = []
  const reference: Reference[] = []
  for (let round = 1; round <= rounds; round++) {
    measured.push(await measure(round))
    reference.push(await refer(round))
  }
  return { measured, reference }
}

/** A load's time: measured after a part of it, at most a second, in which connections open and code gets warm. */
export function times(duration_s: number): Pick<LoadTask, 'warmUp_s' | 'duration_s'> {
  return { duration_s, warmUp_s: Math.min(1, duration_s / 2) }
}

/** The rounds of one case as the columns of one line: medians, and the longest wait of all. */
export function medians(rounds: readonly LoadResult[]): Line {
  const failures = rounds.reduce((sum, round) => sum + count(round.failures), 0)
  return {
    rate_per_s: Math.round(medianRate(rounds)),
    p50_ms: rounded(median(rounds.map((round) => round.p50_ms))),
    p90_ms: rounded(median(rounds.map((round) => round.p90_ms))),
    p99_ms: rounded(median(rounds.map((round) => round.p99_ms))),
    max_ms: rounded(Math.max(...rounds.map((round) => round.max_ms))),
    generator_cpu_ratio: rounded(median(rounds.map((round) => round.generator_cpu_ratio))),
    ...(failures === 0 ? {} : { failures }),
  }
}

export function medianRate(rounds: readonly { readonly rate_per_s: number }[]): number {
  return median(rounds.map((round) => round.rate_per_s))
}

/** The middle value; of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const low = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN
  const high = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return (low + high) / 2
}

export function count({ status, refused, timedOut, disconnected }: Failures): number {
  return status + refused + timedOut + disconnected
}

/** To three digits after the point: more is noise. */
export function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
