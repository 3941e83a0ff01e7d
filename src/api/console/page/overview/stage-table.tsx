import { linkTo, useSpan } from '../address.js'
import { durationText, rateText } from '../format.js'
import { live, restarts, series } from '../live-state.js'
import type { Moment, Spread } from '../moment.js'
import { useObservable } from '../observable.js'
import { Chart, type ChartContent } from '../parts/chart.js'
import { Heads, type Stage, StageSwatch, stageOf } from '../parts/small-parts.js'

interface StageSpread extends Stage {
  readonly spread: Spread | undefined
}

/** The stages of an update in order, with the median and the 99th percentile of each. */
export function StageTable({ recent }: { readonly recent: Moment }) {
  const stages = stagesOf(recent)
  const longest_s = Math.max(...stages.map(({ spread }) => spread?.p99_s || 0), recent.update.p99_s || 0)
  return (
    <>
      <table class="stages">
        <Heads names={{ stage: '', p50: 'number', p99: 'number' }}>
          <td />
        </Heads>
        <tbody>
          {[
            ...stages,
            {
              name: 'whole update',
              tone: '',
              title: 'From the head of the request to its response',
              spread: recent.update,
            },
          ].map(({ name, tone, title, spread }) => (
            <tr key={name}>
              <th scope="row" title={title}>
                {tone !== '' && <StageSwatch tone={tone} />} {name}
              </th>
              <td class="number">{spread ? durationText(spread.p50_s) : '–'}</td>
              <td class="number">{spread ? durationText(spread.p99_s) : '–'}</td>
              <td class="span-bars" aria-hidden="true">
                <i class={`p99 ${tone}`} style={{ width: widthOf(spread?.p99_s, longest_s) }} />
                <i class={`p50 ${tone}`} style={{ width: widthOf(spread?.p50_s, longest_s) }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {recent.waits === undefined && (
        <p class="quiet">
          Waits are not measured. Switch the measurement on at <a href={linkTo('waits')}>Waits</a>.
        </p>
      )}
    </>
  )
}

function widthOf(duration_s: number | undefined, longest_s: number): string {
  const share = longest_s > 0 && duration_s !== undefined && duration_s > 0 ? duration_s / longest_s : 0
  return `${Math.round(1000 * share) / 10}%`
}

/** The wait for the write transaction is part of the wait in the mailbox: they must not be added. */
function stagesOf({ waits, partitions }: Moment): readonly StageSpread[] {
  const mailbox = stageOf('mailbox')
  return [
    { ...stageOf('permit'), spread: waits?.request },
    { ...mailbox, spread: waits?.mailbox },
    {
      name: 'write',
      tone: mailbox.tone,
      title: "Waits for its partition's write transaction",
      spread: waits?.transaction,
    },
    { ...stageOf('commit'), spread: slowestOf(partitions) },
  ]
}

function slowestOf(partitions: Moment['partitions']): Spread | undefined {
  const busy = partitions.filter(({ commit }) => commit.count > 0)
  return busy.toSorted((one, other) => other.commit.p99_s - one.commit.p99_s)[0]?.commit
}

/** The activity and the latencies of the chosen time span. */
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
