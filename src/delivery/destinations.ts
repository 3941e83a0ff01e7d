import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { DestinationList } from '../command-line/destination-list.js'
import { meantAddress } from './meant-address.js'
import { deniedCode } from './outcome.js'

/** Which destinations an operator allows and which not; without a list of allowed ones all are. */
export interface DestinationLists {
  readonly allow: DestinationList | undefined
  readonly deny: DestinationList | undefined
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
  readonly #allow: Rule | undefined
  readonly #deny: Rule | undefined
  readonly #resolve: Resolve
  /** Lookups under way: a resolver that hangs holds one of the few threads for a name, not one for every attempt. */
  readonly #resolving = new Map<string, Promise<readonly LookupAddress[]>>()

  constructor({ allow, deny }: DestinationLists, resolve: Resolve = lookup) {
    this.#resolve = resolve
    this.#allow = allow && ruleOf(allow)
    this.#deny = deny && ruleOf(deny)
    this.lookup = (hostname, options, callback) => {
      this.#allowed(hostname, options).then(
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
  mayConnect(host: string): boolean {
    const plain = plainHost(host)
    if (isIP(plain) !== 0) return this.#permits(undefined, plain)
    return this.#deny === undefined || !named(this.#deny, plain)
  }

  async #allowed(hostname: string, options: LookupOptions): Promise<readonly LookupAddress[]> {
    const addresses = await this.#resolved(hostname, options)
    return addresses.filter(({ address }) => this.#permits(plainHost(hostname), address))
  }

  #permits(name: string | undefined, address: string): boolean {
    const { connected, all } = meantAddress(address)
    const isNamed = (rule: Rule) => name !== undefined && named(rule, name)
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
  readonly names: ReadonlySet<string>
  /** With the dot that they begin with. */
  readonly domains: readonly string[]
}

function ruleOf({ networks, names }: DestinationList): Rule {
  const list = new BlockList()
  for (const { address, prefix, family } of networks) {
    list.addSubnet(address, prefix, family)
    // Whoever names an unspecified address, and not a network, means this machine.
    if (prefix === (family === 'ipv4' ? 32 : 128)) addAddress(list, meantAddress(address).connected)
  }
  const domains = names.filter((name) => name.startsWith('*.')).map((name) => name.slice(1))
  return { networks: list, names: new Set(names.filter((name) => !name.startsWith('*.'))), domains }
}

function named({ names, domains }: Rule, name: string): boolean {
  return names.has(name) || domains.some((domain) => name.endsWith(domain))
}

function addAddress(list: BlockList, address: string): void {
  list.addAddress(address, familyOf(address))
}

function contains({ networks }: Rule, addresses: readonly string[]): boolean {
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

function denial(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} is not allowed as a destination`), { code: deniedCode })
}
