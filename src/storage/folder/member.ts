import { closeSync, fsyncSync, mkdirSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { failureText } from '../../faults.js'
import { pathExists, syncFolder } from '../../folder.js'
import { openOwnFile } from '../../text-file.js'
import { openDatabase, openRoot } from '../environment/environment.js'
import { tryEnvironmentFiles, UnusableFile } from '../environment/environment-files.js'
import { damageOf } from '../environment/file-check.js'
import { appliedFact } from '../environment/logged-environment.js'
import { storedNumber } from '../records/damage.js'
import type { Key } from '../records/keys.js'
import type { LogSequence } from '../wal/record-log.js'

/** An environment of a data folder: a partition or the coordinator's own. */
export interface FolderMember {
  /** Its name in the data folder, which is also that of its own folder. */
  readonly name: string
  readonly path: string
}

/** How members are checked and created. */
export interface MemberSettings {
  /** Up to this size every page of a file is checked; beyond it only branch pages. */
  readonly everyPage_bytes: number
  /** Read transactions that may be open at one time, over all threads. */
  readonly maxReaders: number
  /** Called for each file and each page that is checked: there may be many, and the thread does nothing else meanwhile. */
  readonly goesOn?: () => void
}

/** The fact that names the folder of an environment and its place there. */
export const memberFact: Key = ['member']

/** Room for writing that fact: LMDB never changes a page in its place. */
const roomForFact_bytes = 2 ** 24

/** The data file of a member. */
export function dataFile({ path }: FolderMember): string {
  return join(path, 'data.mdb')
}

/** Why the member's file cannot be opened, for its operator; undefined when it can. */
export function unusable(member: FolderMember, { everyPage_bytes, goesOn }: MemberSettings): string | undefined {
  const file = dataFile(member)
  if (!pathExists(file)) return `${file} is missing: ${wayOut}`
  const damage = damageOf(file, everyPage_bytes, goesOn)
  return damage && `${file} is damaged (${damage.what}): ${wayOut}`
}

/** Why a member with a sound file does not belong there; undefined when it does. */
export async function misplaced(
  member: FolderMember,
  folder: string,
  settings: MemberSettings,
): Promise<string | undefined> {
  const found = await withFacts(member, settings, (facts) => facts.get(memberFact))
  if (found === factOf(member, folder)) return undefined
  const file = dataFile(member)
  const [foundFolder, name] = found?.split(' ') ?? []
  if (foundFolder !== folder) return `${file} belongs to another data folder: ${wayOut}`
  return `${file} is that of ${name}: put the files back where they belong, or ${wayOut}`
}

/** Marks a member with the folder that it belongs to, unless it has a mark. */
function mark(member: FolderMember, folder: string, settings: MemberSettings): Promise<void> {
  return withFacts(member, settings, (facts) => {
    if (facts.get(memberFact) === undefined) facts.putSync(memberFact, factOf(member, folder))
  })
}

/** Marks a member with the folder that it belongs to from now on. */
export function markAnew(member: FolderMember, folder: string, settings: MemberSettings): Promise<void> {
  return withFacts(member, settings, (facts) => facts.putSync(memberFact, factOf(member, folder)))
}

/** The last record of its log that a member has noted as applied. */
export function notedBy(member: FolderMember, settings: MemberSettings): Promise<LogSequence> {
  return withFacts(
    member,
    settings,
    (facts) => storedNumber(facts.get(appliedFact), member.path, 'the last record that was applied') as LogSequence,
  )
}

/** Creates a member that holds only its mark. Existing files are the rest of an interrupted start. */
export async function make(member: FolderMember, folder: string, settings: MemberSettings): Promise<void> {
  mkdirSync(member.path, { recursive: true })
  rmSync(dataFile(member), { force: true })
  await mark(member, folder, settings)
  syncFolder(member.path)
}

/**
 * Gives the file of LMDB's locks and readers its place on disk before LMDB maps it: a page of it that the disk has no room
 * for would end the process with a signal. Only while nobody has the environment open in this process, because closing
 * a file gives up the locks that a process has on it.
 */
function reserveLockFile({ path }: FolderMember, maxReaders: number): void {
  const file = join(path, 'lock.mdb')
  const size = 4096 + 64 * maxReaders
  const held = statSync(file, { throwIfNoEntry: false })
  if (held && held.size >= size && held.blocks * 512 >= held.size) return
  const handle = held ? openOwnFile(file, 'r+', 'remove it') : openSync(file, 'w+')
  try {
    const bytes = Buffer.alloc(Math.max(size, held?.size ?? 0))
    readSync(handle, bytes, 0, bytes.length, 0)
    for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at, bytes.length - at, at)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** What an operator can do about a folder that cannot be used. */
export const wayOut = 'restore the folder from a backup, or start with an empty -dbPath'

/** The text of the fact. */
export function factOf({ name }: Pick<FolderMember, 'name'>, folder: string): string {
  return `${folder} ${name}`
}

async function withFacts<Result>(
  member: FolderMember,
  { maxReaders }: MemberSettings,
  use: (facts: ReturnType<typeof openDatabase>) => Result,
): Promise<Result> {
  const file = dataFile(member)
  try {
    tryEnvironmentFiles(member.path, false)
    reserveLockFile(member, maxReaders)
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    const sizeMax_bytes = size + roomForFact_bytes
    const root = openRoot(member.path, { readOnly: false, maxReaders, sizeMax_bytes }, true)
    try {
      return use(openDatabase(root, 'facts'))
    } finally {
      await root.close()
    }
  } catch (fault) {
    if (fault instanceof UnusableFile) throw fault
    throw new Error(`${file} cannot be opened: ${failureText(fault)}`, { cause: fault })
  }
}
