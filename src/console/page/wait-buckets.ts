import type { LiveBuckets } from '../live-frame.js'

/** The counts of all buckets, however they were sent: one more than there are bounds. */
export function bucketCounts(sent: LiveBuckets, bounds: number): Float64Array {
  const counts = new Float64Array(bounds + 1)
  addCounts(counts, sent, 1)
  return counts
}

/** Adds what was sent to counts, so many times: once, or -1 to subtract. */
export function addCounts(counts: Float64Array, sent: LiveBuckets, times: 1 | -1): void {
  const [first = 0] = sent
  for (let at = 1; at < sent.length; at += 1) {
    const bucket = first + at - 1
    if (bucket < counts.length) counts[bucket] = (counts[bucket] ?? 0) + times * (sent[at] ?? 0)
  }
}

/** How many values there are. */
export function sumOf(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

/**
 * What a share of the values is at most, in the unit of the bounds: within a bucket it is taken as if the values lay at even
 * distances, and beyond the last bound it is that bound. Not a number without values. `zeros` values of nothing join them.
 */
export function quantileOf(bounds: readonly number[], counts: Float64Array, share: number, zeros = 0): number {
  const all = sumOf(counts) + zeros
  if (all <= 0) return Number.NaN
  let left = share * all - zeros
  if (left <= 0) return 0
  for (const [bucket, count] of counts.entries()) {
    if (count <= 0) continue
    const low = bucket === 0 ? 0 : (bounds[bucket - 1] ?? 0)
    if (left <= count) return low + ((bounds[bucket] ?? low) - low) * (left / count)
    left -= count
  }
  return bounds.at(-1) ?? Number.NaN
}
