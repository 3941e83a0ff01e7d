import { openedAddress } from './address.js'
import { useObservable } from './observable.js'

/** The times that charts may show, up to what is kept. */
export const spans = [
  { name: '1m', title: 'last minute', seconds: 60 },
  { name: '5m', title: 'last 5 min', seconds: 300 },
  { name: '15m', title: 'last 15 min', seconds: 900 },
  { name: '1h', title: 'last hour', seconds: 3600 },
] as const

type Span = (typeof spans)[number]

/** The time that charts show, which the address says. */
export function useSpan(): Span {
  const name = useObservable(openedAddress).parameters.get('last')
  return spans.find((span) => span.name === name) ?? spans[1]
}
