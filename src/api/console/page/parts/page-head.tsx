import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { usesToken } from '../session.js'
import { CopyButton } from './json.js'

/** The heading of a page, its actions, and the requests behind it. */
export function PageHead({
  title,
  curl,
  children,
}: {
  readonly title: string
  readonly curl: readonly string[]
  readonly children?: ComponentChildren
}) {
  return (
    <header class="page-head">
      <h1 id="page-title" tabIndex={-1}>
        {title}
      </h1>
      <div class="actions">
        {children}
        <AsCurl paths={curl} />
      </div>
    </header>
  )
}

/** The requests behind a page as commands for a shell. They never contain the token: the shell has it in a variable. */
function AsCurl({ paths }: { readonly paths: readonly string[] }) {
  const menu = useRef<HTMLDetailsElement>(null)
  const calls = paths.map(curlOf).join('\n')
  const close = () => {
    menu.current?.removeAttribute('open')
    menu.current?.querySelector('summary')?.focus()
  }
  return (
    <details class="menu" ref={menu} onKeyDown={({ key }) => key === 'Escape' && close()}>
      <summary class="button">as curl</summary>
      <div class="menu-body">
        <pre>{calls}</pre>
        <CopyButton text={calls}>Copy</CopyButton>
      </div>
    </details>
  )
}

function curlOf(path: string): string {
  const url = new URL(path, location.origin).href.replaceAll("'", '%27')
  return `curl -s${usesToken() ? ' -H "Authorization: Bearer $TOKEN"' : ''} '${url}'`
}
