import type { Route } from '../../storage/etcd/node-facts.js'

/** Where a node of a cluster listens for others. */
export interface NodeAddress {
  readonly node: string
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
}

/** Who owns which partition, as far as one thread knows: what the main thread has told it last. */
export class RouteTable {
  #owners: ReadonlyMap<number, Route> = new Map()
  /** Where the other members listen, whether they own anything or not. */
  #others: readonly NodeAddress[] = []
  readonly #watchers = new Set<() => void>()

  constructor(routes: readonly Route[], others: readonly NodeAddress[] = []) {
    this.put(routes, others)
  }

  /** Replaces everything. */
  put(routes: readonly Route[], others: readonly NodeAddress[] = []): void {
    this.#owners = new Map(routes.map((route) => [route.partition, route]))
    this.#others = others
    for (const changed of this.#watchers) changed()
  }

  /** The name of the node that owns a partition; nothing while none is known to. */
  ownerOf(partition: number): string | undefined {
    return this.#owners.get(partition)?.node
  }

  /** The names of the other members that listen for others. */
  get others(): readonly string[] {
    return this.#others.map(({ node }) => node)
  }

  /** Where another member listens for others, or a node that owns a partition; nothing for one that does not. */
  addressOf(node: string): NodeAddress | undefined {
    const member = this.#others.find((each) => each.node === node)
    if (member !== undefined) return member
    for (const route of this.#owners.values()) {
      if (route.node === node) return parseAddress(node, route.address)
    }
    return undefined
  }

  /** Calls back after each change, until the function that it gives is called. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => this.#watchers.delete(changed)
  }
}

/** What a node says of where it listens; nothing where it does not. */
export function parseAddress(node: string, address: string): NodeAddress | undefined {
  const [, inBrackets, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(address) ?? []
  const host = inBrackets ?? plain
  return host === undefined ? undefined : { node, host, port: Number(port) }
}
