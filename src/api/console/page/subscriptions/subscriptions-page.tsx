import type { SubscriptionDetails, SubscriptionList as SubscriptionPage } from '../../shapes.js'
import { openPage, useTenant } from '../address.js'
import { bytesText, countText } from '../format.js'
import { countColumn, minor, timeColumn } from '../parts/columns.js'
import type { Column } from '../parts/data-table.js'
import { ChoiceField, SearchField, useParameter } from '../parts/filter-fields.js'
import { ListPage } from '../parts/list-page.js'
import { StatusChip, StoredText } from '../parts/small-parts.js'
import { SubscriptionDetail } from './subscription-detail.js'

/** Subscriptions with the state of their deliveries; a single one if its id is in the address. */
export function SubscriptionsPage() {
  const id = useParameter('id')
  return id === undefined ? <SubscriptionList /> : <SubscriptionDetail id={id} key={id} />
}

const statuses = ['active', 'failed', 'inactive', 'oneshot', 'expired']

function SubscriptionList() {
  const filters = {
    details: 'on',
    text: useParameter('text'),
    receiver: useParameter('receiver'),
    status: useParameter('status'),
    service: useTenant(),
  }
  return (
    <ListPage<SubscriptionPage, SubscriptionDetails>
      title="Subscriptions"
      path="/admin/subscriptions"
      filters={filters}
      fields={
        <>
          <SearchField name="text" label="Text" hint="entity, attribute, id, description" isFirst />
          <SearchField name="receiver" label="Receiver" hint="part of its URL" />
          <ChoiceField name="status" label="Status" all="all" choices={statuses} />
        </>
      }
      rowsOf={({ subscriptions }) => subscriptions}
      columns={columns}
      keyOf={({ id }) => id}
      open={({ id }) => openPage('subscriptions', { id })}
      empty="No subscription fits. Clients make them with POST /v2/subscriptions or POST /v1/subscribeContext."
    />
  )
}

/** The subject of a subscription, in a line. */
function aboutText({ subject }: Pick<SubscriptionDetails, 'subject'>): string {
  const entities = subject.entities.map(({ id, idPattern, type, typePattern }) => {
    const ofId = id ?? (idPattern === undefined || idPattern === '.*' ? 'any' : `/${idPattern}/`)
    const ofType = type ?? (typePattern === undefined ? undefined : `/${typePattern}/`)
    return ofType === undefined ? ofId : `${ofId} of ${ofType}`
  })
  const [first = 'nothing', ...others] = entities
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

const columns: readonly Column<SubscriptionDetails>[] = [
  { name: 'status', cell: ({ status }) => <StatusChip status={status} />, order: ({ status }) => status },
  {
    name: 'about',
    cell: (row) => (
      <>
        <StoredText text={aboutText(row)} most={60} />
        {row.description !== undefined && (
          <div class="quiet">
            <StoredText text={row.description} most={60} />
          </div>
        )}
      </>
    ),
    order: aboutText,
  },
  {
    name: 'receiver',
    cell: ({ reference }) => <StoredText text={reference} most={60} />,
    order: ({ reference }) => reference,
    isMinor: true,
  },
  countColumn('sent', ({ timesSent }) => timesSent),
  countColumn('failed in a row', ({ failsCounter }) => failsCounter, minor),
  {
    name: 'waiting',
    cell: ({ queueDepth, queueBytes }) => (
      <span title={bytesText(queueBytes)}>
        {countText(queueDepth)}
        {queueDepth > 0 && <span class="quiet"> · {bytesText(queueBytes)}</span>}
      </span>
    ),
    order: ({ queueDepth }) => queueDepth,
    isNumber: true,
  },
  timeColumn('oldest', ({ oldestQueued }) => oldestQueued, minor),
  timeColumn('last success', ({ lastSuccess }) => lastSuccess, minor),
  timeColumn('next attempt', ({ nextAttempt }) => nextAttempt, minor),
  countColumn('discarded', ({ discarded }) => discarded, minor),
]
