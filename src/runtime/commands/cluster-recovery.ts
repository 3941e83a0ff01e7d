import { createReadStream } from 'node:fs'
import { err, ok, type Result } from '../../result.js'
import { commandSpace_bytes } from '../../storage/environment/address-space.js'
import { findClusterState } from '../../storage/etcd/cluster-state.js'
import type { Engine, LogName } from '../../storage/etcd/engine.js'
import type { EtcdClient } from '../../storage/etcd/etcd-client.js'
import { noNodes } from '../../storage/etcd/node-facts.js'
import { type DataFolder, isNewFolder, openDataFolder } from '../../storage/folder/data-folder.js'
import { type ClusterFact, noteClusterFact, readClusterFact } from '../../storage/folder/folder-cluster.js'
import { dataFile } from '../../storage/folder/member.js'
import { removeDraft, swapMember } from '../../storage/folder/member-swap.js'
import {
  type AppliedRecords,
  type ClusterOptions,
  checkpointsOf,
  clusterBegun,
  followingMembers,
} from '../join-rules.js'

interface RecoveryParts {
  readonly client: EtcdClient
  readonly engine: Pick<Engine, 'begin'>
  readonly options: ClusterOptions
  /** The data folder with which the cluster begins anew. */
  readonly folder: string
  /**
   * Data folders of other nodes. A log that is longer in one of them is taken from there. They are opened as at a
   * start, which restores their checkpoints; their contents stay as they are.
   */
  readonly others: readonly string[]
}

const settings = {
  maxReaders: 64,
  everyPage_bytes: 0,
  maps: { sizeMax_bytes: 2 ** 24, others_bytes: () => commandSpace_bytes, oneByOne: true },
} as const

/** A node's folder, locked by this process. */
interface HeldFolder {
  readonly data: DataFolder
  readonly fact: ClusterFact
  readonly applied: AppliedRecords
}

/**
 * Begins a cluster anew that etcd has lost, from a data folder of one of its nodes: each log goes on behind the longest
 * replica in the given folders. The node of that folder has to start first. Gives a report; refuses with a text for the
 * operator, when etcd still has a cluster.
 */
export async function recoverCluster(parts: RecoveryParts): Promise<Result<string, string>> {
  const { client, options, folder, others } = parts
  const found = await findClusterState(client, options.prefix)
  if (!found.ok) return found
  if (found.value !== undefined)
    return err(
      `a cluster stands at ${options.prefix}: nothing is to be recovered. If etcd was restored from an earlier time, and the folders have more, end all brokers and remove what stands there first: etcdctl del --prefix ${options.prefix}/`,
    )
  const held: HeldFolder[] = []
  try {
    for (const path of [folder, ...others]) {
      const taken = await takenFolder(path, options.name)
      if (!taken.ok) return taken
      held.push(taken.value)
    }
    return await begunAnew(parts, held)
  } finally {
    for (const { data } of held) data.release()
  }
}

async function takenFolder(path: string, name: string): Promise<Result<HeldFolder, string>> {
  const fact = isNewFolder(path) ? undefined : readClusterFact(path)
  if (fact?.state !== 'member')
    return err(`${path} is no data folder of a node of cluster ${name}: give -dbPath, and --copy, those of its nodes`)
  const open = { ...settings, partitions: undefined, preferred: 1, serves: { cluster: name } }
  const opened = await openDataFolder(path, open)
  if (!opened.ok) return err(opened.error.reason)
  return ok({ data: opened.value, fact, applied: await checkpointsOf(opened.value, settings) })
}

async function begunAnew(
  { engine, options }: RecoveryParts,
  [base, ...others]: readonly HeldFolder[],
): Promise<Result<string, string>> {
  if (base === undefined) throw new Error('there is no folder')
  const other = others.find(
    ({ data, fact }) => data.partitions !== base.data.partitions || fact.began !== base.fact.began,
  )
  if (other !== undefined)
    return err(
      `${other.data.path} and ${base.data.path} are of different beginnings of the cluster: one of them was not of it when etcd lost it`,
    )
  const lines: string[] = []
  for (const [log, applied] of base.applied) {
    const longest: HeldFolder = others.reduce<HeldFolder>(
      (best, other) => (at(other, log) > at(best, log) ? other : best),
      base,
    )
    lines.push(
      `log ${log} goes on behind record ${at(longest, log)}${longest === base ? '' : `, of ${longest.data.path}; ${base.data.path} had ${applied}`}`,
    )
    if (longest !== base) await takeOver(log, longest, base)
  }
  const applied = await checkpointsOf(base.data, settings)
  const begun = clusterBegun(options.name, base.data, applied, noNodes)
  const isNew = await engine.begin(begun.description, begun.after, begun.nodes)
  if (!isNew.ok)
    return err(`${isNew.error.reason}: whether the cluster was begun is not known, see rigel cluster status`)
  if (!isNew.value) return err(`somebody else has begun a cluster at ${options.prefix} at this moment`)
  const { name, prefix } = options
  noteClusterFact(base.data.path, { name, prefix, state: 'member', began: begun.began })
  const next = `cluster ${name} is begun anew with ${base.data.path}: start the broker of that folder first, then the others`
  return ok(`${[...lines, next].join('\n')}\n`)
}

function at({ applied }: HeldFolder, log: LogName): number {
  return applied.get(log) ?? 0
}

/** Replaces the file of a shorter replica by that of a longer one. */
async function takeOver(log: LogName, from: HeldFolder, to: HeldFolder): Promise<void> {
  const [source, member] = [followingMembers(from.data).get(log), followingMembers(to.data).get(log)]
  if (source === undefined || member === undefined) throw new Error(`there is no log ${log}`)
  try {
    for await (const step of swapMember(member, to.data.id, createReadStream(dataFile(source)), settings)) void step
  } catch (fault) {
    removeDraft(member)
    throw fault
  }
}
