import type { LogName } from '../cluster/engine.js'
import { ControlStore } from '../lmdb/control-store.js'
import type { DataFolder } from '../lmdb/data-folder.js'
import type { WriterSettings } from '../lmdb/environment.js'
import { type FolderMember, notedBy } from '../lmdb/member.js'
import { LmdbPartitionStore } from '../lmdb/partition-store.js'
import type { Log } from '../log/log.js'
import type { LogSequence } from '../wal/record-log.js'
import type { AppliedRecords } from './cluster-joining.js'

type FollowingFolder = Pick<DataFolder, 'partitions' | 'partitionPath' | 'controlPath'>

/** The environments of a folder by the logs that they follow. */
export function followingMembers(folder: FollowingFolder): ReadonlyMap<LogName, FolderMember> {
  const members = new Map<LogName, FolderMember>([['control', { name: 'control', path: folder.controlPath }]])
  for (let partition = 0; partition < folder.partitions; partition += 1)
    members.set(partition, { name: `partition-${partition}`, path: folder.partitionPath(partition) })
  return members
}

/** What the environments of a folder of a cluster have noted. Nobody has them open. */
export async function checkpointsOf(
  folder: FollowingFolder,
  { maxReaders }: Pick<WriterSettings, 'maxReaders'>,
): Promise<AppliedRecords> {
  const applied = new Map<LogName, LogSequence>()
  for (const [log, member] of followingMembers(folder))
    applied.set(log, await notedBy(member, { maxReaders, everyPage_bytes: 0 }))
  return applied
}

/** Brings the environments of a folder that is of no cluster up to date with its own logs; gives what they have applied then. */
export async function ownRecordsOf(
  folder: FollowingFolder,
  storage: WriterSettings,
  log: Log,
): Promise<AppliedRecords> {
  const applied = new Map<LogName, LogSequence>()
  for (let partition = 0; partition < folder.partitions; partition += 1) {
    const store = new LmdbPartitionStore(folder.partitionPath(partition), storage, { log })
    applied.set(partition, store.applied)
    await store.close()
  }
  const broken = (reason: string): never => {
    throw new Error(reason)
  }
  const control = new ControlStore(folder.controlPath, storage, broken, log)
  applied.set('control', control.applied)
  await control.close()
  return applied
}
