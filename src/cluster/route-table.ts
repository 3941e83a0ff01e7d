import type { Route } from './node-facts.js'

/** Who owns which partition, as far as one thread knows: what the main thread has told it last. */
export class RouteTable {
  #owners: ReadonlyMap<number, Route> = new Map()

  constructor(routes: readonly Route[]) {
    this.put(routes)
  }

  /** Replaces everything. */
  put(routes: readonly Route[]): void {
    this.#owners = new Map(routes.map((route) => [route.partition, route]))
  }

  /** The name of the node that owns a partition; nothing while none is known to. */
  ownerOf(partition: number): string | undefined {
    return this.#owners.get(partition)?.node
  }
}
