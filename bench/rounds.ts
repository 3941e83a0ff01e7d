import type { Failures, LoadResult, LoadTask } from './load.js'
import type { Line } from './table.js'

/** One round of what is measured. */
type Round<Result> = (round: number) => Promise<Result>

/** Results of things that were measured in turns, round by round; empty where there was nothing to measure. */
export interface Turns<Measured, Reference, Against> {
  readonly measured: readonly Measured[]
  readonly reference: readonly Reference[]
  /** Those of another version of the broker. */
  readonly against: readonly Against[]
}

/**
 * Measures one thing, its reference and another version of it in turns, so that what else the machine does hits all.
 * There may be no reference, and no other version.
 */
export async function inTurns<Measured, Reference = never, Against = never>(
  rounds: number,
  measure: Round<Measured>,
  refer?: Round<Reference>,
  oppose?: Round<Against>,
): Promise<Turns<Measured, Reference, Against>> {
  const measured: Measured[] = []
  const reference: Reference[] = []
  const against: Against[] = []
  for (let round = 1; round <= rounds; round++) {
    measured.push(await measure(round))
    if (refer !== undefined) reference.push(await refer(round))
    if (oppose !== undefined) against.push(await oppose(round))
  }
  return { measured, reference, against }
}

/** A load's time: measured after a part of it, at most a second, in which connections open and code gets warm. */
export function times(duration_s: number): Pick<LoadTask, 'warmUp_s' | 'duration_s'> {
  return { duration_s, warmUp_s: Math.min(1, duration_s / 2) }
}

/** The rounds of one case as the columns of one line: medians, the longest wait of all, and how far the rounds lie apart. */
export function medians(rounds: readonly LoadResult[]): Line {
  const failures = rounds.reduce((sum, round) => sum + count(round.failures), 0)
  return {
    rate_per_s: wholeRate(medianRate(rounds)),
    p50_ms: rounded(median(rounds.map((round) => round.p50_ms))),
    p90_ms: rounded(median(rounds.map((round) => round.p90_ms))),
    p99_ms: rounded(median(rounds.map((round) => round.p99_ms))),
    p999_ms: rounded(median(rounds.map((round) => round.p999_ms))),
    max_ms: rounded(Math.max(...rounds.map((round) => round.max_ms))),
    generator_cpu_ratio: rounded(median(rounds.map((round) => round.generator_cpu_ratio))),
    ...(failures === 0 ? {} : { failures }),
    ...(rounds.length < 2 ? {} : { spread: spread(rounds) }),
  }
}

/** The least and the most of the rounds, by the name of the figure. */
function spread(rounds: readonly LoadResult[]): Readonly<Record<string, readonly [least: number, most: number]>> {
  const between = (values: readonly number[]) => [rounded(Math.min(...values)), rounded(Math.max(...values))] as const
  return {
    rate_per_s: rateSpread(rounds),
    p50_ms: between(rounds.map((round) => round.p50_ms)),
    p90_ms: between(rounds.map((round) => round.p90_ms)),
    p99_ms: between(rounds.map((round) => round.p99_ms)),
  }
}

/** The least and the highest rate of the rounds. */
export function rateSpread(rounds: readonly LoadResult[]): readonly [least: number, most: number] {
  const rates = rounds.map((round) => wholeRate(round.rate_per_s))
  return [Math.min(...rates), Math.max(...rates)]
}

/** What another version of the broker reached, and how this one stands to it. Nothing where there was no other. */
export function versus(measured: readonly LoadResult[], against: readonly LoadResult[]): Line {
  if (against.length === 0) return {}
  const p99_ms = median(against.map((round) => round.p99_ms))
  return {
    against_per_s: wholeRate(medianRate(against)),
    against_ratio: rounded(medianRate(measured) / medianRate(against)),
    against_p50_ms: rounded(median(against.map((round) => round.p50_ms))),
    against_p99_ms: rounded(p99_ms),
    against_p99_ratio: rounded(median(measured.map((round) => round.p99_ms)) / p99_ms),
    ...(against.length < 2 ? {} : { against_spread: { against_per_s: rateSpread(against) } }),
  }
}

/** What a reference reached, under a name of its own, and how what was measured stands to it. Nothing where there was no reference. */
export function besides(
  name: string,
  measured: readonly { readonly rate_per_s: number }[],
  reference: readonly { readonly rate_per_s: number }[],
): Line {
  if (reference.length === 0) return {}
  return {
    [name]: wholeRate(medianRate(reference)),
    ratio: rounded(medianRate(measured) / medianRate(reference)),
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

/** To three digits after the point, of less than a tenth to three digits that count: more is noise. */
export function rounded(value: number): number {
  return Math.abs(value) < 0.1 ? Number(value.toPrecision(3)) : Math.round(value * 1000) / 1000
}

/** A rate as it is shown: whole, unless it is so low that digits after the point count. */
export function wholeRate(rate_per_s: number): number {
  return rate_per_s < 100 ? rounded(rate_per_s) : Math.round(rate_per_s)
}

/** How long something took in each of this many rounds: the first, which has nothing at hand yet, the median and the longest. */
export async function timesIn(rounds: number, take: (round: number) => Promise<number>): Promise<Line> {
  const times_ms: number[] = []
  for (let round = 1; round <= rounds; round += 1) times_ms.push(await take(round))
  const [first_ms = Number.NaN] = times_ms
  return {
    first_ms: rounded(first_ms),
    median_ms: rounded(median(times_ms)),
    max_ms: rounded(Math.max(...times_ms)),
  }
}
