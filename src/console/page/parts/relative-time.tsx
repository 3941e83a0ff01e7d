import { useClock } from '../clock.js'
import { exactText, spanText } from '../format.js'

/** A moment as its distance from now, with the exact one in its title. */
export function RelativeTime({ at_ms }: { readonly at_ms: number }) {
  const now_ms = useClock()
  const away_s = (now_ms - at_ms) / 1000
  const text = Math.abs(away_s) < 1 ? 'now' : away_s > 0 ? `${spanText(away_s)} ago` : `in ${spanText(-away_s)}`
  return (
    <time dateTime={exactText(at_ms)} title={exactText(at_ms)}>
      {text}
    </time>
  )
}
