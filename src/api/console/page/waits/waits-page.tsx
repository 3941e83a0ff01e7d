import type { ComponentChildren } from 'preact'
import type { WaitList } from '../../shapes.js'
import { spanText } from '../format.js'
import { useReset } from '../keyboard.js'
import { type StageName, stageNames } from '../moment.js'
import { useObservable } from '../observable.js'
import { ChangeFault, confirmChange, useChange } from '../parts/confirm.js'
import { PageHead } from '../parts/page-head.js'
import { FlagLink } from '../parts/small-parts.js'
import { Shown } from '../parts/states.js'
import { readOnly, useResource } from '../session.js'
import { WaitHeat } from './wait-heat.js'
import { WaitsByPartition, WaitsOfAll, waitMeanings } from './wait-tables.js'

const waitsPath = '/admin/waits?details=on'

/** The waits of requests, their lengths and their meanings. */
export function WaitsPage() {
  const known = useResource<WaitList>(waitsPath)
  const { change, fault } = useChange(known.again)
  const onlyReads = useObservable(readOnly)
  const reset = async () => {
    if (onlyReads || !(await confirmChange(resetChange))) return
    await change('/statistics', 'DELETE')
  }
  useReset(reset)
  const { value } = known
  return (
    <>
      <PageHead title="Waits" curl={[waitsPath, '/admin/sem']}>
        {value?.enabled && (
          <button type="button" disabled={onlyReads} onClick={reset}>
            Reset
          </button>
        )}
        {value && (
          <button
            type="button"
            role="switch"
            aria-checked={value.enabled}
            disabled={onlyReads}
            onClick={async () => {
              const isConfirmed = value.enabled ? true : await confirmChange(measureChange)
              if (isConfirmed) await change(`/admin/stats?semWait=${!value.enabled}`)
            }}
          >
            {value.enabled ? 'Measuring: on' : 'Measuring: off'}
          </button>
        )}
      </PageHead>
      <ChangeFault fault={fault} />
      <Shown known={known} what="The waits">
        {(reading) => <Reading reading={reading} />}
      </Shown>
    </>
  )
}

const resetChange = {
  title: 'Count from zero?',
  cost: 'All statistics of the broker start again at zero: those of GET /statistics and the waits, for everybody who reads them. The metrics for Prometheus go on.',
  action: 'Reset',
}

const measureChange = {
  title: 'Measure how long requests wait?',
  cost: 'Each wait costs two readings of the clock, until you switch this off or the broker ends. A request that is served at once costs nothing more.',
  action: 'Measure',
}

function Reading({ reading }: { readonly reading: WaitList }) {
  const { waits, interval } = reading
  if (waits === undefined) {
    return (
      <div class="state">
        <p>
          Waits are not measured. When you switch the measurement on, this page shows where requests wait, how long, and
          which settings help.
        </p>
        <ul class="meanings">
          {stageNames.map((name) => (
            <li key={name}>
              <b>{waitMeanings[name].title}</b>: {waitMeanings[name].what}{' '}
              <span>A high value means: {waitMeanings[name].high}</span>
            </li>
          ))}
        </ul>
      </div>
    )
  }
  return (
    <>
      <p class="quiet">
        Measured over {spanText(Number(interval))}. Only real waits count: a request that is served at once adds
        nothing.
      </p>
      <WaitsOfAll kinds={waits} />
      <div class="side-by-side">
        {stageNames.map((name) => (
          <Kind key={name} name={name}>
            <WaitsByPartition name={name} kind={waits[name]} />
          </Kind>
        ))}
      </div>
    </>
  )
}

/** One kind of wait: its meaning, its length over time, and its figures. */
function Kind({ name, children }: { readonly name: StageName; readonly children: ComponentChildren }) {
  const { title, what, high, turn } = waitMeanings[name]
  return (
    <section aria-labelledby={`wait-${name}`}>
      <h2 id={`wait-${name}`}>{title}</h2>
      <p>{what}</p>
      <p class="quiet">
        A high value means: {high} Settings that help: <Turns flags={turn} />
      </p>
      <WaitHeat name={name} title={`How long requests waited: ${title.toLowerCase()}`} />
      {children}
    </section>
  )
}

function Turns({ flags }: { readonly flags: readonly string[] }) {
  return (
    <>
      {flags.map((flag, at) => (
        <span key={flag}>
          {at > 0 && ', '}
          {flag.startsWith('-') ? <FlagLink flag={flag} /> : <code class="flag">{flag}</code>}
        </span>
      ))}
      .
    </>
  )
}
