import type { AlarmList, ShownAlarm } from '../shapes.js'
import { openPage } from './address.js'
import { countText, reasonText } from './format.js'
import { alarmPage, plainHost } from './overview/delivery-concerns.js'
import { countColumn, minor, textColumn, timeColumn } from './parts/columns.js'
import { type Column, DataTable } from './parts/data-table.js'
import { ChoiceField, pathWith, SearchField, useParameter } from './parts/filter-fields.js'
import { PageHead } from './parts/page-head.js'
import { Chip, StoredText } from './parts/small-parts.js'
import { Shown } from './parts/states.js'
import { useResource } from './session.js'

/** The most alarms that are read. */
const limit = 1000

const kinds = ['NotificationError', 'MqttConnectionError', 'ForwardingError', 'BadInput', 'DatabaseError'] as const

/** The active alarms: who, since when, how often, why. */
export function AlarmsPage() {
  const kind = useParameter('kind')
  const call = pathWith('/admin/alarms', { kind, limit })
  const known = useResource<AlarmList>(call)
  return (
    <>
      <PageHead title="Alarms" curl={[call]} />
      <search class="finder">
        <ChoiceField name="kind" label="Kind" all="all" choices={kinds} />
        <SearchField name="text" label="Text" hint="who or why" isFirst />
      </search>
      <Shown known={known} what="The alarms">
        {(list) => <Alarms list={list} kind={kind} />}
      </Shown>
    </>
  )
}

function Alarms({ list, kind }: { readonly list: AlarmList; readonly kind: string | undefined }) {
  const wanted = (useParameter('text') ?? '').toLowerCase()
  const rows = list.alarms.filter(({ subject = '', reason }) => `${subject} ${reason}`.toLowerCase().includes(wanted))
  const active = Object.entries(list.counts)
    .filter(([name]) => kind === undefined || name === kind)
    .reduce((sum, [, count]) => sum + count.active, 0)
  return (
    <>
      <DataTable
        caption="Active alarms, the newest first"
        columns={columns}
        rows={rows}
        keyOf={({ kind, subject = '', since, reason }) => `${kind} ${subject} ${since} ${subject === '' ? reason : ''}`}
        open={({ kind, subject = '' }) => openPage(alarmPage(kind), { text: plainHost(subject) })}
        empty={active === 0 ? 'There are no alarms.' : 'No alarm matches.'}
      />
      {active > list.alarms.length && (
        <p class="quiet">
          These are the newest {countText(list.alarms.length)} of {countText(active)}.
        </p>
      )}
    </>
  )
}

const columns: readonly Column<ShownAlarm>[] = [
  {
    name: 'alarm',
    cell: ({ kind, isOver }) => <Chip tone={isOver ? 'warning' : 'bad'}>{isOver ? `${kind}, over` : kind}</Chip>,
    order: ({ kind }) => kind,
  },
  {
    name: 'who',
    cell: ({ subject }) => (subject === undefined ? '–' : <StoredText text={subject} most={80} />),
    order: ({ subject = '' }) => subject,
  },
  timeColumn('since', ({ since }) => since),
  countColumn('times', ({ occurrences }) => occurrences),
  timeColumn('last', ({ last }) => last, minor),
  textColumn('why', ({ reason }) => reasonText(reason)),
]
