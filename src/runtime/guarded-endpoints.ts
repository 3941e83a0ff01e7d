import { parseAddress } from '../cluster/membership/route-table.js'
import { ownAddresses } from '../delivery/http-client/protected-services.js'
import type { Options } from '../flags/settings.js'
import type { ListedNode, NodeFacts } from '../storage/etcd/node-facts.js'
import {
  type ProtectedEndpoints,
  type ProtectedService,
  serviceMost,
} from '../threads/shared-memory/protected-endpoints.js'

/**
 * What the main thread knows of where nothing may connect to that clients cause: the management of this broker, the members of its etcd,
 * and the ports of all nodes that are for other nodes and for operators. Whatever etcd or nodes announce is in force at once in all threads.
 */
export class GuardedEndpoints {
  readonly #endpoints: ProtectedEndpoints
  readonly #options: GuardedOptions
  /** Of nodes that are members or have been: one that is paused is no member, and listens all the same. */
  readonly #nodes = new Map<string, ProtectedService>()

  constructor(endpoints: ProtectedEndpoints, options: GuardedOptions) {
    this.#endpoints = endpoints
    this.#options = options
    this.listens(undefined)
    this.engine([])
  }

  /** On which port this node listens for others, if that is known by now. */
  listens(linkPort: number | undefined): void {
    const { adminIp, cluster } = this.#options
    const ip = cluster?.link.ip
    const hosts = ['127.0.0.1', adminIp, ...(ip === undefined ? [] : [ip])]
    this.#endpoints.put('own', [{ hosts, ports: this.ownPorts(linkPort) }])
  }

  /** The ports of this node that are not for clients. */
  ownPorts(linkPort: number | undefined): readonly number[] {
    const { adminPort, cluster } = this.#options
    const link = cluster?.link
    const ports = [adminPort, linkPort, link?.port, link?.advertised?.port]
    return [...new Set(ports.flatMap((port) => port || []))]
  }

  /**
   * The URLs that the members of etcd announce, beside those by which this broker reaches them. Each host is taken to listen at all of the
   * ports: a member that listens everywhere may announce an address that only other members use, or `localhost`.
   */
  engine(announced: readonly string[]): void {
    const all = [...(this.#options.cluster?.urls ?? []), ...announced]
    const urls = all.flatMap((text) => (URL.canParse(text) ? [new URL(text)] : []))
    const hosts = new Set(
      urls.map(({ hostname }) => hostname.replace(/^\[(.*)\]$/, '$1')).filter((host) => host !== ''),
    )
    const ports = new Set(urls.map(({ port, protocol }) => Number(port || (protocol === 'https:' ? 443 : 80))))
    this.#endpoints.put('etcd', hosts.size === 0 ? [] : [{ hosts: [...hosts], ports: [...ports] }])
  }

  /** The members of the cluster are these now. */
  members(members: readonly NodeFacts[]): void {
    for (const { name, address, hosts, ports } of members) {
      const link = parseAddress(name, address)
      this.#nodes.set(name, {
        hosts: link === undefined ? hosts : [link.host, ...hosts],
        ports: link === undefined ? ports : [link.port, ...ports],
      })
    }
    this.#putNodes()
  }

  /** The nodes of the cluster are these now, whether they run or not. */
  listed(nodes: readonly ListedNode[]): void {
    const names = new Set(nodes.map(({ name }) => name))
    for (const name of this.#nodes.keys()) if (!names.has(name)) this.#nodes.delete(name)
    this.#putNodes()
  }

  #putNodes(): void {
    this.#endpoints.put('nodes', [...this.#nodes.values()])
  }
}

type GuardedOptions = Pick<Options, 'adminPort' | 'adminIp'> & { readonly cluster?: Options['cluster'] }

/** The addresses of this machine as other nodes may reach it, whatever this node announces. */
export function announcedHosts(): readonly string[] {
  return ownAddresses().slice(0, serviceMost.hosts - 1)
}
