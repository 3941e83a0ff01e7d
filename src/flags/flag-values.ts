import { isIP } from 'node:net'
import { parseTraceLevels } from '../observe/log/trace.js'
import { err, ok, type Result } from '../result.js'
import type { Rate, RateLimits } from '../threads/shared-memory/tenant-rates.js'
import type { ValueKind } from './flag.js'

/** Integers within a range, in plain decimal digits. */
export function integer(from: number, to = Number.MAX_SAFE_INTEGER): ValueKind<number> {
  const open = to === Number.MAX_SAFE_INTEGER
  const outside = `is not an integer from ${from} to ${to}`
  const wrong = open ? `is not an integer of at least ${from}` : outside
  return {
    shown: open ? `${from} or more` : `${from} to ${to}`,
    parse: (given) => {
      const value = Number(given)
      if (!/^-?\d+$/.test(given)) return err(wrong)
      return value >= from && value <= to ? ok(value) : err(value > to ? outside : wrong)
    },
  }
}

/** One of some words. */
export function oneOf<Word extends string>(...words: readonly Word[]): ValueKind<Word> {
  return {
    shown: words.join('|'),
    parse: (given) => {
      const word = words.find((known) => known === given)
      return word === undefined ? err(`is not one of ${words.join(', ')}`) : ok(word)
    },
  }
}

/** One of some words in capital letters, given in any case. */
export function oneOfAnyCase<Word extends Uppercase<string>>(...words: readonly Word[]): ValueKind<Word> {
  const exact = oneOf(...words)
  return { shown: exact.shown, parse: (given) => exact.parse(given.toUpperCase()) }
}

/** Any text; all flags refuse the empty text anyway. */
export function textFlag(shown: string): ValueKind<string> {
  return { shown, parse: ok }
}

/** An IPv4 or IPv6 address. */
export const address: ValueKind<string> = {
  shown: 'address',
  parse: (given) => (isIP(given) === 0 ? err('is not an IP address') : ok(given)),
}

/** An origin as browsers send it, by which they are compared, or `__ALL` [management 11.6]. */
export const sharedOrigin: ValueKind<string> = {
  shown: 'origin',
  parse: (given) => (given === '__ALL' || given === 'null' || isOrigin(given) ? ok(given) : err(wrongOrigin)),
}

const wrongOrigin = 'is not an origin as browsers send it, such as https://panel.example, nor __ALL for every origin'

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, host, origin } = new URL(text)
  // Schemes of browsers and apps, as that of an extension, have no origin of their own here.
  return text === (origin === 'null' ? `${protocol}//${host}` : origin) && host !== ''
}

/** A trace level expression [management 2.2]. */
export const traceLevels: ValueKind<readonly number[]> = {
  shown: 'levels',
  parse: (given) => {
    const levels = parseTraceLevels(given)
    return levels.ok ? levels : err('is not a list of trace levels from 0 to 255, such as 19,21-25')
  },
}

/** How connections to receivers of notifications are used [subscriptions 5.5]. */
export type NotificationMode =
  | { readonly kind: 'transient' | 'persistent' }
  | {
      readonly kind: 'threadpool'
      /** Concurrent attempts, in place of `-notifTotal`; undefined when the flag does not say. */
      readonly total: number | undefined
      /** Concurrent attempts by service. */
      readonly services: Readonly<Record<string, number>>
    }

/**
 * `transient`, `persistent` (or `permanent`) or `threadpool[:q:n[,service:q:n...]]`; the length of a queue has no effect
 * [management 9.3].
 */
export const notificationMode: ValueKind<NotificationMode> = {
  shown: 'transient|persistent|threadpool[:q:n[,service:q:n...]]',
  parse: (given) => {
    if (given === 'transient') return ok({ kind: 'transient' })
    if (given === 'persistent' || given === 'permanent') return ok({ kind: 'persistent' })
    if (given === 'threadpool') return ok({ kind: 'threadpool', total: undefined, services: {} })
    const totals = new Map<string, number>()
    for (const pool of given.split(',')) {
      const [, name, total] = /^([A-Za-z0-9_]+):[1-9]\d{0,8}:([1-9]\d{0,4})$/.exec(pool) ?? []
      if (name === undefined || totals.has(name)) return err(wrongMode)
      totals.set(name, Number(total))
    }
    const total = totals.get('threadpool')
    totals.delete('threadpool')
    return total === undefined
      ? err(wrongMode)
      : ok({ kind: 'threadpool', total, services: Object.fromEntries(totals) })
  },
}

