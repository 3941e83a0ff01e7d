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
 * The addresses to which no client may make the broker connect: the management of this broker, the members of its etcd,
 * and the ports of all nodes for other nodes and for operators. What etcd or nodes announce comes into force at once in
 * all threads.
 */
export class GuardedEndpoints {
  readonly #endpoints: ProtectedEndpoints
  readonly #options: GuardedOptions
  /** Nodes that are or were members: a paused node is no member, and still listens. */
  readonly #nodes = new Map<string, ProtectedService>()

  constructor(endpoints: ProtectedEndpoints, options: GuardedOptions) {
    this.#endpoints = endpoints
    this.#options = options
    this.listens(undefined)
    this.engine([])
  }

  /** Takes the port on which this node listens for other nodes, if it is known yet. */
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
   * Takes the URLs that the members of etcd announce; those by which this broker reaches etcd are added. Every host is
   * taken to listen on all of the ports: a member that listens on all interfaces may announce an address that only
   * other members use, or `localhost`.
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

  /** Takes the current members of the cluster. */
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

  /** Takes the nodes that the cluster lists, whether they run or not. */
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

/** The addresses of this machine by which other nodes may reach it, whatever this node announces. */
export function announcedHosts(): readonly string[] {
  return ownAddresses().slice(0, serviceMost.hosts - 1)
}
