import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { DestinationList } from '../command-line/destination-list.js'
import { HostNames, isLoopback } from '../hosts.js'
import { denial } from './faults.js'

/** Which destinations an operator allows and which not; without a list of allowed ones all are. */
export interface DestinationLists {
  readonly allow: DestinationList | undefined
  readonly deny: DestinationList | undefined
  /** The broker's own management, where it has a port of its own: nothing is ever sent there. */
  readonly management?: { readonly port: number; readonly address: string } | undefined
}

/** What resolves names: the system's own way unless a test says something else. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (fault: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Where requests may go that clients cause: what is denied is not, whatever else allows it, and with a list of what is
 * allowed nothing else is. A host that is an address is checked by what the system connects to for it; a name is checked itself
 * and by every address that it resolves to, in the lookup of the connection itself, so that it can not mean something else a
 * moment later.
 */
export class Destinations {
  /** For whatever connects: resolves names to the addresses that are allowed. */
  readonly lookup: LookupFunction
  /** The same for connections to the port of the management: without the addresses of this machine. */
  readonly lookupAway: LookupFunction
  readonly #management: DestinationLists['management']
  readonly #allow: Rule | undefined
  readonly #deny: Rule | undefined
  readonly #resolve: Resolve
  /** Lookups under way: a resolver that hangs holds one of the few threads for a name, not one for every attempt. */
  readonly #resolving = new Map<string, Promise<readonly LookupAddress[]>>()

  constructor({ allow, deny, management }: DestinationLists, resolve: Resolve = lookup) {
    this.#resolve = resolve
    this.#allow = allow && ruleOf(allow)
    this.#deny = deny && ruleOf(deny)
    this.#management = management
    this.lookup = this.#lookupOf(() => true)
    this.lookupAway = this.#lookupOf((address) => !this.#isThisMachine(address))
  }

  #lookupOf(isMeant: (address: string) => boolean): LookupFunction {
    return (hostname, options, callback) => {
      this.#allowed(hostname, options, isMeant).then(
        (addresses) => {
          const [first] = addresses
          if (first === undefined) callback(denial(hostname), '')
          else if (options.all === true) callback(null, [...addresses])
          else callback(null, first.address, first.family)
        },
        (fault: NodeJS.ErrnoException) => callback(fault, ''),
      )
    }
  }

  /**
   * Whether a host may be connected to as far as can be said before its name is resolved: an address finally, a name
   * unless it is denied itself.
   */
  mayConnect(host: string, port: number): boolean {
    const plain = plainHost(host)
    if (isIP(plain) !== 0) {
      return this.#permits(undefined, plain) && !(this.isManagementPort(port) && this.#isThisMachine(plain))
    }
    return this.#deny === undefined || !this.#deny.names.has(plain)
  }

  /** Whether connections to this port of this machine would reach the broker's own management. */
  isManagementPort(port: number): boolean {
    return port === this.#management?.port
  }

  /** The interfaces are looked up each time, since they may change; it is asked for one port only. */
  #isThisMachine(address: string): boolean {
    const meant = meantAddress(address).all
    if (meant.some(isLoopback)) return true
    const own = Object.values(networkInterfaces()).flatMap((each) => each?.map((one) => one.address) ?? [])
    const list = new BlockList()
    for (const one of [...own, this.#management?.address ?? '']) {
      const [plain = ''] = one.split('%')
      if (isIP(plain) !== 0) addAddress(list, meantAddress(plain).connected)
    }
    return contains({ networks: list }, meant)
  }

  async #allowed(
    hostname: string,
    options: LookupOptions,
    isMeant: (address: string) => boolean,
  ): Promise<readonly LookupAddress[]> {
    const addresses = await this.#resolved(hostname, options)
    return addresses.filter(({ address }) => this.#permits(plainHost(hostname), address) && isMeant(address))
  }

  #permits(name: string | undefined, address: string): boolean {
    const { connected, all } = meantAddress(address)
    const isNamed = (rule: Rule) => name !== undefined && rule.names.has(name)
    if (this.#deny !== undefined && (isNamed(this.#deny) || contains(this.#deny, all))) return false
    return this.#allow === undefined || isNamed(this.#allow) || contains(this.#allow, [connected])
  }

  #resolved(hostname: string, { family, hints }: LookupOptions): Promise<readonly LookupAddress[]> {
    const key = `${hostname} ${family} ${hints}`
    const underWay = this.#resolving.get(key)
    if (underWay !== undefined) return underWay
    const asked = { all: true, ...(family !== undefined && { family }), ...(hints !== undefined && { hints }) } as const
    const resolving = new Promise<readonly LookupAddress[]>((resolve, reject) => {
      this.#resolve(hostname, asked, (fault, addresses) => {
        if (fault === null) resolve(addresses)
        else reject(fault)
      })
    }).finally(() => this.#resolving.delete(key))
    this.#resolving.set(key, resolving)
    return resolving
  }
}

