import type { Options } from '../../flags/settings.js'
import { faultText } from '../../observe/log/log.js'
import { err, ok, type Result } from '../../result.js'
import { type ClusterState, standingCluster } from '../../storage/etcd/cluster-state.js'
import { EtcdClient } from '../../storage/etcd/etcd-client.js'
import { type ClusterOptions, clusterRefusal, etcdSettings } from '../join-rules.js'

/** How many partitions a new cluster has: it keeps them, and that many nodes can own something. */
const usualPartitions = 12

/**
 * How many partitions the new folder of a broker of a cluster is to have: as many as the cluster. Refuses in words for the operator
 * where the cluster is not one for a new folder, so that none is made. To be loaded when it is needed: only then has the main
 * thread a connection of its own to etcd.
 */
export async function partitionsForNewFolder(
  cluster: ClusterOptions,
  asked: Options['partitions'],
): Promise<Result<number, string>> {
  const found = await looked(cluster).catch((fault: unknown) => err(faultText(fault)))
  const partitions = found.ok ? partitionsIn(found.value, cluster, asked) : found
  return partitions.ok ? partitions : err(`cluster ${cluster.name} cannot be used: ${partitions.error}`)
}

function partitionsIn(
  state: ClusterState | undefined,
  cluster: ClusterOptions,
  asked: Options['partitions'],
): Result<number, string> {
  if (state === undefined) return ok(asked ?? usualPartitions)
  const refusal = clusterRefusal(state, cluster)
  if (refusal !== undefined) return err(refusal)
  const { partitions } = state.description
  if (asked === undefined || asked === partitions) return ok(partitions)
  return err(`it has ${partitions} partitions, and keeps them: start without -partitions, which asks for ${asked}`)
}

async function looked(cluster: ClusterOptions): Promise<Result<ClusterState | undefined, string>> {
  const settings = etcdSettings(cluster)
  if (!settings.ok) return settings
  const client = new EtcdClient(settings.value)
  try {
    // Of an outdated etcd the thread of the logs warns.
    return await standingCluster(client, cluster.prefix, () => {})
  } finally {
    client.close()
  }
}
