import type { AddedStatistics, NodeStatistics } from '../measure/node-statistics.js'
import type { Result } from '../result.js'
import type { ShownCluster } from './shown-cluster.js'

/** Who knows the cluster of this broker. */
export interface ClusterService {
  /** The cluster as it stands in etcd now; refuses, in words for the operator, when that does not answer. */
  shown(): Promise<Result<ShownCluster, string>>
  /** What all nodes have counted and measured; takes two seconds where one of them does not answer. */
  statistics(): Promise<ClusterStatistics>
}

/** What the nodes of a cluster say of themselves, and the sums of that. */
export interface ClusterStatistics {
  /** The node that was asked. */
  readonly node: string
  /** Of a node that does not say it the reason. */
  readonly nodes: readonly {
    readonly name: string
    readonly statistics?: NodeStatistics
    readonly reason?: string
  }[]
  /** Of the nodes that do. */
  readonly all: AddedStatistics
}

/** The operations of the service, for callers behind a port. */
export const clusterOperations = { shown: 'asked', statistics: 'asked' } as const
