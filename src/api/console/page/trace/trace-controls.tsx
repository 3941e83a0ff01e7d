import { useState } from 'preact/hooks'
import type { Configuration, LogLevelState, TraceLevels, VerbosityState } from '../../shapes.js'
import { useObservable } from '../observable.js'
import { ChangeFault, confirmChange, useChange } from '../parts/confirm.js'
import { Field, Options, SearchField, useParameter } from '../parts/filter-fields.js'
import { Chip } from '../parts/small-parts.js'
import { Shown } from '../parts/states.js'
import { type Known, readOnly, useResource } from '../session.js'

const logLevels = ['NONE', 'FATAL', 'ERROR', 'WARN', 'INFO', 'DEBUG'] as const
const verbosities = ['0', '1', '2', '3', '4', '5'] as const

/** The traced areas and for how long, the log level and the verbosity. */
export function TraceControls({ configuration }: { readonly configuration: Known<Configuration> }) {
  const levels = useResource<TraceLevels>('/log/trace')
  const logLevel = useResource<LogLevelState>('/admin/log')
  const verbosity = useResource<VerbosityState>('/log/verbose')
  const onlyReads = useObservable(readOnly)
  const { change, fault } = useChange(() => {
    for (const each of [levels, logLevel, verbosity]) each.again()
  })
  return (
    <section aria-labelledby="areas">
      <h2 id="areas">What is traced</h2>
      <div class="finder">
        <Choice
          name="Log level"
          value={logLevel.value?.level}
          choices={logLevels}
          disabled={onlyReads}
          choose={async (level) => {
            if (await confirmChange(levelChange(level))) await change(`/admin/log?level=${level}`)
          }}
        />
        <Choice
          name="Verbosity"
          value={verbosity.value?.verboseLevel}
          choices={verbosities}
          disabled={onlyReads}
          choose={async (level) => {
            if (await confirmChange(verbosityChange(level))) await change(`/log/verbose/${level}`)
          }}
        />
      </div>
      <ChangeFault fault={fault} />
      <Shown known={configuration} what="The trace areas">
        {({ traceAreas }) => (
          <Areas
            areas={new Map(Object.entries(traceAreas))}
            on={levelsOf(levels.value)}
            disabled={onlyReads}
            change={change}
          />
        )}
      </Shown>
    </section>
  )
}

/** The numbers of the active levels. */
function levelsOf({ tracelevels }: TraceLevels = { tracelevels: 'empty' }): ReadonlySet<number> {
  const levels = new Set<number>()
  if (tracelevels === 'empty') return levels
  for (const item of tracelevels.split(', ')) {
    const [first = 0, last = first] = item.split('-').map(Number)
    for (let level = first; level <= last; level += 1) levels.add(level)
  }
  return levels
}

function levelChange(level: string) {
  return {
    title: `Set the log level to ${level}?`,
    cost: 'The level stays until it is changed or the broker ends. At INFO every request has a line, at DEBUG more than one. That costs time and room in the log.',
    action: 'Set it',
  }
}

function verbosityChange(level: string) {
  return {
    title: `Set the verbosity to ${level}?`,
    cost: 'The verbosity stays until it is changed or the broker ends. 1 adds lines of INFO, 2 lines of DEBUG, 3 the times of stages, 4 headers, 5 payloads.',
    action: 'Set it',
  }
}

function Choice({
  name,
  value,
  choices,
  disabled,
  choose,
}: {
  readonly name: string
  readonly value: string | undefined
  readonly choices: readonly string[]
  readonly disabled: boolean
  readonly choose: (choice: string) => Promise<void>
}) {
  return (
    <Field label={name}>
      <select
        value={value ?? ''}
        disabled={disabled || value === undefined}
        onChange={async ({ currentTarget }) => {
          const wanted = currentTarget.value
          currentTarget.value = value ?? ''
          await choose(wanted)
        }}
      >
        <Options choices={choices} />
      </select>
    </Field>
  )
}

/** Areas, grouped by the beginning of their names. */
function groupsOf(names: readonly string[]): readonly (readonly [group: string, names: readonly string[]])[] {
  const groups = new Map<string, string[]>()
  for (const name of names) {
    const [group = name] = name.split('.')
    groups.set(group, [...(groups.get(group) ?? []), name])
  }
  return [...groups]
}

function Areas({
  areas,
  on,
  disabled,
  change,
}: {
  readonly areas: ReadonlyMap<string, number>
  readonly on: ReadonlySet<number>
  readonly disabled: boolean
  readonly change: ReturnType<typeof useChange>['change']
}) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const text = useParameter('find') ?? ''
  const [seconds, setSeconds] = useState('60')
  const names = [...areas.keys()].filter((name) => `${name} ${areas.get(name)}`.includes(text.toLowerCase()))
  const traced = [...areas].filter(([, level]) => on.has(level)).map(([name]) => name)
  const levels = [...chosen].map((name) => areas.get(name))
  const choose = (name: string, isChosen: boolean) => {
    const next = new Set(chosen)
    if (isChosen) next.add(name)
    else next.delete(name)
    setChosen(next)
  }
  return (
    <>
      <p>
        {on.size === 0 ? 'Nothing is traced now.' : 'Traced now: '}
        {traced.map((name) => (
          <Chip key={name} tone="warning">
            {name}
          </Chip>
        ))}{' '}
        {on.size > traced.length && `${on.size - traced.length} levels that have no lines`}
      </p>
      <form
        class="finder"
        onSubmit={async (event) => {
          event.preventDefault()
          if (await confirmChange(traceChange([...chosen], seconds))) {
            await change(`/log/trace/${levels.join(',')}?for=${seconds}`)
          }
        }}
      >
        <SearchField name="find" label="Search areas" isFirst />
        <Field label="For this many seconds">
          <input
            type="number"
            min="1"
            max="3600"
            required
            value={seconds}
            onInput={({ currentTarget }) => setSeconds(currentTarget.value)}
          />
        </Field>
        <button type="submit" class="main" disabled={disabled || chosen.size === 0}>
          Trace {chosen.size} {chosen.size === 1 ? 'area' : 'areas'}
        </button>
        <button type="button" disabled={disabled || on.size === 0} onClick={() => change('/log/trace', 'DELETE')}>
          All off
        </button>
      </form>
      <div class="areas">
        {groupsOf(names).map(([group, members]) => (
          <fieldset key={group}>
            <legend>{group}</legend>
            {members.map((name) => (
              <label key={name}>
                <input
                  type="checkbox"
                  checked={chosen.has(name)}
                  onChange={({ currentTarget }) => choose(name, currentTarget.checked)}
                />{' '}
                {name} <span class="quiet">{areas.get(name)}</span>
              </label>
            ))}
          </fieldset>
        ))}
      </div>
      {names.length === 0 && <p class="state">No area has this text in its name.</p>}
    </>
  )
}

function traceChange(names: readonly string[], seconds: string) {
  return {
    title: `Trace ${names.length} ${names.length === 1 ? 'area' : 'areas'} for ${seconds} s?`,
    cost: `Every line of ${names.join(', ')} is built and written, which takes time of the threads and room in the log; payloads may hold what is private. All other areas are off meanwhile. After ${seconds} s all is as before, even if this tab is closed.`,
    action: 'Trace',
  }
}
