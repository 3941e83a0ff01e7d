import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Use } from '../api/api.js'
import { HostNames } from '../hosts.js'

/** By which names a listening socket is known, and to whom. */
export interface KnownHosts {
  /** Those of `-adminHosts`: `host.example`, or `*.example` for all names below it. */
  readonly names: readonly string[]
  /** The name of the machine. */
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
 * [console: security]. Programs send neither `Origin` nor `Sec-Fetch-Site`; browsers do, and pages cannot change them. A read
 * for which a browser sends neither, such as that of an image by plain HTTP, changes nothing, and its page does not get to see it.
 *
 * An origin that `-corsOrigin` allows may read: it gets no headers that would let the page see it [management 11.6].
 *
 * A page under a foreign name that is made to resolve to the broker (DNS rebinding) is of the same site to a browser: only
 * `Host` shows it. With a token that does not matter, since such a page has none. Without one the host has to be an address, which
 * no web site can take over, or a name that is known: `localhost`, that of the machine, one of `-adminHosts`, or one without a dot where
 * others than this machine reach the broker: such a name is one of the local network, as containers have among
 * themselves, and whoever could redirect it needs no browser there.
 */
export class SiteCheck {
  readonly #known: KnownHosts
  readonly #names: HostNames

  constructor(known: KnownHosts) {
    this.#known = known
    this.#names = new HostNames([...known.names, known.machine.toLowerCase(), 'localhost', '*.localhost'])
  }

  /** Why a request is refused, and what to do if it should not be; nothing when it is not. */
  refusal(use: Use, headers: IncomingHttpHeaders): string | undefined {
    const { origin, host = '' } = headers
    const isRead = use === 'read' && this.#isShared(origin)
    const site = headers['sec-fetch-site'] ?? 'none'
    if (!isRead && site !== 'same-origin' && site !== 'none') {
      return 'the management takes no requests from pages of other web sites'
    }
    if (!isRead && origin !== undefined && !this.#isOwn(origin, host)) {
      return `the management takes no requests from pages of other web sites (Origin: ${cutText(origin)}); -adminHosts names further hosts of the broker`
    }
    if (this.#known.hasToken || this.#isKnown(host)) return undefined
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
export function hostNameOf(authority: string): string {
  const [, address, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(authority.trim().toLowerCase()) ?? []
  if (address !== undefined) return address
  // What is no host at all, such as a text with several colons, is a name that nobody has.
  return name === '' && authority.trim() !== '' ? '.' : name.replace(/\.$/, '')
}

const longestShown = 100

/** A text of a client as it stands in a refusal or in the log: cut when it is long. */
export function cutText(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown)}...` : text
}
