import { openPage } from '../address.js'
import { bytesText, countText } from '../format.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { ChoiceField, Pager, pathWith, SearchField, useOffset, useParameter } from '../parts/filter-fields.js'
import { OptionalTime } from '../parts/optional-time.js'
import { PageHead } from '../parts/page-head.js'
import { Shown } from '../parts/states.js'
import { StoredText } from '../parts/stored-text.js'
import { useResource } from '../resource.js'
import { StatusChip } from './status-chip.js'
import { SubscriptionDetail } from './subscription-detail.js'
import { aboutText, readSubscriptionPage, type SubscriptionInList } from './subscriptions-reading.js'

/** Subscriptions with how their deliveries go; one of them in full where the address says its id. */
export function SubscriptionsPage() {
  const id = useParameter('id')
  return id === undefined ? <SubscriptionList /> : <SubscriptionDetail id={id} key={id} />
}

const limit = 100
const statuses = ['active', 'failed', 'inactive', 'oneshot', 'expired']

function SubscriptionList() {
  const offset = useOffset()
  const asked = {
    text: useParameter('text'),
    receiver: useParameter('receiver'),
    status: useParameter('status'),
    service: useParameter('tenant'),
  }
  const path = pathWith('/admin/subscriptions', { details: 'on', ...asked, limit, offset })
  const known = useResource(path, readSubscriptionPage)
  return (
    <>
      <PageHead title="Subscriptions" curl={[path]} />
      <search class="finder">
        <SearchField name="text" label="Text" hint="entity, attribute, id, description" isFirst />
        <SearchField name="receiver" label="Receiver" hint="part of its URL" />
        <SearchField name="tenant" label="Tenant" hint="all" />
        <ChoiceField name="status" label="Status" all="all" choices={statuses} />
      </search>
      <Shown known={known} what="The subscriptions">
        {({ count, subscriptions }) => (
          <>
            <DataTable
              caption="Subscriptions"
              columns={columns}
              rows={subscriptions}
              keyOf={({ id }) => id}
              open={({ id }) => openPage('subscriptions', { id })}
              empty="No subscription fits. Clients make them with POST /v2/subscriptions or POST /v1/subscribeContext."
            />
            {count > 0 && <Pager count={count} limit={limit} what="subscriptions" />}
          </>
        )}
      </Shown>
    </>
  )
}

const time = (date: string | undefined) => (date === undefined ? 0 : Date.parse(date))

const columns: readonly Column<SubscriptionInList>[] = [
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
  { name: 'sent', cell: ({ timesSent }) => countText(timesSent), order: ({ timesSent }) => timesSent, isNumber: true },
  {
    name: 'failed in a row',
    cell: ({ failsCounter }) => countText(failsCounter),
    order: ({ failsCounter }) => failsCounter,
    isNumber: true,
    isMinor: true,
  },
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
  {
    name: 'oldest',
    cell: ({ oldestQueued }) => <OptionalTime date={oldestQueued} />,
    order: ({ oldestQueued }) => time(oldestQueued),
    isNumber: true,
    isMinor: true,
  },
  {
    name: 'last success',
    cell: ({ lastSuccess }) => <OptionalTime date={lastSuccess} />,
    order: ({ lastSuccess }) => time(lastSuccess),
    isNumber: true,
    isMinor: true,
  },
  {
    name: 'next attempt',
    cell: ({ nextAttempt }) => <OptionalTime date={nextAttempt} />,
    order: ({ nextAttempt }) => time(nextAttempt),
    isNumber: true,
    isMinor: true,
  },
  {
    name: 'discarded',
    cell: ({ discarded }) => countText(discarded),
    order: ({ discarded }) => discarded,
    isNumber: true,
    isMinor: true,
  },
]
