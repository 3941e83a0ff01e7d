import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { failureText } from '../../faults.js'
import { numberOf } from '../../number-of.js'
import { err, ok, type Result } from '../../result.js'
import { type NeededSpace, noSpaceFor } from '../environment/address-space.js'
import { restoreCheckpoint } from '../environment/checkpoint.js'
import { type FolderRefusal, inUse, lockDataFolder, metadataFile } from './data-folder-lock.js'
import {
  enterNextFormat,
  type FolderFormat,
  formatFile,
  noteNextFormat,
  partitionBeyond,
  readFormat,
  readNextFormat,
} from './folder-format.js'
import { lockData } from './folder-lock.js'
import { finishSwap, isDecided } from './folder-swap.js'
import { dataFile, type FolderMember, type MemberSettings, make, misplaced, unusable, wayOut } from './member.js'

/** A data folder that this process has locked. */
export interface DataFolder {
  readonly path: string
  /** A random id, which never changes. */
  readonly id: string
  /** Fixed when the folder was made. */
  readonly partitions: number
  partitionPath(partition: number): string
  /** The folder of the metadata store. */
  readonly metadataPath: string
  /** Unlocks the folder. */
  release(): void
}

/** The address space that is taken once a folder is open. */
export interface FolderMaps extends Pick<NeededSpace, 'sizeMax_bytes'> {
  /** By everything but the environments. */
  readonly others_bytes: (partitions: number) => number
  /** Whether its environments are opened one after the other. */
  readonly oneByOne?: true
}

export interface FolderSettings extends Omit<MemberSettings, 'everyPage_bytes'> {
  /** The number of partitions that was asked for. */
  readonly partitions: number | undefined
  /** The number of partitions of a new folder for which none was asked for. */
  readonly preferred: number
  /** Up to this size of all files every page is checked; beyond it only branch pages. */
  readonly everyPage_bytes: number
  /** What whoever opens the folder will map beside what it has now. */
  readonly maps: FolderMaps
  /** Why this process cannot open a folder with this many partitions, for the operator; undefined when it can. */
  readonly prevents?: (partitions: number) => string | undefined
  /** Present for a broker: the cluster that it belongs to, or none. */
  readonly serves?: { readonly cluster: string | undefined }
  /** Files that flags name: a pid file, keys, logs. They may stand in the folder before its first start. */
  readonly named?: readonly string[]
  /** Called with sentences for the operator about changes of the folder beyond those of every start. */
  readonly tell?: (line: string) => void
}

/**
 * Opens the folder, which is made if it is missing, and keeps other brokers off it. Every file in it is looked at before
 * anything else opens it. The number of partitions is the one that was asked for when the folder was made; asking for
 * another one later is refused [management 9.4].
 */
export async function openDataFolder(
  path: string,
  settings: FolderSettings,
): Promise<Result<DataFolder, FolderRefusal>> {
  const foreign = foreignIn(path, settings.named ?? [])
  if (foreign !== undefined) return err({ reason: foreign })
  const lock = lockDataFolder(path, settings.serves)
  if (!lock.ok) return lock
  const opened = await opening(path, settings)
  if (!opened.ok) {
    lock.value.release()
    return opened
  }
  const held = lockData(metadataFile(path))
  if (!held.ok) {
    lock.value.release()
    return err({ reason: held.error === 'taken' ? inUse(path) : held.error.reason })
  }
  const release = (): void => {
    held.value.release()
    lock.value.release()
  }
  return ok({ ...layout(path), id: heldId(path), partitions: opened.value, release })
}

/** Whether `openDataFolder` will create the folder, as far as that is known before it is locked. */
export function isNewFolder(path: string): boolean {
  return !existsSync(formatFile(path)) && !isDecided(path)
}

/** What a folder may hold before its first start: the lock of a start that failed, logs and pid files, what belongs to a file system. */
const ownNames: ReadonlySet<string> = new Set(['lock', 'cluster.json', 'swap.json', 'next', 'control', 'lost+found'])
const ownBeginnings = ['.', 'format.', 'previous', 'partition-'] as const
const ownParts = ['.log', '.pid'] as const

function isForeign(name: string): boolean {
  if (ownNames.has(name) || ownBeginnings.some((beginning) => name.startsWith(beginning))) return false
  return !ownParts.some((part) => name.includes(part))
}

/** The entry of a folder that a path leads to or through; undefined when it leads elsewhere. */
function entryOf(folder: string, path: string): string | undefined {
  const from = relative(resolve(folder), resolve(path))
  return from === '' || from.startsWith('..') || isAbsolute(from) ? undefined : from.split(sep, 1)[0]
}

/** What is in a folder. Why one cannot be looked into, its lock says. */
function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** The refusal of a folder that holds things of somebody else and no data of a broker. */
function foreignIn(path: string, named: readonly string[]): string | undefined {
  if (!isNewFolder(path)) return undefined
  const own = new Set(named.map((file) => entryOf(path, file)))
  const [first, ...more] = namesIn(path).filter((name) => isForeign(name) && !own.has(name))
  if (first === undefined) return undefined
  const others = more.length === 0 ? '' : ` and ${more.length} more`
  return `${path} is not empty and is no data folder: it holds ${first}${others}; name an empty or a new one with -dbPath`
}

function opening(path: string, settings: FolderSettings): Promise<Result<number, FolderRefusal>> {
  return openedFolder(path, settings).catch((fault: unknown) =>
    err({ reason: `the data folder ${path} cannot be used: ${failureText(fault)}` }),
  )
}

