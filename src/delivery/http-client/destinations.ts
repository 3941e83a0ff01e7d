import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { DestinationList } from '../../flags/flag-values.js'
import { HostNames } from '../../hosts.js'
import { ProtectedEndpoints } from '../../threads/shared-memory/protected-endpoints.js'
import { LookupShares } from './lookup-shares.js'
import { addAddress, contains, meantAddress } from './meant-address.js'
import { ProtectedServices } from './protected-services.js'
import { denial } from './response-handler.js'

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
 * allowed nothing else is. What is protected is never allowed: the ports of the management, those by which nodes of a cluster reach each
 * other, and etcd. A host that is an address is checked by what the system connects to for it; a name is checked itself
 * and by every address that it resolves to, in the lookup of the connection itself, so that it can not mean something else a
 * moment later.
 */
export class Destinations {
  readonly #allow: Rule | undefined
  readonly #deny: Rule | undefined
  readonly #resolve: Resolve
  readonly #protected: ProtectedServices
  /** For connections to all ports at which nothing is protected. */
  readonly #lookup: LookupFunction
  readonly #shares = new LookupShares()
  /** Lookups under way: a resolver that hangs holds one of the few threads for a name, not one for every attempt. */
  readonly #resolving = new Map<string, Promise<readonly LookupAddress[]>>()

  constructor(
    { allow, deny }: DestinationLists,
    endpoints: ProtectedEndpoints = new ProtectedEndpoints(),
    resolve: Resolve = lookup,
  ) {
    this.#resolve = resolve
    this.#allow = allow && ruleOf(allow)
    this.#deny = deny && ruleOf(deny)
    this.#protected = new ProtectedServices(endpoints, (name) => this.#resolved(name, {}))
    this.#lookup = this.#lookupOf(async (addresses) => addresses)
  }

  /** Greater when other services are protected: a connection that was allowed before may not be any more. */
  get version(): number {
    return this.#protected.version
  }

  /**
   * The lookup for a connection to a host and a port, which resolves names to the addresses that are allowed; the same one for all ports
   * at which nothing is protected. Rejects with a denial when the host itself is not allowed: an address, for which there is no lookup,
   * or a name that is denied.
   */
  async lookupFor(host: string, port: number): Promise<LookupFunction> {
    const plain = plainHost(host)
    const isProtectedPort = this.#protected.isPort(port)
    if (isIP(plain) !== 0) {
      const isPermitted = this.#permits(undefined, plain)
      const [left] = isPermitted ? await this.#protected.unprotected([{ address: plain }], port) : []
      if (left === undefined) throw denial(host)
    } else {
      if (this.#deny?.names.has(plain) === true) throw denial(host)
      if (isProtectedPort && this.#protected.isNamed(plain, port)) throw denial(host)
    }
    return isProtectedPort ? this.#lookupOf((addresses) => this.#protected.unprotected(addresses, port)) : this.#lookup
  }

  #lookupOf(left: (addresses: readonly LookupAddress[]) => Promise<readonly LookupAddress[]>): LookupFunction {
    const allowed = async (hostname: string, options: LookupOptions): Promise<readonly LookupAddress[]> => {
      const addresses = await this.#resolved(hostname, options)
      return left(addresses.filter(({ address }) => this.#permits(plainHost(hostname), address)))
    }
    return (hostname, options, callback) => {
      allowed(hostname, options).then(
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

  #permits(name: string | undefined, address: string): boolean {
    const { connected, all } = meantAddress(address)
    const isNamed = (rule: Rule) => name !== undefined && rule.names.has(name)
    if (this.#deny !== undefined && (isNamed(this.#deny) || contains(this.#deny.networks, all))) return false
    return this.#allow === undefined || isNamed(this.#allow) || contains(this.#allow.networks, [connected])
  }

  #resolved(hostname: string, { family, hints }: LookupOptions): Promise<readonly LookupAddress[]> {
    const key = `${hostname} ${family} ${hints}`
    const underWay = this.#resolving.get(key)
    if (underWay !== undefined) return underWay
    const options = {
      all: true,
      ...(family !== undefined && { family }),
      ...(hints !== undefined && { hints }),
    } as const
    const lookUp = () =>
      new Promise<readonly LookupAddress[]>((resolve, reject) => {
        this.#resolve(hostname, options, (fault, addresses) => {
          if (fault === null) resolve(addresses)
          else reject(fault)
        })
      })
    const resolving = this.#shares.with(hostname, lookUp).finally(() => this.#resolving.delete(key))
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

/** Without the brackets of an IPv6 address and the dot that may end a name. */
function plainHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}
