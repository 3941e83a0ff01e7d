import { randomUUID } from 'node:crypto'
import { systemFaultText } from '../faults.js'
import type { Options } from '../flags/settings.js'
import type { Log } from '../observe/log/log.js'
import { err, ok, type Result } from '../result.js'
import type { WriterSettings } from '../storage/environment/environment.js'
import type { ClusterBeginning, ClusterDescription, ClusterState } from '../storage/etcd/cluster-state.js'
import type { LogName } from '../storage/etcd/engine.js'
import type { EtcdSettings } from '../storage/etcd/etcd-client.js'
import type { BegunCluster } from '../storage/etcd/log-thread.js'
import { type ClusterNodes, nodesText, recordFormats } from '../storage/etcd/node-facts.js'
import type { DataFolder } from '../storage/folder/data-folder.js'
import type { ClusterFact } from '../storage/folder/folder-cluster.js'
import { type FolderMember, notedBy } from '../storage/folder/member.js'
import { MetadataStore } from '../storage/store/metadata-store.js'
import { PartitionStore } from '../storage/store/partition-store.js'
import type { LogSequence } from '../storage/wal/record-log.js'
import { readTextFile } from '../text-file.js'

export type AppliedRecords = ReadonlyMap<LogName, LogSequence>

/** A data folder that is to serve a cluster. */
export interface JoiningFolder {
  readonly path: string
  readonly id: string
  readonly partitions: number
  readonly fact: ClusterFact | undefined
  readonly applied: () => Promise<AppliedRecords>
}

/** The first description of a cluster that begins with this folder, behind what the folder has applied. */
export function clusterBegun(
  name: string,
  { id: folder, partitions }: Pick<DataFolder, 'id' | 'partitions'>,
  after: AppliedRecords,
  nodes: ClusterNodes,
): BegunCluster & { readonly began: string } {
  const began: ClusterBeginning = { id: randomUUID(), behind: Object.fromEntries(after) }
  const description: ClusterDescription = { format: 1, name, folder, partitions, began }
  return { description: JSON.stringify(description), after, nodes: nodesText(nodes), began: began.id }
}

/**
 * Why an existing cluster cannot be served by a folder of this id (undefined: a new folder), as a text for the operator;
 * undefined when it can.
 */
export function clusterRefusal(
  { description, nodes }: Pick<ClusterState, 'description' | 'nodes'>,
  { name, prefix }: Pick<ClusterOptions, 'name' | 'prefix'>,
  folder?: string,
): string | undefined {
  if (description.name !== name)
    return `${prefix} is the place of cluster ${description.name}: give another -clusterPrefix`
  if (nodes.nodes.length > 0 || description.folder === folder) return undefined
  return `it was begun with another data folder, of id ${description.folder}: start the broker of that folder first, then others join`
}

/** Why an existing data folder cannot serve a cluster, as a text for the operator; undefined when it can. */
export async function joinRefusal(
  state: ClusterState,
  options: Pick<ClusterOptions, 'name' | 'prefix'>,
  folder: JoiningFolder,
): Promise<string | undefined> {
  const { description } = state
  const { path, fact } = folder
  const isFirst = description.folder === folder.id
  const refusal = clusterRefusal(state, options, folder.id)
  if (refusal !== undefined) return refusal
  if (description.partitions !== folder.partitions)
    return `it has ${description.partitions} partitions, and ${path} has ${folder.partitions}: start with a new folder, without -partitions`
  const hasJoined = fact?.state === 'member' || (fact !== undefined && isFirst)
  if (!hasJoined && [...(await folder.applied()).values()].some((applied) => applied > 0))
    return `${path} has data of its own, and the cluster has others: a node joins it with a new folder, which gets what the cluster has`
  return unreadFormats(state) ?? lostRecords(state, folder)
}

