import { useState } from 'preact/hooks'

/** As many members of one value are shown at first. */
const manyMembers = 100
/** As many characters of one text are shown at first. */
const longText = 500

/** A JSON value with its compound parts folded; what is folded is not drawn. */
export function FoldedJson({ value, open = false }: { readonly value: unknown; readonly open?: boolean }) {
  if (typeof value !== 'object' || value === null) return <Leaf value={value} />
  return <Compound value={value} open={open} />
}

function Compound({ value, open }: { readonly value: object; readonly open: boolean }) {
  const [isOpen, setOpen] = useState(open)
  const [limit, setLimit] = useState(manyMembers)
  const members = Object.entries(value)
  const isList = Array.isArray(value)
  if (members.length === 0) return <code>{isList ? '[]' : '{}'}</code>
  const count = `${members.length} ${isList ? 'element' : 'member'}${members.length === 1 ? '' : 's'}`
  return (
    <details class="json" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {isList ? '[ ' : '{ '}
        <span class="quiet">{count}</span>
        {isList ? ' ]' : ' }'}
      </summary>
      {isOpen && (
        <ul>
          {members.slice(0, limit).map(([name, member]) => (
            <li key={name}>
              <span class="json-name">{name}</span> <FoldedJson value={member} />
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
