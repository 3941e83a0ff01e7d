import { durationText, rateText } from '../format.js'
import { live, restarts, series } from '../live-state.js'
import { useObservable } from '../observable.js'
import { Chart, type ChartContent } from '../parts/chart.js'
import { useSpan } from '../span.js'

/** What the broker has done in the time that is chosen, and how long it took. */
export function TrafficCharts() {
  const span = useSpan()
  const marks_s = useObservable(restarts).map((at_ms) => at_ms / 1000)
  useObservable(live)
  const seconds = series.shown(span.seconds)
  return (
    <div class="side-by-side">
      <Chart
        title="Requests per second"
        content={contentOf(seconds, marks_s, { updates: 'updates', reads: 'reads', errors: 'errors' })}
        format={rateText}
      />
      <Chart
        title="Time of requests"
        content={contentOf(seconds, marks_s, {
          'update p99': 'p99Update',
          'update p50': 'p50Update',
          'read p99': 'p99Read',
        })}
        format={durationText}
      />
    </div>
  )
}

function contentOf(seconds: number, marks_s: readonly number[], names: Readonly<Record<string, string>>): ChartContent {
  const first_s = series.latest_s - seconds + 1
  return {
    times_s: Array.from({ length: seconds }, (_, at) => first_s + at),
    lines: Object.entries(names).map(([label, name]) => ({
      label,
      values: Array.from(series.last(name, seconds), (value) => (Number.isNaN(value) ? null : value)),
    })),
    marks_s,
  }
}
