import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

/** The number of members of one value that are shown at first. */
const manyMembers = 100
/** The number of characters of one text that are shown at first. */
const longText = 500

interface FoldedShown<Value> {
  readonly value: Value
  /** The number of levels that are unfolded. */
  readonly open?: number
  /** The name of a member. */
  readonly name?: string
}

/** A JSON value with its compound parts folded; folded parts are not rendered. */
export function FoldedJson({ value, open = 0, name }: FoldedShown<unknown>) {
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
    return <Compound value={value} open={open} {...(name !== undefined && { name })} />
  }
  return (
    <>
      <Name name={name} />
      <Leaf value={value} />
    </>
  )
}

function Name({ name }: { readonly name: string | undefined }) {
  return name === undefined ? null : <span class="json-name">{name} </span>
}

function Compound({ value, open = 0, name }: FoldedShown<object>) {
  const [isOpen, setOpen] = useState(open > 0)
  const [limit, setLimit] = useState(manyMembers)
  const members = Object.entries(value)
  const isList = Array.isArray(value)
  const count = `${members.length} ${isList ? 'element' : 'member'}${members.length === 1 ? '' : 's'}`
  return (
    <details class="json" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Name name={name} />
        {isList ? '[ ' : '{ '}
        <span class="quiet">{count}</span>
        {isList ? ' ]' : ' }'}
      </summary>
      {isOpen && (
        <ul>
          {members.slice(0, limit).map(([each, member]) => (
            <li key={each}>
              <FoldedJson value={member} open={open - 1} name={each} />
            </li>
          ))}
        </ul>
      )}
      {isOpen && members.length > limit && (
        <button type="button" class="plain" onClick={() => setLimit(limit + 10 * manyMembers)}>
          {members.length - limit} more
        </button>
      )}
    </details>
  )
}

function Leaf({ value }: { readonly value: unknown }) {
  const [whole, setWhole] = useState(false)
  const text = JSON.stringify(value) ?? 'undefined'
  const kind = value === null ? 'null' : typeof value
  if (text.length <= longText || whole) return <code class={`json-${kind}`}>{text}</code>
  return (
    <>
      <code class={`json-${kind}`}>{text.slice(0, longText)}…</code>{' '}
      <button type="button" class="plain" onClick={() => setWhole(true)}>
        all {text.length} characters
      </button>
    </>
  )
}

/** Copies a text, and says so. */
export function CopyButton({
  text,
  children,
}: {
  readonly text: string | (() => string)
  readonly children: ComponentChildren
}) {
  const [outcome, setOutcome] = useState<string>()
  const copy = async () => {
    const copied = await copyText(typeof text === 'string' ? text : text())
    setOutcome(copied ? 'Copied' : 'The browser does not allow it')
    setTimeout(() => setOutcome(undefined), 2_000)
  }
  return (
    <button type="button" onClick={copy}>
      <span role="status">{outcome ?? children}</span>
    </button>
  )
}

/** Browsers give pages a clipboard only with HTTPS and on this machine; elsewhere a selection is copied. */
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'unseen'
  const focused = document.activeElement
  document.body.append(field)
  field.select()
  const copied = document.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return copied
}
