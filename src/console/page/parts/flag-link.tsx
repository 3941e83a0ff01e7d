/** A flag that leads into the reference; in another tab, since this one alone has the token. */
export function FlagLink({ flag }: { readonly flag: string }) {
  return (
    <a href={`/docs/flags#${flag.slice(1)}`} target="_blank" rel="noopener" title="What the reference says of it">
      <code class="flag">{flag}</code>
    </a>
  )
}
