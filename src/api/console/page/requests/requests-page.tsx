import { useState } from 'preact/hooks'
import type { ServiceMetrics, SlowList } from '../../shapes.js'
import { countText } from '../format.js'
import { connection, live } from '../live-state.js'
import { useObservable } from '../observable.js'
import { bytesColumn, countColumn, durationColumn, minor, rateColumn, textColumn } from '../parts/columns.js'
import { ChangeFault, confirmChange, useChange } from '../parts/confirm.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { PageHead } from '../parts/page-head.js'
import { LoadingState, Shown, Stale } from '../parts/states.js'
import { readOnly, useResource } from '../session.js'
import { type RouteRow, rejectedOf, routesOf } from './routes-of-live.js'
import { SlowTable } from './slow-table.js'

/** The requests of clients: by route, slow ones with their stages, by tenant and path, and rejected ones. */
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
        Rates and percentiles cover the last ten seconds. Counts, errors and bytes are since the start of the broker.
        Bytes are those of a route with all its methods. The console's own requests are left out.
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
  textColumn('method', ({ method }) => method),
  { name: 'route', cell: ({ route }) => <span class="stored">{route}</span>, order: ({ route }) => route },
  rateColumn('rate/s', ({ rate }) => rate, { isSummed: true }),
  countColumn('count', ({ count }) => count, { isMinor: true, isSummed: true }),
  durationColumn('p50', ({ p50_s }) => p50_s, minor),
  durationColumn('p99', ({ p99_s }) => p99_s),
  { name: 'errors', cell: ({ errors }) => errors || 'none' },
  bytesColumn('bytes in', ({ in_bytes }) => in_bytes, minor),
  bytesColumn('bytes out', ({ out_bytes }) => out_bytes, minor),
]

function SlowRequests() {
  const known = useResource<SlowList>('/admin/slow')
  const onlyReads = useObservable(readOnly)
  const { change, fault } = useChange(known.again)
  const [above, setAbove] = useState('50')
  return (
    <section aria-labelledby="slow">
      <h2 id="slow">Slow requests</h2>
      <form
        class="filters"
        onSubmit={async (event) => {
          event.preventDefault()
          if (await confirmChange(keepChange(above))) await change(`/admin/slow?above=${Number(above)}`)
        }}
      >
        <label>
          Record requests that take longer than{' '}
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
          Record
        </button>
        {known.value !== undefined && known.value.above > 0 && (
          <button type="button" disabled={onlyReads} onClick={() => change('/admin/slow?above=0')}>
            Stop recording
          </button>
        )}
      </form>
      {onlyReads && (
        <p class="quiet">
          This console is read only. On the machine of the broker, this records them:{' '}
          <code>curl -X PUT '{location.origin}/admin/slow?above=50'</code>
        </p>
      )}
      <ChangeFault fault={fault} />
      <Shown known={known} what="The slow requests">
        {(slow) => <SlowTable slow={slow} />}
      </Shown>
    </section>
  )
}

function keepChange(above: string) {
  return {
    title: `Record requests that take longer than ${above} ms?`,
    cost: 'The broker keeps the last 256 of them until you switch this off or the broker ends. Meanwhile every request reads the clock a few times more often.',
    action: 'Record them',
  }
}

function Services() {
  const known = useResource<ServiceMetrics>('/admin/metrics', 5_000)
  return (
    <section aria-labelledby="services">
      <h2 id="services">By tenant and path</h2>
      <Shown known={known} what="The metrics">
        {(metrics) => (
          <DataTable
            caption="Requests by tenant and path, since the metrics were reset"
            columns={serviceColumns}
            rows={servicesOf(metrics)}
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
  countColumn('requests', ({ requests }) => requests),
  countColumn('errors', ({ errors }) => errors),
  durationColumn('mean', ({ mean_s }) => mean_s),
  bytesColumn('bytes in', ({ in_bytes }) => in_bytes, minor),
  countColumn('sent', ({ sent }) => sent, minor),
]

/** The requests of a tenant in a path since the metrics were reset. */
interface ServiceRow {
  readonly tenant: string
  readonly path: string
  readonly requests: number
  readonly errors: number
  readonly mean_s: number
  readonly in_bytes: number
  /** Notifications and forwarded requests. */
  readonly sent: number
}

/** The rows of `/admin/metrics`. */
function servicesOf({ services }: ServiceMetrics): readonly ServiceRow[] {
  return Object.entries(services).flatMap(([tenant, { subservs }]) =>
    Object.entries(subservs).map(([path, each]) => ({
      tenant,
      path,
      requests: each.incomingTransactions ?? 0,
      errors: each.incomingTransactionErrors ?? 0,
      mean_s: each.serviceTime ?? 0,
      in_bytes: each.incomingTransactionRequestSize ?? 0,
      sent: each.outgoingTransactions ?? 0,
    })),
  )
}
