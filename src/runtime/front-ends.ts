import type { NodeAddress } from '../cluster/membership/route-table.js'
import type { Route } from '../storage/etcd/node-facts.js'
import type { FrontOperations } from './tasks.js'

/** What changes for a front end while it runs. */
type FrontChanges = Pick<FrontOperations, 'route' | 'useTls' | 'useKeys'>

/** All front ends of the broker, whichever thread they run in, for what changes for each of them. */
export class FrontEnds implements FrontChanges {
  readonly #all = new Set<FrontChanges>()
  #routed: readonly [routes: readonly Route[], others: readonly NodeAddress[]] | undefined

  /** A front end hears of all changes from now on, and of the routes as they are: it was made with those of an earlier moment. */
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
