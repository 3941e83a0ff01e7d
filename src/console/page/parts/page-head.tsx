import type { ComponentChildren } from 'preact'
import { AsCurl } from './as-curl.js'

/** The heading of a page, what can be done on it, and the calls that give the same. */
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
