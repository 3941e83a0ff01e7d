import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile, syncFolder } from '../folder.js'

/**
 * The format that this program writes; it reads every one up to it. Since the second one a folder has an id, which all its
 * files carry; since the third one there is a log before each environment; since the fourth one expirations and locations are
 * indexed, and types of attributes counted.
 */
export const formatVersion = 4

/** What a data folder is. */
export interface FolderFormat {
  readonly version: number
  /** Fixed when the folder was made. */
  readonly partitions: number
  /** Random, given once. Folders of the first format have none. */
  readonly folder: string | undefined
}

/** What stands in a file that says what a folder is; `damaged` when it is there and says nothing. */
export type FormatRead = FolderFormat | 'missing' | 'damaged'

/**
 * What a folder is, and what it is to become when it is being made or gets its id. The last two are told apart because
 * what was being made holds nothing yet, and may be made anew.
 */
const names = { now: 'format.json', made: 'format.making.json', adopted: 'format.adopting.json' } as const

/** How a folder comes to its format. */
export type Becoming = 'made' | 'adopted'

/** The file that says what a folder is. */
export function formatFile(path: string): string {
  return join(path, names.now)
}

/** What the folder is. Throws when its file can not be read. */
export function readFormat(path: string): FormatRead {
  return parsed(join(path, names.now))
}

/** What the folder was to become when it was last opened, and is not yet. */
export function readNextFormat(path: string, becoming: Becoming): FormatRead {
  return parsed(join(path, names[becoming]))
}

/** What stands in the file that says what a folder is. */
export function formatText({ version, partitions, folder }: FolderFormat): string {
  return `${JSON.stringify({ format: version, partitions, folder })}\n`
}

/** Notes durably what a folder is to become, before anything of it is done. */
export function noteNextFormat(path: string, becoming: Becoming, { partitions, folder }: FolderFormat): void {
  replaceFile(join(path, names[becoming]), formatText({ version: formatVersion, partitions, folder }))
}

/** The folder is now what it was to become: all of that is on disk. */
export function enterNextFormat(path: string, becoming: Becoming): void {
  syncFolder(path)
  renameSync(join(path, names[becoming]), join(path, names.now))
  syncFolder(path)
}

function parsed(file: string): FormatRead {
  if (!existsSync(file)) return 'missing'
  const text = readFileSync(file, 'utf8')
  try {
    return checked(JSON.parse(text)) ?? 'damaged'
  } catch {
    return 'damaged' // No JSON: the same as any other damage, which the caller words.
  }
}

function checked(raw: unknown): FolderFormat | undefined {
  if (typeof raw !== 'object' || raw === null || !('format' in raw) || !('partitions' in raw)) return undefined
  const { format: version, partitions } = raw
  const folder = 'folder' in raw && typeof raw.folder === 'string' ? raw.folder : undefined
  if (typeof version !== 'number' || typeof partitions !== 'number') return undefined
  if (!Number.isInteger(partitions) || partitions < 1) return undefined
  return version > 1 && version <= formatVersion && folder === undefined ? undefined : { version, partitions, folder }
}