const wrongMode = 'is not one of transient, persistent, permanent, threadpool[:q:n[,service:q:n...]]'

const wrongRate =
  'is not a rate such as 500, 500:1000 or 500,tenantA=50:100 (per second, with a burst; - for the default tenant)'
/** More tenants than anybody writes on a command line. */
const mostTenants = 1000

/** Requests per second for every tenant, with a burst, and for single tenants: `500:1000,tenantA=50`; at least one of them. */
export const rateLimits: ValueKind<RateLimits> = {
  shown: 'n[:burst][,tenant=n[:burst]...]',
  parse: (given) => {
    let general: Rate | undefined
    const tenants = new Map<string, Rate>()
    for (const item of given.split(',').map((each) => each.trim())) {
      const [, name, perSecond, burst] = /^(?:(\w{1,50}|-)=)?([1-9]\d{0,6})(?::([1-9]\d{0,6}))?$/.exec(item) ?? []
      if (perSecond === undefined) return err(wrongRate)
      const rate = { perSecond: Number(perSecond), burst: Number(burst ?? perSecond) }
      const tenant = name === '-' ? '' : name?.toLowerCase()
      if (tenant === undefined ? general !== undefined : tenants.has(tenant)) return err(wrongRate)
      if (tenant === undefined) general = rate
      else tenants.set(tenant, rate)
    }
    if (tenants.size > mostTenants) return err(`has more than ${mostTenants} tenants`)
    return ok({ general, tenants: Object.fromEntries(tenants) })
  },
}

/** Hosts that messages may or must not be sent to: plain data, so that it reaches every thread. */
export interface DestinationList {
  readonly networks: readonly Network[]
  /** In lower case: `host.example`, or `*.example` for all names below it. */
  readonly names: readonly string[]
}

/** A network, or a single address with all its bits. */
export interface Network {
  readonly family: 'ipv4' | 'ipv6'
  readonly address: string
  readonly prefix: number
}

const wrongDestination =
  'is not a list of addresses, networks, host names and *.domains, such as 10.0.0.0/8,::1,hub.example,*.lan'

/** Addresses, networks in CIDR notation, host names and `*.domain`, separated by commas. */
export const destinationList: ValueKind<DestinationList> = {
  shown: 'address|network|name|*.domain[,...]',
  parse: (given) => {
    const networks: Network[] = []
    const names: string[] = []
    for (const word of given.split(',').map((each) => each.trim())) {
      const network = parseNetwork(word)
      const name = isName(word)
      if (network.ok) networks.push(network.value)
      else if (name) names.push(word.toLowerCase().replace(/\.$/, ''))
      else return err(wrongDestination)
    }
    return ok({ networks, names })
  },
}

/** Host names and `*.domain`, separated by commas. */
export const hostNames: ValueKind<readonly string[]> = {
  shown: 'name|*.domain[,...]',
  parse: (given) => {
    const names = given.split(',').map((each) => each.trim())
    if (!names.every(isName)) return err('is not a list of host names and *.domains, such as hub.example,*.lan')
    return ok(names.map((name) => name.toLowerCase().replace(/\.$/, '')))
  },
}

function parseNetwork(word: string): Result<Network, 'none'> {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(word) ?? []
  const version = isIP(address)
  const bits = version === 4 ? 32 : 128
  const length = prefix === undefined ? bits : Number(prefix)
  if (version === 0 || length > bits || address.includes('%')) return err('none')
  return ok({ family: version === 4 ? 'ipv4' : 'ipv6', address, prefix: length })
}

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i

/** The last label must not be a number, decimal or hexadecimal: URLs would take such a name for an address. */
function isName(word: string): boolean {
  if (word.length > 253) return false
  const labels = word.replace(/^\*\./, '').replace(/\.$/, '').split('.')
  return labels.every((each) => label.test(each)) && !/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? '')
}
