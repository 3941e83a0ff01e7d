import { durationText } from '../format.js'
import { courses, live, series } from '../live/live-state.js'
import { useObservable } from '../observable.js'
import { HeatMap, type HeatMapContent } from '../parts/heat-map.js'
import { useSpan } from '../span.js'
import type { WaitName } from './waits-reading.js'

/** As many columns fit. */
const columns = 150

/** How often requests waited how long, over time. */
export function WaitHeat({ name, title }: { readonly name: WaitName; readonly title: string }) {
  const known = useObservable(live)
  const { seconds } = useSpan()
  if (known === undefined) return null
  return <HeatMap title={title} content={contentOf(name, seconds, known.hello.durationBounds_s)} />
}

function contentOf(name: WaitName, seconds: number, bounds: readonly number[]): HeatMapContent {
  const each = Math.max(1, Math.ceil(seconds / columns))
  const rows = [...bounds, Number.POSITIVE_INFINITY].map((_, bucket) =>
    series.last(courses.waitBucket(name, bucket), seconds),
  )
  const ends = Array.from({ length: Math.floor(seconds / each) }, (_, at) => (at + 1) * each)
  return {
    times_s: ends.map((end) => series.latest_s - seconds + end),
    buckets: [...bounds.map(durationText), 'longer'],
    columns: ends.map((end) => {
      const counts = rows.map((row) => sumOfKnown(row.subarray(end - each, end)))
      return counts.every(Number.isNaN) ? undefined : counts.map((count) => count || 0)
    }),
  }
}

/** Not a number where nothing is known. */
function sumOfKnown(values: Float32Array): number {
  let sum = Number.NaN
  for (const value of values) if (!Number.isNaN(value)) sum = (Number.isNaN(sum) ? 0 : sum) + value
  return sum
}
