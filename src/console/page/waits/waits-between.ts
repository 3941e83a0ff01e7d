import { quantileOf, sumOf } from '../live/wait-buckets.js'
import { type KindOfWait, type WaitsOf, type WaitsReading, waitNames } from './waits-reading.js'

/**
 * What was waited between two readings, the later of which may be the earlier one. Numbers and sums are exact. The broker keeps
 * percentiles and the maximum since its last reset only: of an interval they are found by its buckets. After a reset it is
 * what was waited since then.
 */
export function waitsBetween(before: WaitsReading, now: WaitsReading): WaitsReading {
  const [was, is] = [before.kinds, now.kinds]
  if (was === undefined || is === undefined || before.since_ms !== now.since_ms) return now
  const kinds = waitNames.map((name) => [name, kindBetween(now.bounds, was[name], is[name])])
  return {
    ...now,
    interval_s: now.interval_s - before.interval_s,
    // One kind for each name.
    kinds: Object.fromEntries(kinds) as NonNullable<WaitsReading['kinds']>,
  }
}

function kindBetween(bounds: readonly number[], before: KindOfWait, now: KindOfWait): KindOfWait {
  const partitions = now.partitions?.map((each) => {
    const was = before.partitions?.find(({ partition }) => partition === each.partition)
    return { partition: each.partition, ...(was === undefined ? each : between(bounds, was, each)) }
  })
  return { ...between(bounds, before, now), partitions }
}

function between(bounds: readonly number[], before: WaitsOf, now: WaitsOf): WaitsOf {
  const counts = Float64Array.from(now.buckets, (count, bucket) => count - (before.buckets[bucket] ?? 0))
  const count = now.count - before.count
  const zeros = Math.max(0, count - sumOf(counts))
  const isNewMax = Number(now.max) > Number(before.max)
  const max = isNewMax ? now.max : limitOf(bounds, counts, now.max)
  const percentile = (share: number) => {
    const found = quantileOf(bounds, counts, share, zeros)
    return secondsText(Math.min(Number.isNaN(found) ? 0 : found, Number(max)))
  }
  return {
    count,
    waited: now.waited - before.waited,
    total: differenceText(now.total, before.total),
    max,
    p50: percentile(0.5),
    p90: percentile(0.9),
    p99: percentile(0.99),
    p999: percentile(0.999),
    buckets: [...counts],
    inexact: { isMaxLimit: !isNewMax && Number(max) > 0 },
  }
}

/** What the longest wait was at most, where it is not the longest one since the reset. */
function limitOf(bounds: readonly number[], counts: Float64Array, most: string): string {
  const last = counts.findLastIndex((count) => count > 0)
  if (last === -1) return secondsText(0)
  const bound = bounds[last]
  return bound === undefined || bound > Number(most) ? most : secondsText(bound)
}

function secondsText(duration_s: number): string {
  return duration_s.toFixed(9)
}

/** Exact to the nanosecond, however long it is. */
function differenceText(now: string, before: string): string {
  const difference_ns = String(nanosecondsOf(now) - nanosecondsOf(before)).padStart(10, '0')
  return `${difference_ns.slice(0, -9)}.${difference_ns.slice(-9)}`
}

function nanosecondsOf(seconds: string): bigint {
  const [whole = '0', fraction = ''] = seconds.split('.')
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9))
}
