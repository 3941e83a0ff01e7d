import type { ReadyState, TenantList } from '../shapes.js'
import { defaultTenant, linkTo, nameOfDefault, openedAddress, setParameter, spans, useSpan } from './address.js'
import { spanText } from './format.js'
import { helpShown } from './keyboard.js'
import { connection, live } from './live-state.js'
import { useClock, useObservable } from './observable.js'
import { Chip } from './parts/small-parts.js'
import { paused, readOnly, useResource } from './session.js'
import { nextTheme, theme } from './theme.js'

/** The state of the broker, on every page, and the controls that all pages share. */
export function StatusHeader() {
  return (
    <header class="status">
      <a class="name" href={linkTo('')}>
        Rigel
      </a>
      <Facts />
      <div class="switches">
        <TenantSwitch />
        <SpanSwitch />
        <PauseButton />
      </div>
      <div class="switches last">
        <Alarms />
        <ThemeButton />
        <button
          type="button"
          class="icon"
          onClick={() => helpShown.set(true)}
          aria-label="Keys and help"
          title="Keys (?)"
        >
          ?
        </button>
      </div>
    </header>
  )
}

function Facts() {
  const known = useObservable(live)
  const { kind } = useObservable(connection)
  const onlyReads = useObservable(readOnly)
  const { value, fault } = useResource<ReadyState>(kind === 'lost' ? undefined : '/health/ready', 5_000)
  const isReady = value?.status === 'ok' && fault === undefined
  return (
    <p class="facts">
      {known && <b title={`on ${known.hello.host}`}>{known.hello.name}</b>}
      {known && known.hello.host !== known.hello.name && <span class="quiet">{known.hello.host}</span>}
      {known && <span class="quiet">{known.hello.version}</span>}
      {kind === 'lost' ? (
        <Chip tone="bad">not reached</Chip>
      ) : value === undefined && fault === undefined ? (
        <Chip>opening</Chip>
      ) : (
        <Chip tone={isReady ? 'good' : 'warning'}>{isReady ? 'ready' : 'not ready'}</Chip>
      )}
      {known && <Uptime start_ms={known.hello.processStart_ms} />}
      {known && (
        <span class="quiet" title="Whether an update is answered when it is on disk (-writeConcern)">
          fsync {known.hello.isDurable ? 'on' : 'off'}
        </span>
      )}
      {onlyReads && (
        <span title="This console changes nothing, because others reach this port and the broker has no token. Set -adminToken, or let the port listen on this machine only (-localIp 127.0.0.1, or -adminPort).">
          <Chip tone="warning">read only</Chip>
        </span>
      )}
    </p>
  )
}

function Uptime({ start_ms }: { readonly start_ms: number }) {
  return <span class="quiet">up {spanText((useClock() - start_ms) / 1000)}</span>
}

/** The pages that show one tenant; others show all of them while none is chosen. */
const ofOneTenant: ReadonlySet<string> = new Set(['entities'])

/** Chooses the tenant that pages show; there once there is a tenant with a name. */
function TenantSwitch() {
  const { page, parameters } = useObservable(openedAddress)
  const chosen = parameters.get('tenant') ?? ''
  const { value } = useResource<TenantList>('/admin/tenants?limit=1000', 30_000)
  const known = value?.tenants.map(({ service }) => service).filter((name) => name !== '') ?? []
  if (known.length === 0 && chosen === '') return null
  const isOfOne = ofOneTenant.has(page)
  const names = known.includes(chosen) || chosen === '' || chosen === defaultTenant ? known : [...known, chosen]
  return (
    <label class="field">
      <span class="unseen">Tenant that pages show</span>
      <select
        value={chosen === '' && isOfOne ? defaultTenant : chosen}
        onChange={({ currentTarget }) => setParameter('tenant', currentTarget.value)}
      >
        {!isOfOne && <option value="">all tenants</option>}
        <option value={defaultTenant}>{nameOfDefault}</option>
        {names.toSorted().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function SpanSwitch() {
  const { name } = useSpan()
  return (
    <label class="field">
      <span class="unseen">Time that charts show</span>
      <select value={name} onChange={({ currentTarget }) => setParameter('last', currentTarget.value)}>
        {spans.map((span) => (
          <option key={span.name} value={span.name}>
            {span.title}
          </option>
        ))}
      </select>
    </label>
  )
}

function PauseButton() {
  const still = useObservable(paused)
  return (
    <button
      type="button"
      class="icon"
      aria-pressed={still}
      onClick={() => paused.set(!still)}
      title="Pause (p)"
      aria-label="Pause"
    >
      <span aria-hidden="true">{still ? '▶' : '❚❚'}</span>
    </button>
  )
}

/** The only live region of the console. */
function Alarms() {
  const known = useObservable(live)
  const active = Object.values(known?.latest.frame.alarms ?? {}).reduce((sum, [now]) => sum + now, 0)
  const text = active === 0 ? 'no alarms' : `${active} alarm${active === 1 ? '' : 's'}`
  return (
    <span class={active === 0 ? 'alarms quiet' : 'alarms'} aria-live="polite">
      {known && (
        <a href={linkTo('alarms')} title="Who, since when, how often, why">
          {active === 0 ? text : <Chip tone="bad">{text}</Chip>}
        </a>
      )}
    </span>
  )
}

const themeSigns = { system: '◐', light: '☀', dark: '☾' } as const

function ThemeButton() {
  const chosen = useObservable(theme)
  const label = `Colours: ${chosen === 'system' ? 'as the system' : chosen}`
  return (
    <button type="button" class="icon" onClick={nextTheme} aria-label={label} title={label}>
      <span aria-hidden="true">{themeSigns[chosen]}</span>
    </button>
  )
}
