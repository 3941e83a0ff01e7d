import { faultText } from '../../faults.js'
import type { Options } from '../../flags/settings.js'
import { err, ok, type Result } from '../../result.js'
import { type ClusterState, standingCluster } from '../../storage/etcd/cluster-state.js'
import { EtcdClient } from '../../storage/etcd/etcd-client.js'
import { type ClusterOptions, clusterRefusal, etcdSettings } from '../join-rules.js'

/** The number of partitions of a new cluster. It never changes, and no more nodes than this can own something. */
const usualPartitions = 12

/**
 * The number of partitions for the new data folder of a broker in a cluster: that of the cluster. Refuses with a text for
 * the operator, before a folder is made, when a new folder cannot join the cluster. Import this file only when it is
 * needed: only then does the main thread need its own connection to etcd.
 */
export async function partitionsForNewFolder(
  cluster: ClusterOptions,
  requested: Options['partitions'],
): Promise<Result<number, string>> {
  const found = await looked(cluster).catch((fault: unknown) => err(faultText(fault)))
  const partitions = found.ok ? partitionsIn(found.value, cluster, requested) : found
  return partitions.ok ? partitions : err(`cluster ${cluster.name} cannot be used: ${partitions.error}`)
}

function partitionsIn(
  state: ClusterState | undefined,
  cluster: ClusterOptions,
  requested: Options['partitions'],
): Result<number, string> {
  if (state === undefined) return ok(requested ?? usualPartitions)
  const refusal = clusterRefusal(state, cluster)
  if (refusal !== undefined) return err(refusal)
  const { partitions } = state.description
  if (requested === undefined || requested === partitions) return ok(partitions)
  return err(`it has ${partitions} partitions, and keeps them: start without -partitions, which asks for ${requested}`)
}

async function looked(cluster: ClusterOptions): Promise<Result<ClusterState | undefined, string>> {
  const settings = etcdSettings(cluster)
  if (!settings.ok) return settings
  const client = new EtcdClient(settings.value)
  try {
    // The thread of the logs warns of an outdated etcd.
    return await standingCluster(client, cluster.prefix, () => {})
  } finally {
    client.close()
  }
}
