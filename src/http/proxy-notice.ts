import { isIP } from 'node:net'
import { HostNames, isLoopback } from '../hosts.js'
import type { Log } from '../log/log.js'
import type { Head } from './headers.js'
import { isFromHere } from './management-access.js'
import { cutText, hostNameOf } from './site-check.js'

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

  /** What front ends share of it. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(4)
  }

  /** `machine`: the name of the machine. */
  constructor(memory: SharedArrayBuffer, machine: string, log: Log) {
    this.#told = new Int32Array(memory)
    this.#own = new HostNames([machine.toLowerCase(), 'localhost', '*.localhost'])
    this.#log = log
  }

  /** Looks at a request. */
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
      `a request for another host came from this machine (Host: ${cutText(host)}): if a proxy passes on what others ask, it opens stored data and changes to them; have it send X-Forwarded-For, or start the broker with -adminToken or -adminPort`,
    )
  }

  #isOwn(host: string): boolean {
    const name = hostNameOf(host)
    return name === '' || (isIP(name) === 0 ? this.#own.has(name) : isLoopback(name) || anyAddress.has(name))
  }
}

/** Some programs name these when they mean this machine. */
const anyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::'])
