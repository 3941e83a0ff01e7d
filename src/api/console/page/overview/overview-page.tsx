import type { ComponentChildren } from 'preact'
import { linkTo, useSpan } from '../address.js'
import { countText, durationText, rateText } from '../format.js'
import { connection, type Live, live, restarts, series } from '../live-state.js'
import { type Moment, type PartitionMoment, waitingIn } from '../moment.js'
import { useObservable } from '../observable.js'
import { pages } from '../pages.js'
import {
  bytesColumn,
  countColumn,
  durationColumn,
  minor,
  rateColumn,
  shareColumn,
  textColumn,
} from '../parts/columns.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { FoldedJson } from '../parts/json.js'
import { PageHead } from '../parts/page-head.js'
import { BusyBar, Chip } from '../parts/small-parts.js'
import { Sparkline } from '../parts/sparkline.js'
import { LoadingState, Stale } from '../parts/states.js'
import { thinned } from '../series.js'
import { concernsOf, threadName } from './concerns.js'
import { StageTable, TrafficCharts } from './stage-table.js'

/** The health of the broker, its activity, and the concerns. */
export function OverviewPage() {
  const known = useObservable(live)
  const state = useObservable(connection)
  return (
    <>
      <PageHead title="Overview" curl={['/admin/live', '/metrics']} />
      {known === undefined ? (
        <LoadingState what="the figures of the broker" />
      ) : (
        <Stale since_ms={state.kind === 'lost' ? known.latest.frame.time_ms : undefined}>
          <Concerns known={known} />
          <Cards known={known} />
          <TrafficCharts />
          {known.recent && <Details known={known} recent={known.recent} />}
        </Stale>
      )}
    </>
  )
}

function Concerns({ known }: { readonly known: Live }) {
  const { concerns, more } = concernsOf(known, useObservable(restarts))
  return (
    <section class="concerns" aria-labelledby="look-at">
      <h2 id="look-at">What to look at</h2>
      {concerns.length === 0 ? (
        <p>
          <Chip tone="good">All is well.</Chip>
        </p>
      ) : (
        <ul>
          {concerns.map(({ tone, text, advice, page }) => (
            <li key={text}>
              <Chip tone={tone}>{text}</Chip> <PageLink id={page} />
              <p>{advice}</p>
            </li>
          ))}
          {more > 0 && (
            <li>
              and {countText(more)} more <PageLink id="alarms" />
            </li>
          )}
        </ul>
      )}
    </section>
  )
}

/** Nothing for the open page, or for a page that this console does not have. */
function PageLink({ id }: { readonly id: string }) {
  const page = pages.find((each) => each.id === id && each.id !== 'overview')
  return page === undefined ? null : <a href={linkTo(id)}>{page.title}</a>
}

/** The number of points under a figure. */
const points = 120

function Cards({ known: { recent, latest } }: { readonly known: Live }) {
  const seconds = series.shown(useSpan().seconds)
  const course = (name: string) => <Sparkline values={thinned(series.last(name, seconds), points)} />
  const { depth, lag_s } = waitingIn(latest.frame)
  return (
    <ul class="cards" aria-label="Figures of the last ten seconds">
      <Card name="updates/s" value={recent && rateText(recent.updates)} course={course('updates')} />
      <Card name="reads/s" value={recent && rateText(recent.reads)} course={course('reads')} />
      <Card name="errors/s" value={recent && rateText(recent.errors)} course={course('errors')} />
      <Card name="p99 update" value={recent && durationText(recent.update.p99_s)} course={course('p99Update')} />
      <Card name="notified/s" value={recent && rateText(recent.notified)} course={course('notified')} />
      <Card
        name="notification lag"
        value={lag_s < 1 ? 'none' : durationText(lag_s)}
        note={`${countText(depth)} wait`}
        course={course('lag')}
      />
    </ul>
  )
}

function Card({
  name,
  value = '–',
  note,
  course,
}: {
  readonly name: string
  readonly value?: string | undefined
  readonly note?: string | undefined
  readonly course: ComponentChildren
}) {
  return (
    <li class="card">
      <p class="card-name">{name}</p>
      <p class="card-value">{value}</p>
      <p class="card-note">{note ?? '\u00a0'}</p>
      {course}
    </li>
  )
}

function Details({ known, recent }: { readonly known: Live; readonly recent: Moment }) {
  return (
    <>
      <div class="side-by-side">
        <section aria-labelledby="stages">
          <h2 id="stages">Where an update spends its time</h2>
          <StageTable recent={recent} />
        </section>
        <section aria-labelledby="busy">
          <h2 id="busy">Busy threads</h2>
          <ul class="busy">
            {known.hello.threads.map(({ kind, number }, at) => {
              const share = recent.busy[at] ?? Number.NaN
              const name = threadName(kind, number)
              return (
                <li key={name}>
                  <span>{name}</span>
                  <BusyBar share={share} />
                </li>
              )
            })}
          </ul>
        </section>
      </div>
      <section aria-labelledby="partitions">
        <h2 id="partitions">Partitions</h2>
        <DataTable
          caption="Partitions"
          columns={partitionColumns}
          rows={recent.partitions}
          keyOf={({ number }) => String(number)}
          empty="There are no partitions."
        />
      </section>
      <details>
        <summary>What the broker has sent last</summary>
        <FoldedJson value={known.latest.frame} open={1} />
      </details>
    </>
  )
}

const partitionColumns: readonly Column<PartitionMoment>[] = [
  textColumn('partition', ({ number }) => number),
  {
    name: 'busy',
    cell: ({ busy }) => <BusyBar share={busy} />,
    order: ({ busy }) => busy || 0,
    isNumber: true,
  },
  rateColumn('commands/s', ({ commands }) => commands, { isSummed: true }),
  countColumn('mailbox', ({ mailboxDepth }) => mailboxDepth, { isSummed: true }),
  durationColumn('commit p50', ({ commit }) => commit.p50_s, minor),
  durationColumn('commit p99', ({ commit }) => commit.p99_s),
  shareColumn('committing', ({ commitShare }) => commitShare, minor),
  countColumn('entities', ({ entities }) => entities, { isSummed: true }),
  bytesColumn('disk', ({ used_bytes }) => used_bytes, { isMinor: true, isSummed: true }),
]
