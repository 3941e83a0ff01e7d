import type { IncomingHttpHeaders } from 'node:http'
import { hopsOf, isHopName } from '../hops.js'
import { isLoopback } from '../hosts.js'
import type { Head } from './headers.js'
import { single } from './headers.js'

/** What of a head says where a request comes from. */
type Comes = Pick<Head, 'headers' | 'peer'>

/** Says whether a request may do what is for the broker's own machine [management 13]. */
export type TrustCheck = (request: Comes) => boolean

/** The check by the options: a token, where there is one, has been looked at before. */
export function trustCheck(hasToken: boolean, adminOpen: boolean): TrustCheck {
  return hasToken || adminOpen ? () => true : isFromHere
}

/**
 * Whether a request comes from the broker's own machine. Behind a proxy of this machine all requests come from loopback: the headers that proxies
 * add show them.
 */
export function isFromHere({ headers, peer }: Comes): boolean {
  const isForwarded = ['x-forwarded-for', 'forwarded', 'x-real-ip'].some((name) => headers[name] !== undefined)
  return !isForwarded && isLoopback(peer() ?? '')
}

/**
 * Why a request is refused that a broker has sent: a client could otherwise have the broker use its own management by a
 * notification or a forwarded request [management 13].
 */
export function brokerRefusal(headers: IncomingHttpHeaders): string | undefined {
  const header = headers['rigel-notification-id'] !== undefined ? 'Rigel-Notification-Id' : sentBy(headers)
  return header && `the management takes no requests that a broker has sent (${header})`
}

function sentBy({ via }: IncomingHttpHeaders): string | undefined {
  return hopsOf(single(via)).some(isHopName) ? 'Via' : undefined
}

/** What is told to those who are not trusted. */
export const notFromHere =
  "without a token this is for requests from the broker's own machine: start the broker with -adminToken and send it as Authorization: Bearer <token>, or with -adminOpen"

const openReads: ReadonlySet<string> = new Set(['log', 'metrics', 'sem', 'stats', 'waits', 'cluster', 'live'])

/** Whether an operation is for trusted requests only: all below `/admin/` that does not just read figures and settings of the log. */
export function needsTrust(pattern: string, verb: string): boolean {
  if (!pattern.startsWith('/admin/')) return false
  const [, , second = '', ...rest] = pattern.split('/')
  const isOpen = openReads.has(second) && (rest.length === 0 || second === 'cluster')
  return !(isOpen && verb === 'GET')
}
