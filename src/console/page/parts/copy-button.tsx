import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

/** Copies a text, and says so. */
export function CopyButton({
  text,
  children,
}: {
  readonly text: string | (() => string)
  readonly children: ComponentChildren
}) {
  const [said, setSaid] = useState<string>()
  const copy = async () => {
    const copied = await copyText(typeof text === 'string' ? text : text())
    setSaid(copied ? 'Copied' : 'The browser does not allow it')
    setTimeout(() => setSaid(undefined), 2_000)
  }
  return (
    <button type="button" onClick={copy}>
      <span role="status">{said ?? children}</span>
    </button>
  )
}

/** Browsers have a clipboard for programs on HTTPS and on this machine only; elsewhere a selection is copied. */
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
