import type { ComponentChildren } from 'preact'

/** Content that may be wider than the page, and then scrolls by itself; by keyboard, too. */
export function ScrollRegion({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without the focus nothing in it could be reached by keyboard [WCAG 2.1.1].
    <section class="wide" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
