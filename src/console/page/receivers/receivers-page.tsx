import type { ReceiverList, ShownReceiver } from '../../shapes.js'
import { openPage } from '../address.js'
import { bytesText, countText } from '../format.js'
import { countColumn, durationColumn, minor, timeColumn } from '../parts/columns.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { Pager, pathWith, SearchField, useOffset, useParameter } from '../parts/filter-fields.js'
import { OptionalTime } from '../parts/optional-time.js'
import { PageHead } from '../parts/page-head.js'
import { Chip } from '../parts/small-parts.js'
import { Shown } from '../parts/states.js'
import { StoredText } from '../parts/stored-text.js'
import { useResource } from '../resource.js'

const limit = 100

/** Who is delivered to, and how that goes. */
export function ReceiversPage() {
  const offset = useOffset()
  const path = pathWith('/admin/receivers', { text: useParameter('text'), limit, offset })
  const known = useResource<ReceiverList>(path)
  return (
    <>
      <PageHead title="Receivers" curl={[path]} />
      <search class="finder">
        <SearchField name="text" label="Text" hint="scheme, host or port" isFirst />
      </search>
      <Shown known={known} what="The receivers">
        {({ count, receivers }) => (
          <>
            <DataTable
              caption="Receivers"
              columns={columns}
              rows={receivers}
              keyOf={({ receiver }) => receiver}
              open={openReceiver}
              empty="Nobody is delivered to: there is no subscription whose receiver fits."
            />
            {count > 0 && <Pager count={count} limit={limit} what="receivers" />}
          </>
        )}
      </Shown>
    </>
  )
}

/** The one subscription, or all of the receiver. */
function openReceiver({ receiver, ids, subscriptions }: ShownReceiver): void {
  const [id] = ids
  openPage('subscriptions', subscriptions === 1 && id !== undefined ? { id } : { receiver })
}

function isFailing({ lastFailure, lastSuccess }: ShownReceiver): boolean {
  return lastFailure !== undefined && (lastSuccess === undefined || Date.parse(lastFailure) > Date.parse(lastSuccess))
}

function stateOf(row: ShownReceiver): string {
  if (isFailing(row)) return 'failing'
  return row.accepted === undefined ? 'nothing sent yet' : 'well'
}

const columns: readonly Column<ShownReceiver>[] = [
  {
    name: 'state',
    cell: (row) => (
      <Chip tone={isFailing(row) ? 'bad' : row.accepted === undefined ? 'plain' : 'good'}>{stateOf(row)}</Chip>
    ),
    order: stateOf,
  },
  {
    name: 'receiver',
    cell: ({ receiver }) => <StoredText text={receiver} most={80} />,
    order: ({ receiver }) => receiver,
  },
  countColumn('subscriptions', ({ subscriptions }) => subscriptions, minor),
  countColumn('under way', ({ underWay }) => underWay, minor),
  {
    name: 'waiting',
    cell: ({ queueDepth, queueBytes }) => (
      <>
        {countText(queueDepth)}
        {queueDepth > 0 && <span class="quiet"> · {bytesText(queueBytes)}</span>}
      </>
    ),
    order: ({ queueDepth }) => queueDepth,
    isNumber: true,
  },
  timeColumn('oldest', ({ oldestQueued }) => oldestQueued, minor),
  durationColumn('takes', ({ meanLatency_ms: mean_ms }) => (mean_ms === undefined ? undefined : mean_ms / 1000)),
  countColumn('failed', ({ failed = 0 }) => failed, minor),
  {
    name: 'last failure',
    cell: ({ lastFailure, lastFailureReason = '' }) =>
      lastFailure === undefined ? (
        <span class="quiet">–</span>
      ) : (
        <>
          <OptionalTime date={lastFailure} /> <span class="quiet">{lastFailureReason}</span>
        </>
      ),
    order: ({ lastFailure = '' }) => lastFailure,
    isMinor: true,
  },
]
