import type { FigureTable } from './figure-table.js'
import type { nodeFigures } from './figures.js'

/** How things stand with one of several nodes, as its main thread knows them. */
export interface NodeStanding {
  readonly hasLease: boolean
  /** The nodes of the cluster, those that are members, the partitions that this one owns, and those that nobody is known to own. */
  readonly listed: number
  readonly members: number
  readonly owned: number
  readonly unowned: number
  /** Partitions whose owners this node does not reach. */
  readonly unreached: number
}

type NodeTable = FigureTable<typeof nodeFigures.all>

/** For the main thread of one of several nodes, and no other. */
export function stand(node: NodeTable, standing: NodeStanding): void {
  const row = node.row(0)
  row.put('listed', standing.listed)
  row.put('members', standing.members)
  row.put('owned', standing.owned)
  row.put('unowned', standing.unowned)
  row.put('unreached', standing.unreached)
  row.put('hasLease', standing.hasLease)
  row.put('isOfSeveral', true)
}

/** Nothing of a broker that is not one of several nodes. */
export function standingOf(node: NodeTable): NodeStanding | undefined {
  if (node.value('isOfSeveral') === 0) return undefined
  return {
    hasLease: node.value('hasLease') === 1,
    listed: node.value('listed'),
    members: node.value('members'),
    owned: node.value('owned'),
    unowned: node.value('unowned'),
    unreached: node.value('unreached'),
  }
}
