import { useSpan } from '../address.js'
import { durationText } from '../format.js'
import { courses, live, series } from '../live-state.js'
import type { StageName } from '../moment.js'
import { useObservable } from '../observable.js'
import { HeatMap, type HeatMapContent } from '../parts/heat-map.js'

/** The number of columns. */
const columns = 150
/** The least number of buckets. */
const leastRows = 7

/** The waits of requests by length, over time. */
export function WaitHeat({ name, title }: { readonly name: StageName; readonly title: string }) {
  const known = useObservable(live)
  const span = useSpan()
  if (known === undefined) return null
  const content = contentOf(name, series.shown(span.seconds), known.hello.durationBounds_s)
  if (content.buckets.length === 0) return <p class="quiet">Nobody waited in this time.</p>
  return <HeatMap title={title} content={content} />
}

function contentOf(name: StageName, seconds: number, bounds: readonly number[]): HeatMapContent {
  const each = Math.max(1, Math.ceil(seconds / columns))
  const names = [...bounds.map((bound) => `≤ ${durationText(bound)}`), 'longer']
  const rows = names.map((_, bucket) => series.last(courses.waitBucket(name, bucket), seconds))
  const [first, last] = usedOf(rows)
  const used = rows.slice(first, last + 1)
  const ends = Array.from({ length: Math.floor(seconds / each) }, (_, at) => (at + 1) * each)
  return {
    times_s: ends.map((end) => series.latest_s - seconds + end),
    buckets: names.slice(first, last + 1),
    columns: ends.map((end) => {
      const counts = used.map((row) => sumOfKnown(row.subarray(end - each, end)))
      return counts.every(Number.isNaN) ? undefined : counts.map((count) => count || 0)
    }),
  }
}

/**
 * The first and the last bucket with any counts, with some empty ones around them so that small waits look small; an empty range
 * without counts.
 */
function usedOf(rows: readonly Float32Array[]): readonly [first: number, last: number] {
  const isUsed = (row: Float32Array) => row.some((count) => count > 0)
  const first = rows.findIndex(isUsed)
  if (first === -1) return [0, -1]
  const last = rows.findLastIndex(isUsed)
  return [Math.max(0, first - 1), Math.min(rows.length - 1, Math.max(last + 1, first + leastRows))]
}

/** The sum of the known values; NaN where none is known. */
function sumOfKnown(values: Float32Array): number {
  let sum = Number.NaN
  for (const value of values) if (!Number.isNaN(value)) sum = (Number.isNaN(sum) ? 0 : sum) + value
  return sum
}
