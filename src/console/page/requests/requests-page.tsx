import { useState } from 'preact/hooks'
import { bytesText, clockText, countText, durationText, exactText, rateText } from '../format.js'
import { connection, live } from '../live/live-state.js'
import { useObservable } from '../observable.js'
import { confirmChange } from '../parts/confirm.js'
import { type Column, DataTable, sumOver } from '../parts/data-table.js'
import { PageHead } from '../parts/page-head.js'
import { LoadingState, Shown, Stale } from '../parts/states.js'
import { useResource } from '../resource.js'
import { readOnly, send, sentenceOf } from '../session.js'
import { type RouteRow, rejectedOf, routesOf } from './routes-of-live.js'
import { readServices, type ServiceRow } from './services-reading.js'
import { readSlow, type Slow, type SlowShown, stageColours } from './slow-reading.js'

/** What clients ask for: by route, the slow ones with their stages, by tenant and path, and what is turned away. */
export function RequestsPage() {
  return (
    <>
      <PageHead title="Requests" curl={['/admin/slow', '/admin/metrics']} />
      <Routes />
      <SlowRequests />
      <Services />
    </>
  )
}

function Routes() {
  const now = useObservable(live)
  const { kind } = useObservable(connection)
  if (now === undefined) return <LoadingState what="the requests" />
  const { hello, latest, earlier } = now
  const rows = routesOf(hello, earlier, latest)
  const rejected = rejectedOf(hello, latest.frame)
  return (
    <section aria-labelledby="by-route">
      <h2 id="by-route">By route</h2>
      <p class="quiet">
        Rates and percentiles are those of the last ten seconds, or since the console was opened; counts, errors and
        bytes are since the start of the broker, errors and bytes those of the route with all its methods.
      </p>
      <Stale since_ms={kind === 'lost' ? latest.frame.time_ms : undefined}>
        <DataTable
          caption="Requests by route and method"
          columns={routeColumns}
          rows={rows}
          keyOf={({ route, method }) => `${method} ${route}`}
          empty="Nothing has been requested yet."
        />
        <p>
          {rejected.length === 0
            ? 'Nothing has been turned away since the start.'
            : `Turned away since the start: ${rejected.map(([reason, count]) => `${reason.replaceAll('_', ' ')} ${countText(count)}`).join(', ')}.`}
        </p>
      </Stale>
    </section>
  )
}

const routeColumns: readonly Column<RouteRow>[] = [
  { name: 'method', cell: ({ method }) => method, order: ({ method }) => method },
  { name: 'route', cell: ({ route }) => <span class="stored">{route}</span>, order: ({ route }) => route },
  {
    name: 'rate/s',
    cell: ({ rate }) => rateText(rate),
    order: ({ rate }) => rate,
    isNumber: true,
    total: (rows) => rateText(sumOver(rows, ({ rate }) => rate)),
  },
  {
    name: 'count',
    cell: ({ count }) => countText(count),
    order: ({ count }) => count,
    isNumber: true,
    isMinor: true,
    total: (rows) => countText(sumOver(rows, ({ count }) => count)),
  },
  {
    name: 'p50',
    cell: ({ p50_s }) => durationText(p50_s),
    order: ({ p50_s }) => p50_s || 0,
    isNumber: true,
    isMinor: true,
  },
  { name: 'p99', cell: ({ p99_s }) => durationText(p99_s), order: ({ p99_s }) => p99_s || 0, isNumber: true },
  { name: 'errors', cell: ({ errors }) => errors || 'none' },
  {
    name: 'bytes in',
    cell: ({ in_bytes }) => bytesText(in_bytes),
    order: ({ in_bytes }) => in_bytes,
    isNumber: true,
    isMinor: true,
  },
  {
    name: 'bytes out',
    cell: ({ out_bytes }) => bytesText(out_bytes),
    order: ({ out_bytes }) => out_bytes,
    isNumber: true,
    isMinor: true,
  },
]

