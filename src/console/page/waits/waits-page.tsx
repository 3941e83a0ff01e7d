import { useState } from 'preact/hooks'
import { countText, durationText, spanText } from '../format.js'
import { useReset } from '../frame/keyboard.js'
import { useObservable } from '../observable.js'
import { confirmChange } from '../parts/confirm.js'
import { CopyButton } from '../parts/copy-button.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { PageHead } from '../parts/page-head.js'
import { ScrollRegion } from '../parts/scroll-region.js'
import { Shown } from '../parts/states.js'
import { useResource } from '../resource.js'
import { readOnly, send, sentenceOf } from '../session.js'
import { WaitHeat } from './wait-heat.js'
import {
  type KindOfWait,
  readWaits,
  type WaitName,
  type WaitsOf,
  type WaitsReading,
  waitFigures,
  waitMeanings,
  waitNames,
  waitsMarkdown,
} from './waits-reading.js'

/** What requests wait for, how long, and what that means. */
export function WaitsPage() {
  const known = useResource('/admin/waits', readWaits)
  const [frozen, setFrozen] = useState<WaitsReading>()
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
      <PageHead title="Waits" curl={['/admin/waits', '/admin/sem']}>
        {value?.enabled && (
          <>
            <button
              type="button"
              aria-pressed={frozen !== undefined}
              onClick={() => setFrozen(frozen ? undefined : value)}
            >
              {frozen ? 'End the comparison' : 'Freeze and compare'}
            </button>
            <CopyButton text={() => waitsMarkdown(value)}>Copy as Markdown</CopyButton>
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
        {(reading) => <Reading reading={reading} frozen={frozen} />}
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

function Reading({ reading, frozen }: { readonly reading: WaitsReading; readonly frozen: WaitsReading | undefined }) {
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
  return (
    <>
      <p class="quiet">
        Measured over {spanText(interval_s)}
        {frozen ? `, beside the ${spanText(frozen.interval_s)} that are frozen; Reset begins another interval` : ''}.
        Only real waits count: what is free at once adds nothing.
      </p>
      <Sums kinds={kinds} frozen={frozen?.kinds} />
      <div class="side-by-side">
        {waitNames.map((name) => (
          <Kind key={name} name={name} kind={kinds[name]} />
        ))}
      </div>
    </>
  )
}

const figureTitles: Readonly<Record<(typeof waitFigures)[number], string>> = {
  count: 'asked for',
  waited: 'waited',
  total: 'total s',
  max: 'max',
  p50: 'p50',
  p90: 'p90',
  p99: 'p99',
  p999: 'p99.9',
}

type Kinds = Readonly<Record<WaitName, KindOfWait>>

/** All waits in one table; what is frozen stands below what is counted now. */
function Sums({ kinds, frozen }: { readonly kinds: Kinds; readonly frozen: Kinds | undefined }) {
  return (
    <ScrollRegion label="Waits of all partitions">
      <table class="waits">
        <thead>
          <tr>
            <th scope="col">wait for</th>
            {waitFigures.map((figure) => (
              <th scope="col" class="number" key={figure}>
                {figureTitles[figure]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {waitNames.flatMap((name) => [
            <SumRow key={name} name={waitMeanings[name].title} id={name} wait={kinds[name]} />,
            ...(frozen ? [<SumRow key={`${name} frozen`} name="frozen" wait={frozen[name]} />] : []),
          ])}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

function SumRow({ name, id, wait }: { readonly name: string; readonly id?: WaitName; readonly wait: WaitsOf }) {
  return (
    <tr class={id === undefined ? 'frozen' : undefined} data-wait={id}>
      <th scope="row">{name}</th>
      {waitFigures.map((figure) => (
        <td key={figure} class="number" title={exactFigure(wait, figure)}>
          {figureText(wait, figure)}
        </td>
      ))}
    </tr>
  )
}

type Figure = (typeof waitFigures)[number]

function exactFigure(wait: WaitsOf, figure: Figure): string {
  const value = wait[figure]
  return typeof value === 'number' ? String(value) : `${value} s`
}

/** The total to the nanosecond, as it is exact; other durations in the unit that suits them. */
function figureText(wait: WaitsOf, figure: Figure): string {
  const value = wait[figure]
  if (typeof value === 'number') return countText(value)
  return figure === 'total' ? value : durationText(Number(value))
}

function Kind({ name, kind }: { readonly name: WaitName; readonly kind: KindOfWait }) {
  const { title, what, high, turn } = waitMeanings[name]
  return (
    <section aria-labelledby={`wait-${name}`}>
      <h2 id={`wait-${name}`}>{title}</h2>
      <p>{what}</p>
      <p class="quiet">
        A high value means: {high} What can be turned: <Turns flags={turn} />
      </p>
      <WaitHeat name={name} title={`How long requests waited: ${title.toLowerCase()}`} />
      {kind.partitions && (
        <details>
          <summary>By partition</summary>
          <DataTable
            caption={`${title}, by partition`}
            columns={partitionColumns}
            rows={kind.partitions}
            keyOf={({ partition }) => String(partition)}
            empty="There are no partitions."
          />
        </details>
      )}
    </section>
  )
}

function Turns({ flags }: { readonly flags: readonly string[] }) {
  return (
    <>
      {flags.map((flag, at) => (
        <span key={flag}>
          {at > 0 && ', '}
          <code class="flag">{flag}</code>
        </span>
      ))}
      .
    </>
  )
}

type PartitionWaits = WaitsOf & { readonly partition: number }

const partitionColumns: readonly Column<PartitionWaits>[] = [
  { name: 'partition', cell: ({ partition }) => partition, order: ({ partition }) => partition },
  ...waitFigures.map((figure) => ({
    name: figureTitles[figure],
    cell: (wait: PartitionWaits) => <span title={exactFigure(wait, figure)}>{figureText(wait, figure)}</span>,
    order: (wait: PartitionWaits) => Number(wait[figure]),
    isNumber: true,
    isMinor: figure === 'p50' || figure === 'p90' || figure === 'count',
  })),
]
