import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemFaultText } from '../../faults.js'
import { makeFolder, privateMode } from '../../folder.js'
import { err, type Result } from '../../result.js'
import { clusterRefusal, commandRefusal } from './folder-cluster.js'
import { type FolderLock, isLocked, lockFolder } from './folder-lock.js'

/** Why a folder cannot be used, as a sentence for its operator. */
export interface FolderRefusal {
  readonly reason: string
}

/**
 * Takes a data folder, whatever lies in it, for this process alone; it is made if it is missing, for its owner alone. Refuses while a broker or
 * another command has it. What is there is not even looked at while somebody else writes it. A folder of a cluster is opened by
 * nobody but a broker of that.
 *
 * @param serves given by a broker, with the cluster that it is to be of; commands give nothing
 */
export function lockDataFolder(
  path: string,
  serves?: { readonly cluster: string | undefined },
): Result<FolderLock, FolderRefusal> {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false) {
      return err({ reason: `the data folder ${path} is not a folder: name another place with -dbPath` })
    }
    makeFolder(resolve(path), privateMode)
  } catch (fault) {
    return err({
      reason: `the data folder ${path} cannot be made: ${systemFaultText(fault)}`,
    })
  }
  const lock = lockFolder(path)
  if (!lock.ok) return lock
  const reason = isLocked(metadataFile(path)) ? inUse(path) : foreignCluster(path, serves)
  if (reason === undefined) return lock
  lock.value.release()
  return err({ reason })
}

function foreignCluster(
  path: string,
  serves: { readonly cluster: string | undefined } | undefined,
): string | undefined {
  try {
    return serves === undefined ? commandRefusal(path) : clusterRefusal(path, serves.cluster)
  } catch (fault) {
    return systemFaultText(fault)
  }
}

/** The data file that is locked as well, since it stays while a broker runs. */
export function metadataFile(path: string): string {
  return join(path, 'control', 'data.mdb')
}

/** The refusal of a folder whose lock file is gone while its owner lives. */
export function inUse(path: string): string {
  return `${path} is in use by another broker, whose file ${join(path, 'lock')} was removed`
}