/** The id of a folder that was checked. */
function heldId(path: string): string {
  const format = readFormat(path)
  if (!format.ok) throw new Error(`${formatFile(path)} is not what it was a moment ago`)
  return format.value.folder
}

function layout(path: string): Pick<DataFolder, 'path' | 'partitionPath' | 'metadataPath'> {
  return {
    path,
    partitionPath: (partition) => join(path, `partition-${partition}`),
    metadataPath: join(path, 'control'),
  }
}

/** Creates or checks the folder; returns the number of its partitions. */
async function openedFolder(path: string, settings: FolderSettings): Promise<Result<number, FolderRefusal>> {
  const steps: string[] = []
  for (const step of finishSwap(path)) {
    steps.push(step)
    settings.goesOn?.()
  }
  if (steps.length > 0) settings.tell?.(`${path} was left in the middle of a swap of its files: ${steps.at(-1)}`)
  const format = readFormat(path)
  if (!format.ok) return format.error === 'missing' ? created(path, settings) : err(format.error)
  const { partitions } = format.value
  if (settings.partitions !== undefined && settings.partitions !== partitions) {
    return err({
      reason: `${path} was made with ${numberOf(partitions, 'partition')} and keeps that number: start without -partitions, or give it ${settings.partitions} with rigel reshard`,
    })
  }
  const impossible = settings.prevents?.(partitions) ?? noSpaceForAll(partitions, settings.maps)
  if (impossible !== undefined) return err({ reason: impossible })
  const unrestored = firstNotRestored(membersOf(path, partitions), settings)
  if (unrestored !== undefined) return err({ reason: unrestored })
  return held(path, format.value, settings)
}

/** Checks a complete folder: all its files exist, are sound, and belong to it. */
async function held(
  path: string,
  { partitions, folder }: FolderFormat,
  settings: FolderSettings,
): Promise<Result<number, FolderRefusal>> {
  const members = membersOf(path, partitions)
  const reason = firstUnusable(members, settings) ?? (await firstMisplaced(members, folder, settings))
  return reason === undefined ? ok(partitions) : err({ reason })
}

/** Creates a folder, or continues an interrupted creation: nothing has been stored in it yet. */
async function created(path: string, settings: FolderSettings): Promise<Result<number, FolderRefusal>> {
  const begun = readNextFormat(path)
  if (begun === undefined && (existsSync(join(path, 'partition-0')) || existsSync(layout(path).metadataPath))) {
    return err({
      reason: `${formatFile(path)} is missing although the directory holds partitions: restore it from a backup`,
    })
  }
  const partitions = settings.partitions ?? begun?.partitions ?? settings.preferred
  const impossible = settings.prevents?.(partitions) ?? noSpaceForAll(partitions, settings.maps)
  if (impossible !== undefined) return err({ reason: impossible })
  // They are empty: nothing is stored in a folder whose creation has not come to its end.
  for (let more = partitions; more < (begun?.partitions ?? 0); more += 1) {
    rmSync(layout(path).partitionPath(more), { recursive: true, force: true })
  }
  const beyond = partitionBeyond(path, partitions)
  if (beyond !== undefined) return err({ reason: beyond })
  const folder = randomUUID()
  noteNextFormat(path, { partitions, folder })
  for (const member of membersOf(path, partitions)) {
    settings.goesOn?.()
    await make(member, folder, settings)
  }
  enterNextFormat(path)
  return ok(partitions)
}

/** Why the environments of a folder cannot be mapped, the metadata's among them; undefined when they can. */
function noSpaceForAll(partitions: number, maps: FolderMaps): string | undefined {
  const { sizeMax_bytes, others_bytes, oneByOne } = maps
  return noSpaceFor({
    environments: oneByOne ? 1 : partitions + 1,
    sizeMax_bytes,
    others_bytes: others_bytes(partitions),
  })
}

function membersOf(path: string, partitions: number): readonly FolderMember[] {
  const { partitionPath, metadataPath } = layout(path)
  const numbers = Array.from({ length: partitions }, (_, number) => number)
  return [
    ...numbers.map((number) => ({ name: `partition-${number}`, path: partitionPath(number) })),
    { name: 'control', path: metadataPath },
  ]
}

/**
 * Makes the environments what they were at their last checkpoints: what has changed since is in the logs. It comes before anything
 * else reads, copies or writes them: what a loss of power has left may be damaged until then.
 */
function firstNotRestored(members: readonly FolderMember[], { goesOn }: MemberSettings): string | undefined {
  for (const { path } of members) {
    goesOn?.()
    const restored = restoreCheckpoint(path)
    if (!restored.ok) return `${restored.error.reason}: ${wayOut}`
  }
  return undefined
}

function firstUnusable(members: readonly FolderMember[], settings: FolderSettings): string | undefined {
  const sizes = members.map((member) => statSync(dataFile(member), { throwIfNoEntry: false })?.size ?? 0)
  const all_bytes = sizes.reduce((sum, size) => sum + size, 0)
  const everyPage_bytes = all_bytes <= settings.everyPage_bytes ? all_bytes : 0
  for (const member of members) {
    settings.goesOn?.()
    const reason = unusable(member, { ...settings, everyPage_bytes })
    if (reason !== undefined) return reason
  }
  return undefined
}

async function firstMisplaced(
  members: readonly FolderMember[],
  folder: string,
  settings: MemberSettings,
): Promise<string | undefined> {
  for (const member of members) {
    settings.goesOn?.()
    const reason = await misplaced(member, folder, settings)
    if (reason !== undefined) return reason
  }
  return undefined
}
