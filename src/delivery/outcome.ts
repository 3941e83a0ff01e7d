import { reasonOfFault } from '../http-client/exchange.js'

/** How an attempt to deliver ended [subscriptions 5.3]. */
export type AttemptOutcome = Accepted | Failed

export interface Accepted {
  readonly kind: 'accepted'
  /** Of the response; MQTT has none. */
  readonly status?: number
}

export interface Failed {
  /** `trouble`: the receiver may do better later; `refused`: it does not want this notification. */
  readonly kind: 'trouble' | 'refused'
  /** A few words, a status or both: `timeout`, `404`. */
  readonly reason: string
  /** How long the receiver asked to be left alone. */
  readonly retryAfter_ms?: number
}

/** What counts as accepted: the statuses of success, or every complete response head [subscriptions 5.3]. */
export type Acceptance = '2xx' | 'any'

export function trouble(reason: string): Failed {
  return { kind: 'trouble', reason }
}

export function refusal(reason: string): Failed {
  return { kind: 'refused', reason }
}

/** As operators read it: `trouble: timeout`, `refused: 404` [subscriptions 5.7]. */
export function reasonText({ kind, reason }: Failed): string {
  return `${kind}: ${reason}`
}

const troubleStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** What a final status means; one of a redirect that cannot be followed is refused [subscriptions 5.3]. */
export function outcomeOf(status: number, accept: Acceptance, retryAfter_ms?: number): AttemptOutcome {
  if (accept === 'any' || (status >= 200 && status <= 299)) return { kind: 'accepted', status }
  const kind = troubleStatuses.has(status) || (status >= 500 && status <= 599) ? 'trouble' : 'refused'
  return { kind, reason: String(status), ...(retryAfter_ms !== undefined && { retryAfter_ms }) }
}

/** Milliseconds from a Retry-After header, in seconds or as a date; nothing when it is neither [subscriptions 5.4]. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = /^[A-Z][a-z]+, /.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** What it means that there is no response. */
export function outcomeOfFault(fault: unknown): Failed {
  const { reason, permanent } = reasonOfFault(fault)
  return permanent ? refusal(reason) : trouble(reason)
}
