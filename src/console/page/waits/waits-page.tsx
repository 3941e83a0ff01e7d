import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { spanText } from '../format.js'
import { useReset } from '../frame/keyboard.js'
import { useObservable } from '../observable.js'
import { confirmChange } from '../parts/confirm.js'
import { CopyButton } from '../parts/copy-button.js'
import { FlagLink } from '../parts/flag-link.js'
import { PageHead } from '../parts/page-head.js'
import { Shown } from '../parts/states.js'
import { useResource } from '../resource.js'
import { readOnly, send, sentenceOf } from '../session.js'
import { WaitHeat } from './wait-heat.js'
import { WaitsByPartition, WaitsOfAll } from './wait-tables.js'
import { ComparedKind, type Comparison, ComparisonNote, secondInterval } from './waits-comparison.js'
import { readWaits, type WaitName, type WaitsReading, waitMeanings, waitNames, waitsPath } from './waits-reading.js'
import { waitsMarkdown } from './waits-text.js'

/** What requests wait for, how long, and what that means. */
export function WaitsPage() {
  const known = useResource(waitsPath, readWaits)
  const [comparison, setComparison] = useState<Comparison>()
  const [fault, setFault] = useState<string>()
  const onlyReads = useObservable(readOnly)
  const change = async (path: string, method: 'PUT' | 'DELETE') => {
    try {
      await send(path, { method })
      setFault(undefined)
    } catch (thrown) {
      setFault(sentenceOf(thrown))
    }
    known.again()
  }
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
          <>
            <CompareButtons now={value} comparison={comparison} compare={setComparison} />
            <CopyButton text={() => waitsMarkdown(intervalsOf(value, comparison))}>Copy as Markdown</CopyButton>
            <button type="button" disabled={onlyReads} onClick={reset}>
              Reset
            </button>
          </>
        )}
        {value && (
          <button
            type="button"
            role="switch"
            aria-checked={value.enabled}
            disabled={onlyReads}
            onClick={async () => {
              const asked = value.enabled ? true : await confirmChange(measureChange)
              if (asked) await change(`/admin/stats?semWait=${!value.enabled}`, 'PUT')
            }}
          >
            {value.enabled ? 'Measuring: on' : 'Measuring: off'}
          </button>
        )}
      </PageHead>
      {fault && <p class="failed">That was not done: {fault}.</p>}
      <Shown known={known} what="The waits">
        {(reading) => <Reading reading={reading} comparison={comparison} />}
      </Shown>
    </>
  )
}

const resetChange = {
  title: 'Count from zero?',
  cost: 'All statistics of the broker begin anew: those of GET /statistics and the waits, for everybody who reads them. The metrics for Prometheus go on.',
  action: 'Reset',
}

const measureChange = {
  title: 'Measure how long requests wait?',
  cost: 'Two readings of the clock for each wait, until it is switched off or the broker ends. What is free at once costs nothing more.',
  action: 'Measure',
}

/** What is copied: all that is shown. */
function intervalsOf(now: WaitsReading, comparison: Comparison | undefined) {
  if (comparison === undefined) return [{ name: '', reading: now }]
  return [
    { name: 'A', reading: comparison.a },
    { name: 'B', reading: secondInterval(comparison, now) },
  ]
}

/** Begins a comparison and leads it on: what was B can be A of the next one. */
function CompareButtons({
  now,
  comparison,
  compare,
}: {
  readonly now: WaitsReading
  readonly comparison: Comparison | undefined
  readonly compare: (comparison: Comparison | undefined) => void
}) {
  if (comparison === undefined) {
    return (
      <button
        type="button"
        title="What was waited so far is A; B begins now. The counters of the broker go on."
        onClick={() => compare({ a: now, begun: now })}
      >
        Freeze and compare
      </button>
    )
  }
  const b = secondInterval(comparison, now)
  return (
    <>
      {comparison.stopped === undefined && (
        <button type="button" onClick={() => compare({ ...comparison, stopped: b })}>
          Stop B
        </button>
      )}
      <button type="button" title="B is A from now on, and B begins anew" onClick={() => compare({ a: b, begun: now })}>
        Freeze again
      </button>
      <button type="button" onClick={() => compare(undefined)}>
        End the comparison
      </button>
    </>
  )
}

function Reading({
  reading,
  comparison,
}: {
  readonly reading: WaitsReading
  readonly comparison: Comparison | undefined
}) {
  const { kinds, interval_s } = reading
  if (kinds === undefined) {
    return (
      <div class="state">
        <p>
          Waits are not measured. When they are, this page shows where requests wait, how long, and what can be turned.
        </p>
        <ul class="meanings">
          {waitNames.map((name) => (
            <li key={name}>
              <b>{waitMeanings[name].title}</b>: {waitMeanings[name].what}{' '}
              <span>A high value means: {waitMeanings[name].high}</span>
            </li>
          ))}
        </ul>
      </div>
    )
  }
  const compared = comparison && { a: comparison.a, b: secondInterval(comparison, reading) }
  return (
    <>
      <p class="quiet">
        Measured over {spanText(interval_s)}. Only real waits count: what is free at once adds nothing.
      </p>
      {compared === undefined ? (
        <WaitsOfAll kinds={kinds} />
      ) : (
        <ComparisonNote {...compared} isRunning={comparison?.stopped === undefined} />
      )}
      <div class="side-by-side">
        {waitNames.map((name) => (
          <Kind key={name} name={name}>
            {compared === undefined ? (
              <WaitsByPartition name={name} kind={kinds[name]} />
            ) : (
              <ComparedKind name={name} {...compared} />
            )}
          </Kind>
        ))}
      </div>
    </>
  )
}

/** What a wait means, how long it was over time, and its figures in more detail. */
function Kind({ name, children }: { readonly name: WaitName; readonly children: ComponentChildren }) {
  const { title, what, high, turn } = waitMeanings[name]
  return (
    <section aria-labelledby={`wait-${name}`}>
      <h2 id={`wait-${name}`}>{title}</h2>
      <p>{what}</p>
      <p class="quiet">
        A high value means: {high} What can be turned: <Turns flags={turn} />
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
