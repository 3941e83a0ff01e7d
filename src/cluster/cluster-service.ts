import type { Result } from '../result.js'
import type { ShownCluster } from './shown-cluster.js'

/** Who knows the cluster of this broker. */
export interface ClusterService {
  /** The cluster as it stands in etcd now; refuses, in words for the operator, when that does not answer. */
  shown(): Promise<Result<ShownCluster, string>>
}

/** The operations of the service, for callers behind a port. */
export const clusterOperations = ['shown'] as const
export type ClusterOperation = (typeof clusterOperations)[number]