function SlowRequests() {
  const known = useResource('/admin/slow', readSlow)
  const onlyReads = useObservable(readOnly)
  const [fault, setFault] = useState<string>()
  const [above, setAbove] = useState('50')
  const change = async (above_ms: number) => {
    try {
      await send(`/admin/slow?above=${above_ms}`, { method: 'PUT' })
      setFault(undefined)
    } catch (thrown) {
      setFault(sentenceOf(thrown))
    }
    known.again()
  }
  return (
    <section aria-labelledby="slow">
      <h2 id="slow">Slow requests</h2>
      <form
        class="filters"
        onSubmit={async (event) => {
          event.preventDefault()
          if (await confirmChange(keepChange(above))) await change(Number(above))
        }}
      >
        <label>
          Keep what takes longer than{' '}
          <input
            type="number"
            min="1"
            max="3600000"
            required
            value={above}
            onInput={({ currentTarget }) => setAbove(currentTarget.value)}
          />{' '}
          ms
        </label>
        <button type="submit" disabled={onlyReads}>
          Keep
        </button>
        {known.value !== undefined && known.value.above > 0 && (
          <button type="button" disabled={onlyReads} onClick={() => change(0)}>
            Keep no more
          </button>
        )}
      </form>
      {fault && <p class="failed">That was not done: {fault}.</p>}
      <Shown known={known} what="The slow requests">
        {(slow) => <SlowTable slow={slow} />}
      </Shown>
    </section>
  )
}

function keepChange(above: string) {
  return {
    title: `Keep requests that take longer than ${above} ms?`,
    cost: 'The last 256 are kept until it is switched off or the broker ends. Meanwhile every request reads the clock a few times more.',
    action: 'Keep them',
  }
}

function SlowTable({ slow }: { readonly slow: Slow }) {
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

/** Each stage has its place in the bar and its number beside it; the colour is for those who see it. */
function Legend() {
  return (
    <>
      {stageColours.map(({ stage, className }) => (
        <span class="stage-name" key={stage}>
          <i class={`stage ${className}`} aria-hidden="true" /> {stage}
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
    {
      name: 'took',
      cell: ({ duration_ms }) => durationText(duration_ms / 1000),
      order: ({ duration_ms }) => duration_ms,
      isNumber: true,
    },
    { name: 'stages', cell: (request) => <StageBar request={request} longest_ms={longest_ms} /> },
    { name: 'status', cell: ({ status }) => status, order: ({ status }) => status, isMinor: true },
    {
      name: 'in',
      cell: ({ request_bytes }) => bytesText(request_bytes),
      order: ({ request_bytes }) => request_bytes,
      isNumber: true,
      isMinor: true,
    },
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
  const text = [...request.stages_ms].map(([stage, ms]) => `${stage} ${durationText(ms / 1000)}`).join(', ')
  return (
    <span class="stages-bar" title={text}>
      <span class="unseen">{text}</span>
      {stageColours.map(({ stage, className }) => {
        const width = `${(100 * (request.stages_ms.get(stage) ?? 0)) / Math.max(longest_ms, 0.001)}%`
        return <i key={stage} class={`stage ${className}`} aria-hidden="true" style={{ width }} />
      })}
    </span>
  )
}

function Services() {
  const known = useResource('/admin/metrics', readServices, 5_000)
  return (
    <section aria-labelledby="services">
      <h2 id="services">By tenant and path</h2>
      <Shown known={known} what="The metrics">
        {(rows) => (
          <DataTable
            caption="Requests by tenant and path, since the metrics were reset"
            columns={serviceColumns}
            rows={rows}
            keyOf={({ tenant, path }) => `${tenant} ${path}`}
            empty="No request has been counted by tenant and path yet."
          />
        )}
      </Shown>
    </section>
  )
}

const serviceColumns: readonly Column<ServiceRow>[] = [
  { name: 'tenant', cell: ({ tenant }) => <span class="stored">{tenant}</span>, order: ({ tenant }) => tenant },
  { name: 'path', cell: ({ path }) => <span class="stored">{path}</span>, order: ({ path }) => path },
  { name: 'requests', cell: ({ requests }) => countText(requests), order: ({ requests }) => requests, isNumber: true },
  { name: 'errors', cell: ({ errors }) => countText(errors), order: ({ errors }) => errors, isNumber: true },
  { name: 'mean', cell: ({ mean_s }) => durationText(mean_s), order: ({ mean_s }) => mean_s, isNumber: true },
  {
    name: 'bytes in',
    cell: ({ in_bytes }) => bytesText(in_bytes),
    order: ({ in_bytes }) => in_bytes,
    isNumber: true,
    isMinor: true,
  },
  { name: 'sent', cell: ({ sent }) => countText(sent), order: ({ sent }) => sent, isNumber: true, isMinor: true },
]