/** Why members and this version cannot read each other's formats. */
function unreadFormats({ members, unreadMembers }: ClusterState): string | undefined {
  const [later] = unreadMembers
  if (later !== undefined) return `node ${later} of it has a later version of Rigel, which this one does not understand`
  const other = members.find(({ facts }) => !facts.formats.some((format) => recordFormats.includes(format)))
  if (other === undefined) return undefined
  const { name, formats } = other.facts
  return `node ${name} of it reads records of formats ${formats.join(', ')}, and this version those of ${recordFormats.join(', ')}: use a version of Rigel between the two`
}

/**
 * A folder from before a recovery of the cluster may hold records that the recovery lost, whose sequences belong to
 * other records now.
 */
async function lostRecords({ description }: ClusterState, folder: JoiningFolder): Promise<string | undefined> {
  const { began } = description
  const { fact, path } = folder
  if (began === undefined || fact?.state !== 'member' || fact.began === began.id) return undefined
  const ahead = [...(await folder.applied())].filter(([log, applied]) => applied > (began.behind[log] ?? 0))
  if (ahead.length === 0) return undefined
  const records = ahead.map(
    ([log, applied]) => `record ${applied} of log ${log}, which went on behind ${began.behind[log] ?? 0}`,
  )
  return `it was begun anew with another folder, and ${path} has what that did not have: ${records.join('; ')}. Move ${path} aside and start with a new folder, or recover the cluster with this one: see "etcd has lost its data" in docs/cluster.md`
}

export type ClusterOptions = NonNullable<Options['cluster']>

/**
 * How to reach the etcd of a cluster. Refuses with a text for the operator when the password of its user cannot be read.
 */
export function etcdSettings({
  urls,
  ca,
  cert,
  key,
  user,
  passwordFile,
}: ClusterOptions): Result<EtcdSettings, string> {
  const reached = { urls, ca, cert, key }
  if (user === undefined || passwordFile === undefined) return ok(reached)
  try {
    const password = readTextFile(passwordFile).split(/\r?\n/, 1)[0] ?? ''
    return ok({ ...reached, user: { name: user, password } })
  } catch (fault) {
    return err(`the password of etcd's user (-etcdPasswordFile) cannot be read: ${systemFaultText(fault)}`)
  }
}

type FollowingFolder = Pick<DataFolder, 'partitions' | 'partitionPath' | 'metadataPath'>

/** The environments of a folder, by the log that each follows. */
export function followingMembers(folder: FollowingFolder): ReadonlyMap<LogName, FolderMember> {
  const members = new Map<LogName, FolderMember>([['control', { name: 'control', path: folder.metadataPath }]])
  for (let partition = 0; partition < folder.partitions; partition += 1)
    members.set(partition, { name: `partition-${partition}`, path: folder.partitionPath(partition) })
  return members
}

/** The last record that the checkpoint of each environment has applied. The environments must not be open. */
export async function checkpointsOf(
  folder: FollowingFolder,
  { maxReaders }: Pick<WriterSettings, 'maxReaders'>,
): Promise<AppliedRecords> {
  const applied = new Map<LogName, LogSequence>()
  for (const [log, member] of followingMembers(folder))
    applied.set(log, await notedBy(member, { maxReaders, everyPage_bytes: 0 }))
  return applied
}

/**
 * Brings the environments of a folder without a cluster up to date with their own logs; gives what they have applied
 * then.
 */
export async function ownRecordsOf(
  folder: FollowingFolder,
  storage: WriterSettings,
  log: Log,
): Promise<AppliedRecords> {
  const applied = new Map<LogName, LogSequence>()
  for (let partition = 0; partition < folder.partitions; partition += 1) {
    const store = new PartitionStore(folder.partitionPath(partition), storage, { log })
    applied.set(partition, store.applied)
    await store.close()
  }
  const broken = (reason: string): never => {
    throw new Error(reason)
  }
  const metadata = new MetadataStore(folder.metadataPath, storage, broken, log)
  applied.set('control', metadata.applied)
  await metadata.close()
  return applied
}
