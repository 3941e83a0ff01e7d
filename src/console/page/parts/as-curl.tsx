import { useRef } from 'preact/hooks'
import { usesToken } from '../session.js'
import { CopyButton } from './copy-button.js'

/** The calls that give what a page shows, for a shell. The token is never among them: the shell has it in a variable. */
export function AsCurl({ paths }: { readonly paths: readonly string[] }) {
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
