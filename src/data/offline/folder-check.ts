import { join } from 'node:path'
import { pathExists } from '../../folder.js'
import { commandSpace_bytes, noSpaceFor } from '../../storage/environment/address-space.js'
import { restoreCheckpoint } from '../../storage/environment/checkpoint.js'
import { type EnvironmentSettings, figuresOf, openEnvironment } from '../../storage/environment/environment.js'
import { tryEnvironmentFiles } from '../../storage/environment/environment-files.js'
import { damageOf } from '../../storage/environment/file-check.js'
import { lockDataFolder } from '../../storage/folder/data-folder-lock.js'
import { finishSwap } from '../../storage/folder/folder-swap.js'
import { factOf, memberFact } from '../../storage/folder/member.js'
import type { Findings } from '../../storage/store/check/findings.js'
import { checkLog } from '../../storage/store/check/log-check.js'
import { checkMetadata, type MetadataCounts } from '../../storage/store/check/metadata-check.js'
import { checkOutbox } from '../../storage/store/check/outbox-check.js'
import { PartitionCheck } from '../../storage/store/check/partition-check.js'
import { CommandFailure } from './command.js'
import { anySize_bytes, currentFiles, formatOf, openFolder } from './offline-folder.js'
import { Progress, type ProgressOutput } from './progress.js'

/** The numbers of checked items. */
export interface FolderCounts extends Pick<MetadataCounts, 'subscriptions' | 'registrations'> {
  readonly partitions: number
  readonly entities: number
  readonly notices: number
}

/** The id and the partitions of a data folder or backup. */
interface Whole {
  readonly folder: string
  readonly partitions: number
}

const reading: EnvironmentSettings = { readOnly: true, sizeMax_bytes: anySize_bytes, maxReaders: 64 }

/**
 * Checks the data folder of a stopped broker: its files and logs as they are, and, when those are sound, its records after the
 * logs have been applied. Throws a text for the operator when it cannot be checked. Gives the numbers of checked items.
 */
export async function checkedFolder(
  path: string,
  findings: Findings,
  errors: ProgressOutput,
): Promise<FolderCounts | undefined> {
  if (!pathExists(path)) throw new CommandFailure(`${path} is not there`)
  refuseWithoutSpace()
  const lock = lockDataFolder(path)
  if (!lock.ok) throw new CommandFailure(lock.error.reason)
  let partitions: number
  try {
    for (const _ of finishSwap(path));
    partitions = formatOf(path).partitions
    for (const name of namesOf(partitions)) checkFiles(join(path, name), name, findings)
  } finally {
    lock.value.release()
  }
  if (findings.count > 0) return undefined
  const folder = await openFolder(path).catch((fault: unknown) => {
    if (!(fault instanceof CommandFailure)) throw fault
    findings.add(path, undefined, fault.message)
  })
  if (folder === undefined) return undefined
  try {
    try {
      await currentFiles(folder)
    } catch (fault) {
      findings.add(path, undefined, fault instanceof Error ? fault.message : String(fault))
      return undefined
    }
    return await checkedMembers(path, { folder: folder.id, partitions }, findings, errors)
  } finally {
    folder.release()
  }
}

/** Throws `CommandFailure` when the address space of this process has no room for the environments, which are read one after the other. */
export function refuseWithoutSpace(): void {
  const { sizeMax_bytes } = reading
  const missing = noSpaceFor({ environments: 1, sizeMax_bytes, others_bytes: commandSpace_bytes })
  if (missing !== undefined) throw new CommandFailure(missing)
}

/** Checks the records of all members, whose pages are known to be sound or are checked here; undefined when they are damaged. */
export async function checkedMembers(
  path: string,
  { folder, partitions }: Whole,
  findings: Findings,
  errors: ProgressOutput,
): Promise<FolderCounts | undefined> {
  const before = findings.count
  for (const name of namesOf(partitions)) checkPages(join(path, name, 'data.mdb'), findings)
  if (findings.count > before) return undefined
  let entities = 0
  let notices = 0
  for (let partition = 0; partition < partitions; partition += 1) {
    const counts = await checkPartition(path, { folder, partitions }, partition, findings, errors)
    entities += counts.entities
    notices += counts.notices
  }
  const metadata = await checkMetadata(join(path, 'control'), folder, reading, findings)
  return { partitions, entities, notices, ...metadata }
}

function namesOf(partitions: number): readonly string[] {
  return [...Array.from({ length: partitions }, (_, number) => `partition-${number}`), 'control']
}

/** The state of a running broker at its end is in its log: the file is at its last checkpoint. */
function checkFiles(path: string, name: string, findings: Findings): void {
  const file = join(path, 'data.mdb')
  if (!pathExists(file)) {
    findings.add(file, undefined, 'it is missing')
    return
  }
  // What this user may not open is no damage.
  tryEnvironmentFiles(path, false)
  const restored = restoreCheckpoint(path)
  if (!restored.ok) {
    findings.add(join(path, 'checkpoint'), undefined, restored.error.reason)
    return
  }
  checkPages(file, findings)
  checkLog(path, name === 'control' ? 'metadata' : 'partition', findings)
}

function checkPages(file: string, findings: Findings): void {
  const damage = damageOf(file, Number.POSITIVE_INFINITY)
  if (damage !== undefined) findings.add(file, undefined, damage.what)
}

async function checkPartition(
  folderPath: string,
  { folder, partitions }: Whole,
  partition: number,
  findings: Findings,
  errors: ProgressOutput,
): Promise<{ readonly entities: number; readonly notices: number }> {
  const name = `partition-${partition}`
  const path = join(folderPath, name)
  const environment = openEnvironment(path, reading)
  const progress = new Progress(name, 'records', figuresOf(environment.records).entryCount, errors)
  try {
    const mark = environment.facts.get(memberFact)
    if (mark !== factOf({ name }, folder)) {
      findings.add(join(path, 'data.mdb'), memberFact, `it says ${mark} instead of ${factOf({ name }, folder)}`)
    }
    const check = new PartitionCheck({
      ...{ environment, path, partition, partitions, findings },
      checked: () => progress.add(1),
    })
    return { entities: check.run(), notices: checkOutbox(environment, path, findings) }
  } finally {
    progress.end()
    await environment.root.close()
  }
}
