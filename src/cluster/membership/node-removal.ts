import { err, ok, type Result } from '../../result.js'
import { type ClusterState, readClusterState } from '../../storage/etcd/cluster-state.js'
import type { Engine } from '../../storage/etcd/engine.js'
import type { EtcdClient } from '../../storage/etcd/etcd-client.js'
import { EtcdNodes } from '../../storage/etcd/etcd-nodes.js'
import { listedNames, withoutNode } from '../../storage/etcd/node-facts.js'
import type { LogSequence } from '../../storage/wal/record-log.js'

interface RemovalParts {
  readonly client: EtcdClient
  readonly engine: Pick<Engine, 'extent'>
  /** The prefix of the cluster's keys. */
  readonly prefix: string
}

/**
 * Takes a node that will not return out of its cluster: the logs are not kept for it any more, and its slot and its name are free.
 * Refuses with a text for the operator: of a member, and of the last node that has what a log does not have any more.
 */
export async function removeNode(
  { client, engine, prefix }: RemovalParts,
  name: string,
): Promise<Result<void, string>> {
  const read = await readClusterState(client, prefix)
  if (!read.ok) return read
  const { nodes: held, nodesRevision } = read.value
  const next = withoutNode(held, name)
  if (next === held) return err(`it has no node ${name}, but ${listedNames(held).join(', ') || 'none at all'}`)
  const lost = await lostWithout(engine, read.value, listedNames(next))
  if (!lost.ok) return lost
  if (lost.value.length > 0) {
    const logs = lost.value.join(', ')
    return err(
      `no other node has what the logs of these partitions do not have any more: ${logs}. Start node ${name}, and wait until another one has caught up`,
    )
  }
  const removed = await new EtcdNodes(client, prefix).remove(name, { revision: nodesRevision, left: next })
  if (removed.ok) return ok(undefined)
  const { error } = removed
  if (error.kind === 'isMember') return err(`node ${name} is a member: end it first, or wait until its lease has ended`)
  return err(error.kind === 'changed' ? 'somebody else has changed its nodes at this moment: try again' : error.reason)
}

/** The partitions for which no listed node has a checkpoint that the log continues. */
async function lostWithout(
  engine: RemovalParts['engine'],
  { description, checkpoints }: ClusterState,
  nodes: readonly string[],
): Promise<Result<readonly number[], string>> {
  const lost: number[] = []
  for (let partition = 0; partition < description.partitions; partition += 1) {
    const extent = await engine.extent(partition)
    if (!extent.ok) return err(extent.error.reason)
    const { first, last } = extent.value ?? { first: 0 as LogSequence, last: 0 as LogSequence }
    // If the log is empty, everything is in checkpoints.
    const before = first === 0 ? last : first - 1
    const reached = nodes.map((node) => checkpoints.get(node)?.get(String(partition)) ?? 0)
    if (Math.max(0, ...reached) < before) lost.push(partition)
  }
  return ok(lost)
}
