import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { openedAddress, setParameter } from '../address.js'
import { useObservable } from '../observable.js'

/** How long typing has to pause before a search begins. */
const rest_ms = 250

/** The value of a parameter of the address. */
export function useParameter(name: string): string | undefined {
  return useObservable(openedAddress).parameters.get(name)
}

/** An input below its label. */
export function Field({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: each child is the one control.
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  )
}

export function Options({ choices }: { readonly choices: readonly string[] }) {
  return (
    <>
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
    </>
  )
}

/** A field whose text is a parameter of the address, so that a search can be sent as a link. */
export function SearchField({
  name,
  label,
  hint,
  isFirst = false,
}: {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** Whether `/` focuses it. */
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
    <Field label={label}>
      <input
        type="search"
        spellcheck={false}
        autocomplete="off"
        value={typed}
        placeholder={hint}
        data-search={isFirst ? '' : undefined}
        onInput={({ currentTarget }) => type(currentTarget.value)}
      />
    </Field>
  )
}

/** A choice of a parameter of the address; no choice means all. */
export function ChoiceField({
  name,
  label,
  all,
  choices,
}: {
  readonly name: string
  readonly label: string
  /** The label of no choice. */
  readonly all: string
  readonly choices: readonly string[]
}) {
  const set = useParameter(name) ?? ''
  return (
    <Field label={label}>
      <select value={set} onChange={({ currentTarget }) => setParameter(name, currentTarget.value)}>
        <option value="">{all}</option>
        <Options choices={choices} />
      </select>
    </Field>
  )
}

/** A path with those parameters that are set. */
export function pathWith(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    // An empty text is no filter, but the name of the default tenant.
    if (value !== undefined && (value !== '' || name === 'service')) query.set(name, String(value))
  }
  return query.size === 0 ? path : `${path}?${query}`
}
