import type { ReceiverList, ShownReceiver } from '../shapes.js'
import { openPage } from './address.js'
import { bytesText, countText } from './format.js'
import { countColumn, durationColumn, lastFailureColumn, minor, timeColumn } from './parts/columns.js'
import type { Column } from './parts/data-table.js'
import { SearchField, useParameter } from './parts/filter-fields.js'
import { ListPage } from './parts/list-page.js'
import { Chip, StoredText } from './parts/small-parts.js'
import { receiverState } from './receiver-state.js'

/** The receivers of notifications, and the state of their deliveries. */
export function ReceiversPage() {
  return (
    <ListPage<ReceiverList, ShownReceiver>
      title="Receivers"
      path="/admin/receivers"
      filters={{ text: useParameter('text') }}
      fields={<SearchField name="text" label="Text" hint="scheme, host or port" isFirst />}
      rowsOf={({ receivers }) => receivers}
      columns={columns}
      keyOf={({ receiver }) => receiver}
      open={openReceiver}
      empty="Nobody is delivered to: there is no subscription whose receiver fits."
    />
  )
}

/** Opens the receiver's only subscription, or all of its subscriptions. */
function openReceiver({ receiver, ids, subscriptions }: ShownReceiver): void {
  const [id] = ids
  openPage('subscriptions', subscriptions === 1 && id !== undefined ? { id } : { receiver })
}

const columns: readonly Column<ShownReceiver>[] = [
  {
    name: 'state',
    cell: (row) => {
      const { tone, text } = receiverState(row, Date.now())
      return <Chip tone={tone}>{text}</Chip>
    },
    order: (row) => receiverState(row, Date.now()).text,
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
  durationColumn('mean time', ({ meanLatency_ms: mean_ms }) => (mean_ms === undefined ? undefined : mean_ms / 1000)),
  countColumn('failed', ({ failed = 0 }) => failed, minor),
  lastFailureColumn,
]
