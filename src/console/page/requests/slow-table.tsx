import { clockText, exactText } from '../format.js'
import { bytesColumn, durationColumn, minor, textColumn } from '../parts/columns.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { StageSwatch, stages } from '../parts/stages.js'
import { partitionText, type Slow, type SlowShown, stagesText } from './slow-reading.js'

/** The slow requests, each with its stages as a bar, in the colours of Overview. */
export function SlowTable({ slow }: { readonly slow: Slow }) {
  const { above, requests } = slow
  const longest_ms = requests.reduce((most, { duration_ms }) => Math.max(most, duration_ms), 0)
  const none = above === 0 ? 'No requests are kept: it is off.' : `No request took longer than ${above} ms so far.`
  return (
    <>
      <p class="quiet">
        {above === 0 ? 'Off.' : `Kept above ${above} ms.`} <Legend />
      </p>
      <DataTable
        caption="The last slow requests, the latest first"
        columns={slowColumns(longest_ms)}
        rows={requests}
        keyOf={({ key }) => key}
        empty={none}
      />
    </>
  )
}

/** Each stage has its place in the bar and its name in its text; the colour is for those who see it. */
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

function slowColumns(longest_ms: number): readonly Column<SlowShown>[] {
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

function StageBar({ request, longest_ms }: { readonly request: SlowShown; readonly longest_ms: number }) {
  const text = stagesText(request)
  return (
    <span class="stages-bar" title={text}>
      <span class="unseen">{text}</span>
      {stages.map(({ name, tone }) => {
        const width = `${(100 * (request.stages_ms.get(name) ?? 0)) / Math.max(longest_ms, 0.001)}%`
        return <i key={name} class={`stage ${tone}`} aria-hidden="true" style={{ width }} />
      })}
    </span>
  )
}
