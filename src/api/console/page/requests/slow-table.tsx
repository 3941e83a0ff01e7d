import type { ShownSlowRequest, SlowList } from '../../shapes.js'
import { clockText, durationText, exactText } from '../format.js'
import { bytesColumn, durationColumn, minor, textColumn } from '../parts/columns.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { StageSwatch, stages } from '../parts/small-parts.js'

/** The slow requests, each with its stages as a bar, in the colours of Overview. */
export function SlowTable({ slow }: { readonly slow: SlowList }) {
  const { above, requests } = slow
  const longest_ms = requests.reduce((most, { duration_ms }) => Math.max(most, duration_ms), 0)
  const none =
    above === 0 ? 'No requests are recorded: recording is off.' : `No request took longer than ${above} ms so far.`
  return (
    <>
      <p class="quiet">
        {above === 0 ? 'Recording is off.' : `Requests that take longer than ${above} ms are recorded.`} <Legend />
      </p>
      <DataTable
        caption="The last slow requests, the latest first"
        columns={slowColumns(longest_ms)}
        rows={keyed(requests)}
        keyOf={({ key }) => key}
        empty={none}
      />
    </>
  )
}

type KeyedRequest = ShownSlowRequest & { readonly key: string }

/** Each request with a unique key, also for requests of the same moment and correlator. */
function keyed(requests: readonly ShownSlowRequest[]): readonly KeyedRequest[] {
  const seen = new Map<string, number>()
  return requests.map((request) => {
    const name = `${request.time_ms} ${request.correlator} ${request.duration_ms}`
    const times = (seen.get(name) ?? 0) + 1
    seen.set(name, times)
    return { ...request, key: `${name} ${times}` }
  })
}

/** Each stage has its position in the bar and its name in the text, so colour is not the only distinction. */
function Legend() {
  return (
    <>
      {stages.map(({ name, tone, title }) => (
        <span class="stage-name" key={name} title={title}>
          <StageSwatch tone={tone} /> {name}
        </span>
      ))}
    </>
  )
}

function slowColumns(longest_ms: number): readonly Column<KeyedRequest>[] {
  return [
    {
      name: 'at',
      cell: ({ time_ms }) => <span title={exactText(time_ms)}>{clockText(time_ms)}</span>,
      order: ({ time_ms }) => time_ms,
    },
    {
      name: 'request',
      cell: ({ method, route }) => <span class="stored">{`${method} ${route}`}</span>,
      order: ({ route }) => route,
    },
    durationColumn('took', ({ duration_ms }) => duration_ms / 1000),
    { name: 'stages', cell: (request) => <StageBar request={request} longest_ms={longest_ms} /> },
    {
      name: 'partition',
      cell: (request) => partitionText(request),
      order: ({ partition = -1 }) => partition,
    },
    textColumn('status', ({ status }) => status, minor),
    bytesColumn('in', ({ request_bytes }) => request_bytes, minor),
    {
      name: 'tenant',
      cell: ({ tenant }) => <span class="stored">{tenant || 'none'}</span>,
      order: ({ tenant }) => tenant,
      isMinor: true,
    },
    { name: 'correlator', cell: ({ correlator }) => <span class="stored">{correlator}</span>, isMinor: true },
  ]
}

function StageBar({ request, longest_ms }: { readonly request: ShownSlowRequest; readonly longest_ms: number }) {
  const text = stagesText(request)
  return (
    <span class="stages-bar" title={text}>
      <span class="unseen">{text}</span>
      {stages.map(({ name, tone }) => {
        const width = `${(100 * (request.stages_ms[name] ?? 0)) / Math.max(longest_ms, 0.001)}%`
        return <i key={name} class={`stage ${tone}`} aria-hidden="true" style={{ width }} />
      })}
    </span>
  )
}

/** The stages of a request with their durations; for the commit also the time of the log. */
function stagesText({ stages_ms, log_ms }: Pick<ShownSlowRequest, 'stages_ms' | 'log_ms'>): string {
  return Object.entries(stages_ms)
    .map(([name, spent_ms]) => {
      const text = `${name} ${durationText(spent_ms / 1000)}`
      return name === 'commit' && log_ms !== undefined ? `${text} (log ${durationText(log_ms / 1000)})` : text
    })
    .join(', ')
}

/** The slowest partition, and the number of partitions asked. */
function partitionText({ partition, partitions }: Pick<ShownSlowRequest, 'partition' | 'partitions'>): string {
  if (partition === undefined) return 'none'
  return partitions === 1 ? String(partition) : `${partition}, slowest of ${partitions}`
}
