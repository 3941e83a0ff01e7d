import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Outcome } from '../outcome.js'
import { granted, refused } from '../outcome.js'
import { type FolderLock, lockFolder } from './folder-lock.js'

/** The format that this program writes. Another one is migrated or refused, never guessed at. */
const formatVersion = 1

/** A data folder that is this process's alone. */
export interface DataFolder {
  readonly path: string
  /** Fixed when the folder was made. */
  readonly partitions: number
  partitionPath(partition: number): string
  /** Where the coordinator keeps what is not about single entities. */
  readonly controlPath: string
  /** Lets other brokers have the folder. */
  release(): void
}

/** Why a folder can not be used, in words for its operator. */
export interface FolderRefusal {
  readonly reason: string
}

/**
 * Opens the folder, which is made if it is missing, and keeps other brokers off it. The number of partitions is the
 * one that was asked for when the folder was made; asking for another one later is refused [management 9.4].
 */
export function openDataFolder(
  path: string,
  asked: number | undefined,
  preferred: number,
): Outcome<DataFolder, FolderRefusal> {
  try {
    makeFolder(path)
  } catch (fault) {
    return refused({ reason: `the data directory ${path} cannot be made: ${reasonOf(fault)}` })
  }
  const lock = lockFolder(path)
  if (!lock.ok) return lock
  const partitions = settledPartitions(path, asked, preferred)
  if (!partitions.ok) {
    lock.value.release()
    return partitions
  }
  return granted(folder(path, partitions.value, lock.value))
}

/** Makes a folder and those above it one by one: Node's own way never returns where the system says that there is none. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(resolve(path)))
  mkdirSync(path)
}

function folder(path: string, partitions: number, lock: FolderLock): DataFolder {
  return {
    path,
    partitions,
    partitionPath: (partition) => join(path, `partition-${partition}`),
    controlPath: join(path, 'control'),
    release: () => lock.release(),
  }
}

function settledPartitions(path: string, asked: number | undefined, preferred: number): Outcome<number, FolderRefusal> {
  const file = join(path, 'format.json')
  try {
    if (existsSync(file)) return heldPartitions(path, readFileSync(file, 'utf8'), asked)
    if (existsSync(join(path, 'partition-0'))) {
      return refused({ reason: `${file} is missing although the directory holds partitions: restore it from a backup` })
    }
    const partitions = asked ?? preferred
    writeDurably(path, file, `${JSON.stringify({ format: formatVersion, partitions })}\n`)
    return granted(partitions)
  } catch (fault) {
    return refused({ reason: `the data directory ${path} cannot be used: ${reasonOf(fault)}` })
  }
}

function heldPartitions(path: string, text: string, asked: number | undefined): Outcome<number, FolderRefusal> {
  const format = parseFormat(text)
  if (!format) return refused({ reason: `${join(path, 'format.json')} is damaged: restore it from a backup` })
  if (format.version !== formatVersion) {
    return refused({
      reason: `${path} has format ${format.version}, this program reads format ${formatVersion}: use the version of Rigel that wrote it`,
    })
  }
  if (asked !== undefined && asked !== format.partitions) {
    return refused({
      reason: `${path} was made with ${format.partitions} partitions and keeps that number: start without -partitions, or use another -dbPath for ${asked}`,
    })
  }
  return granted(format.partitions)
}

function parseFormat(text: string): { readonly version: number; readonly partitions: number } | undefined {
  try {
    const raw: unknown = JSON.parse(text)
    if (typeof raw !== 'object' || raw === null || !('format' in raw) || !('partitions' in raw)) return undefined
    const { format, partitions } = raw
    if (typeof format !== 'number' || typeof partitions !== 'number') return undefined
    return Number.isInteger(partitions) && partitions > 0 ? { version: format, partitions } : undefined
  } catch {
    return undefined // No JSON: the same as any other damage, which the caller words.
  }
}

/** A file that is there whole or not at all, also after a loss of power. */
function writeDurably(path: string, file: string, text: string): void {
  const draft = `${file}.new`
  const handle = openSync(draft, 'w')
  writeSync(handle, text)
  fsyncSync(handle)
  closeSync(handle)
  renameSync(draft, file)
  const directory = openSync(path, 'r')
  fsyncSync(directory)
  closeSync(directory)
}

function reasonOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault)
}