interface Rule {
  readonly networks: BlockList
  readonly names: HostNames
}

function ruleOf({ networks, names }: DestinationList): Rule {
  const list = new BlockList()
  for (const { address, prefix, family } of networks) {
    list.addSubnet(address, prefix, family)
    // Whoever names an unspecified address, and not a network, means this machine.
    if (prefix === (family === 'ipv4' ? 32 : 128)) addAddress(list, meantAddress(address).connected)
  }
  return { networks: list, names: new HostNames(names) }
}

function addAddress(list: BlockList, address: string): void {
  list.addAddress(address, familyOf(address))
}

function contains({ networks }: Pick<Rule, 'networks'>, addresses: readonly string[]): boolean {
  return addresses.some((address) => networks.check(address, familyOf(address)))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Without the brackets of an IPv6 address and the dot that may end a name. */
function plainHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}

/** Where the system connects to for an address as it is written, and what else it leads to. */
interface MeantAddress {
  /** What is connected to: no address of IPv6 for one of IPv4, and loopback for the unspecified ones. */
  readonly connected: string
  /** All that a rule against one of them is against, the first among them. */
  readonly all: readonly string[]
}

const loopback = { ipv4: '127.0.0.1', ipv6: '::1' } as const

/**
 * What an address means to whoever connects to it. The unspecified addresses are this machine, of either family; an address
 * of IPv6 may hold one of IPv4 that it is translated to on the way.
 */
export function meantAddress(written: string): MeantAddress {
  const [address = ''] = written.split('%')
  if (isIP(address) !== 6)
    return isUnspecified4(address) ? self('ipv4', address) : { connected: address, all: [address] }
  const groups = groupsOf(address)
  const mapped = embedded(groups, [0, 0, 0, 0, 0, 0xffff], 6)
  if (mapped !== undefined) return meantAddress(mapped)
  if (groups.every((group) => group === 0)) return self('ipv6', address)
  const inside = translations.flatMap(({ prefix, at }) => embedded(groups, prefix, at) ?? [])
  return { connected: address, all: [address, ...inside.flatMap((each) => meantAddress(each).all)] }
}

function self(family: keyof typeof loopback, address: string): MeantAddress {
  return { connected: loopback[family], all: [address, loopback.ipv4, loopback.ipv6] }
}

function isUnspecified4(address: string): boolean {
  return address === '0.0.0.0'
}

/** Addresses that hold one of IPv4 from a group on: of NAT64, IPv4-compatible ones, 6to4. */
const translations: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0x64, 0xff9b, 0, 0, 0, 0], at: 6 },
  { prefix: [0, 0, 0, 0, 0, 0], at: 6 },
  { prefix: [0x2002], at: 1 },
]

function embedded(groups: readonly number[], prefix: readonly number[], at: number): string | undefined {
  if (!prefix.every((group, index) => groups[index] === group)) return undefined
  return [groups[at] ?? 0, groups[at + 1] ?? 0].flatMap((group) => [group >> 8, group & 0xff]).join('.')
}

/** The eight groups of an address of IPv6. */
function groupsOf(address: string): readonly number[] {
  const [, head = address, quad] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? []
  const bytes = (quad ?? '').split('.').map(Number)
  const pair = (at: number) => (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16)
  const text = quad === undefined ? head : `${head}${pair(0)}:${pair(2)}`
  const [left = '', right] = text.split('::')
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const [before, after] = [parse(left), parse(right ?? '')]
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => 0)
  return right === undefined ? before : [...before, ...zeros, ...after]
}
