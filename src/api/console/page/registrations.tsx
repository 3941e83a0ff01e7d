import type { RegistrationList as RegistrationPage, ShownRegistration } from '../shapes.js'
import { linkTo, nameOfDefault, openPage, useTenant } from './address.js'
import { countText } from './format.js'
import { countColumn, lastFailureColumn, minor, textColumn } from './parts/columns.js'
import type { Column } from './parts/data-table.js'
import { ChoiceField, SearchField, useParameter } from './parts/filter-fields.js'
import { FoldedJson } from './parts/json.js'
import { ListPage } from './parts/list-page.js'
import { PageHead } from './parts/page-head.js'
import { FactList, OptionalTime, StatusChip, StoredText } from './parts/small-parts.js'
import { Shown } from './parts/states.js'
import { useResource } from './session.js'

/** Registrations, and the calls of their providers; a single registration if its id is in the address. */
export function RegistrationsPage() {
  const id = useParameter('id')
  return id === undefined ? <RegistrationList /> : <RegistrationDetail id={id} key={id} />
}

function RegistrationList() {
  const filters = { text: useParameter('text'), status: useParameter('status'), service: useTenant() }
  return (
    <ListPage<RegistrationPage, ShownRegistration>
      title="Registrations"
      path="/admin/registrations"
      filters={filters}
      fields={
        <>
          <SearchField name="text" label="Text" hint="entity, attribute, provider, id" isFirst />
          <ChoiceField name="status" label="Status" all="all" choices={['active', 'inactive', 'expired']} />
        </>
      }
      rowsOf={({ registrations }) => registrations}
      columns={columns}
      keyOf={({ id }) => id}
      open={({ id }) => openPage('registrations', { id })}
      empty="No registration fits. Providers of context are registered with POST /v2/registrations or POST /v1/registry/registerContext."
    />
  )
}

function aboutText({ contexts: [context] }: ShownRegistration): string {
  if (context === undefined) return 'nothing'
  const [entity, ...others] = context.entities
  const what =
    entity === undefined
      ? 'any entity'
      : `${entity.id === '' ? 'all' : entity.id}${entity.type === '' ? '' : ` of ${entity.type}`}`
  const names = context.attributes.map(({ name }) => name).join(', ')
  return `${what}${others.length === 0 ? '' : ` and ${others.length} more`}${names === '' ? '' : `: ${names}`}`
}

function providerOf({ contexts: [context] }: ShownRegistration): string {
  return context?.provider ?? ''
}

const columns: readonly Column<ShownRegistration>[] = [
  { name: 'status', cell: ({ status }) => <StatusChip status={status} />, order: ({ status }) => status },
  { name: 'about', cell: (row) => <StoredText text={aboutText(row)} most={80} />, order: aboutText },
  {
    name: 'provider',
    cell: (row) => <StoredText text={providerOf(row)} most={60} />,
    order: providerOf,
    isMinor: true,
  },
  textColumn('asked for', ({ mode }) => mode, minor),
  textColumn('tenant', ({ service = '' }) => service, minor),
  countColumn('calls', ({ calls }) => calls),
  countColumn('failed', ({ failures }) => failures),
  lastFailureColumn,
]

function RegistrationDetail({ id }: { readonly id: string }) {
  const path = `/admin/registrations/${encodeURIComponent(id)}`
  const known = useResource<ShownRegistration>(path)
  return (
    <>
      <p>
        <a href={linkTo('registrations')}>All registrations</a>
      </p>
      <PageHead title={`Registration ${id}`} curl={[path]} />
      <Shown known={known} what="The registration">
        {(registration) => (
          <>
            <FactList
              facts={[
                ['status', <StatusChip key="status" status={registration.status} />],
                ['description', registration.description && <StoredText text={registration.description} />],
                ['provider', <StoredText key="provider" text={providerOf(registration)} most={300} />],
                ['tenant', registration.service ?? nameOfDefault],
                ['service path', registration.servicePath],
                ['asked for', registration.mode],
                ['in the form of', registration.legacy ? 'NGSIv1' : 'NGSIv2'],
                ['expires', registration.expires && <OptionalTime date={registration.expires} />],
                ['calls', countText(registration.calls)],
                ['failed', countText(registration.failures)],
                ['last call', <OptionalTime key="call" date={registration.lastCall} />],
                ['last failure', <OptionalTime key="failure" date={registration.lastFailure} />],
                ['because', registration.lastFailureReason],
              ]}
            />
            <section>
              <h2>As it is stored</h2>
              <FoldedJson value={registration.contexts} open={3} />
            </section>
          </>
        )}
      </Shown>
    </>
  )
}
