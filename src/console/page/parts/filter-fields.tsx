import { useEffect, useRef, useState } from 'preact/hooks'
import { openedAddress, setParameter } from '../address.js'
import { countText } from '../format.js'
import { useObservable } from '../observable.js'

/** How long nobody types before a search begins. */
const rest_ms = 250

/** What the reader has set a parameter of the address to. */
export function useParameter(name: string): string | undefined {
  return useObservable(openedAddress).parameters.get(name)
}

/** A field whose text is a parameter of the address, so that what is found can be sent. */
export function SearchField({
  name,
  label,
  hint,
  isFirst = false,
}: {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** Whether `/` leads here. */
  readonly isFirst?: boolean
}) {
  const set = useParameter(name) ?? ''
  const [typed, setTyped] = useState(set)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => setTyped(set), [set])
  useEffect(() => () => clearTimeout(timer.current), [])
  const type = (text: string) => {
    setTyped(text)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setParameter(name, text), rest_ms)
  }
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="search"
        spellcheck={false}
        autocomplete="off"
        value={typed}
        placeholder={hint}
        data-search={isFirst ? '' : undefined}
        onInput={({ currentTarget }) => type(currentTarget.value)}
      />
    </label>
  )
}

/** One of several values of a parameter of the address; none for all. */
export function ChoiceField({
  name,
  label,
  all,
  choices,
}: {
  readonly name: string
  readonly label: string
  /** What no choice means. */
  readonly all: string
  readonly choices: readonly string[]
}) {
  const set = useParameter(name) ?? ''
  return (
    <label class="field">
      <span>{label}</span>
      <select value={set} onChange={({ currentTarget }) => setParameter(name, currentTarget.value)}>
        <option value="">{all}</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Leads through the pages of a list whose length is known. */
export function Pager({
  count,
  limit,
  what,
}: {
  readonly count: number
  readonly limit: number
  readonly what: string
}) {
  const offset = useOffset()
  const last = Math.min(count, offset + limit)
  const to = (place: number) => setParameter('from', place <= 0 ? undefined : String(place))
  return (
    <p class="pager">
      <span class="quiet">
        {count === 0 ? `no ${what}` : `${what} ${countText(offset + 1)} to ${countText(last)} of ${countText(count)}`}
        {count > limit && '; columns sort what is on the page'}
      </span>
      {count > limit && (
        <span class="actions">
          <button type="button" disabled={offset === 0} onClick={() => to(offset - limit)}>
            Before
          </button>
          <button type="button" disabled={last >= count} onClick={() => to(offset + limit)}>
            Next
          </button>
        </span>
      )}
    </p>
  )
}

/** Where the page of a list begins, as the address says. */
export function useOffset(): number {
  const set = useParameter('from') ?? '0'
  return /^\d{1,7}$/.test(set) ? Number(set) : 0
}

/** A path with the parameters that are set. */
export function pathWith(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  return query.size === 0 ? path : `${path}?${query}`
}
