import type { NodeAddress } from '../cluster/membership/route-table.js'
import type { Route } from '../storage/etcd/node-facts.js'
import type { FrontOperations } from './tasks.js'

/** The changes that each front end takes while it runs. */
type FrontChanges = Pick<FrontOperations, 'route' | 'useTls' | 'useKeys'>

/** All front ends of the broker, in whatever threads: passes changes on to each of them. */
export class FrontEnds implements FrontChanges {
  readonly #all = new Set<FrontChanges>()
  #routed: readonly [routes: readonly Route[], others: readonly NodeAddress[]] | undefined

  /**
   * Adds a front end. It gets the current routes at once, since it may have been made with older ones, and all later
   * changes.
   */
  add(front: FrontChanges): void {
    this.#all.add(front)
    if (this.#routed !== undefined) front.route(...this.#routed)
  }

  route(routes: readonly Route[], others: readonly NodeAddress[]): void {
    this.#routed = [routes, others]
    for (const front of this.#all) front.route(routes, others)
  }

  useTls(tls: Parameters<FrontChanges['useTls']>[0]): void {
    for (const front of this.#all) front.useTls(tls)
  }

  useKeys(keys: Parameters<FrontChanges['useKeys']>[0]): void {
    for (const front of this.#all) front.useKeys(keys)
  }
}
