import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Use } from '../broker/operations/api.js'
import { HostNames, hopsOf, isHopName, isLoopback } from '../hosts.js'
import type { Log } from '../observe/log/log.js'
import { type Head, single } from './headers.js'

/** The parts of a head that say where a request comes from. */
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
function isFromHere({ headers, peer }: Comes): boolean {
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

/** The refusal of a request that is not trusted. */
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

const readsOfOrion: ReadonlySet<string> = new Set(['/admin/log', '/admin/metrics', '/admin/sem'])

/** Whether Orion has an operation as well, for everybody: programs use it under whatever name they know. */
export function isOfOrion(pattern: string, verb: string): boolean {
  return !pattern.startsWith('/admin/') || (verb === 'GET' && readsOfOrion.has(pattern))
}

/** The patterns below `/admin/` that everybody may read. */
export function openPatterns(resources: readonly Readable[]): readonly string[] {
  return resources.flatMap(({ pattern, operations: { GET } }) =>
    GET === undefined || !pattern.startsWith('/admin/') || needsTrust(pattern, 'GET') ? [] : [pattern],
  )
}

interface Readable {
  readonly pattern: string
  readonly operations: { readonly GET?: unknown }
}

/** By which names a listening socket is known, and to whom. */
export interface KnownHosts {
  /** Those of `-adminHosts`: `host.example`, or `*.example` for all names below it. */
  readonly names: readonly string[]
  readonly machine: string
  /** The origin of `-corsOrigin`, `__ALL` for every; nothing without the flag. */
  readonly shared: string | undefined
  /** Whether nobody but this machine reaches the socket. */
  readonly isLoopback: boolean
  /** Whether a token protects what it serves. */
  readonly hasToken: boolean
}

/**
 * Tells requests to the management that the page of another web site has caused in somebody's browser from all others
 * [console: security]. Programs send neither `Origin` nor `Sec-Fetch-Site`; browsers do, and pages cannot change them. Browsers send
 * neither header when they load an image by plain HTTP. Such a read is let through: it changes nothing, and the page cannot see the
 * response.
 *
 * An origin that `-corsOrigin` allows may read: it gets no headers that would let the page see it [management 11.6].
 *
 * A page under a foreign name that is made to resolve to the broker (DNS rebinding) is of the same site to a browser: only
 * `Host` shows it. With a token that does not matter, since such a page has none, nor with what Orion has as well, as long as no browser
 * is known to have sent it. Otherwise the host has to be an address, which no web site can take over, or a name that is known:
 * `localhost`, that of the machine, one of `-adminHosts`, or one without a dot where others than this machine reach the broker: such a
 * name is one of the local network, as containers have among themselves, and whoever could redirect it needs no browser there.
 */
export class SiteCheck {
  readonly #known: KnownHosts
  readonly #names: HostNames

  constructor(known: KnownHosts) {
    this.#known = known
    this.#names = new HostNames([...known.names, known.machine.toLowerCase(), 'localhost', '*.localhost'])
  }

  /** Why a request is refused, and what to do if it should not be; nothing when it is not. */
  refusal(use: Use, headers: IncomingHttpHeaders, ofOrion: boolean): string | undefined {
    const { origin, host = '', 'sec-fetch-site': site = 'none' } = headers
    const isRead = use === 'read' && this.#isShared(origin)
    if (!isRead && site !== 'same-origin' && site !== 'none') {
      return 'the management takes no requests from pages of other web sites'
    }
    if (!isRead && origin !== undefined && !this.#isOwn(origin, host)) {
      return `the management takes no requests from pages of other web sites (Origin: ${cutText(origin)}); -adminHosts names further hosts of the broker`
    }
    const isOfBrowser = origin !== undefined || headers['sec-fetch-site'] !== undefined
    if (this.#known.hasToken || (ofOrion && !isOfBrowser) || this.#isKnown(host)) return undefined
    return `the management is not known under this name (Host: ${cutText(host)}); use an address, or name it with -adminHosts`
  }

  #isShared(origin: string | undefined): boolean {
    const { shared } = this.#known
    return origin !== undefined && (shared === '__ALL' || shared === origin)
  }

  /** An origin is the broker's own if it is what the request was sent to, or a name of `-adminHosts`. */
  #isOwn(origin: string, host: string): boolean {
    const [, scheme = '', authority = ''] = /^(https?):\/\/([^/]+)$/i.exec(origin) ?? []
    if (authority === '') return false
    const port = scheme.toLowerCase() === 'https' ? ':443' : ':80'
    if (withPort(authority, port) === withPort(host, port)) return true
    return new HostNames(this.#known.names).has(hostNameOf(authority))
  }

  #isKnown(host: string): boolean {
    const name = hostNameOf(host)
    if (name === '' || isIP(name) !== 0 || this.#names.has(name)) return true
    return !this.#known.isLoopback && !name.includes('.')
  }
}

function withPort(authority: string, byDefault: string): string {
  const folded = authority.toLowerCase()
  return /:\d+$/.test(folded) ? folded : `${folded}${byDefault}`
}

/** The name or the address of a host, without its port, the brackets of IPv6 and the dot that may end a name. */
function hostNameOf(authority: string): string {
  const [, address, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(authority.trim().toLowerCase()) ?? []
  if (address !== undefined) return address
  // What is no host at all, such as a text with several colons, is a name that nobody has.
  return name === '' && authority.trim() !== '' ? '.' : name.replace(/\.$/, '')
}

const longestShown = 100

/** A text of a client as it stands in a refusal or in the log: cut when it is long. */
function cutText(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown)}...` : text
}

/**
 * Notices a proxy on this machine that does not say for whom it asks: its requests come from loopback, as those of the machine itself do,
 * and are for a host that is elsewhere. Without a token such a proxy opens the management to whoever reaches it [management 13]. One line of the
 * log says so, once for all front ends of the process.
 */
export class ProxyNotice {
  readonly #log: Log
  /** Shared by all front ends: 1 once the line has been logged. */
  readonly #told: Int32Array
  readonly #own: HostNames
  #isOver = false
  /** The last host that is this machine: nearly all requests have the same one. */
  #lastOwn = ''

  /** The memory that the front ends share. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(4)
  }

  /** `machine`: the name of the machine. */
  constructor(memory: SharedArrayBuffer, machine: string, log: Log) {
    this.#told = new Int32Array(memory)
    this.#own = new HostNames([machine.toLowerCase(), 'localhost', '*.localhost'])
    this.#log = log
  }

  look(head: Pick<Head, 'headers' | 'peer'>): void {
    if (this.#isOver) return
    const { host = '' } = head.headers
    if (host === this.#lastOwn) return
    if (this.#isOwn(host)) {
      this.#lastOwn = host
      return
    }
    if (!isFromHere(head)) return
    this.#isOver = true
    if (Atomics.exchange(this.#told, 0, 1) === 1) return
    this.#log.warn(
      'http:proxy',
      `a request for another host came from this machine (Host: ${cutText(host)}): if a proxy on this machine forwards requests of others, they can read and change stored data; let the proxy send X-Forwarded-For, or start the broker with -adminToken or -adminPort`,
    )
  }

  #isOwn(host: string): boolean {
    const name = hostNameOf(host)
    return name === '' || (isIP(name) === 0 ? this.#own.has(name) : isLoopback(name) || anyAddress.has(name))
  }
}

/** Some programs name these when they mean this machine. */
const anyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::'])
