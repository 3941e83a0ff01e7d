import { RelativeTime } from './relative-time.js'

/** A date of a response as its distance from now; a dash where it never was. */
export function OptionalTime({ date }: { readonly date: string | undefined }) {
  if (date === undefined) return <span class="quiet">–</span>
  return <RelativeTime at_ms={Date.parse(date)} />
}
