import type { ClusterStatistics } from '../cluster/cluster-service.js'
import { addedStatistics, type NodeStatistics } from '../measure/node-statistics.js'
import { ok, type Result } from '../result.js'

interface StatisticsParts {
  /** The name of this node, and of all that are listed. */
  readonly self: string
  readonly nodes: readonly string[]
  readonly own: () => NodeStatistics
  /** Asks another node; refuses in words for the operator. */
  readonly ask: (node: string) => Promise<Result<NodeStatistics, string>>
}

/** What all nodes have counted and measured, those that say so in time: of the others the reason. */
export async function clusterStatistics({ self, nodes, own, ask }: StatisticsParts): Promise<ClusterStatistics> {
  const said = await Promise.all(
    nodes.map(async (name) => ({ name, said: name === self ? ok(own()) : await ask(name) })),
  )
  return {
    node: self,
    nodes: said.map(({ name, said }) => (said.ok ? { name, statistics: said.value } : { name, reason: said.error })),
    all: addedStatistics(said.flatMap(({ said }) => (said.ok ? said.value : []))),
  }
}
