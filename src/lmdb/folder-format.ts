import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile, syncFolder } from '../folder.js'
import { err, ok, type Result } from '../result.js'

/** The format that this program writes, and the only one that it reads. */
export const formatVersion = 4

/** What a data folder is. */
export interface FolderFormat {
  /** Fixed when the folder was made. */
  readonly partitions: number
  /** Random, given once; all files of the folder carry it. */
  readonly folder: string
}

/** What stands in a file that says what a folder is; `damaged` when it is there and says nothing. */
type FormatRead = FolderFormat | { readonly otherVersion: number } | 'missing' | 'damaged'

/** What a folder is, and what it is to become while it is being made: until then it holds nothing, and may be made anew. */
const names = { now: 'format.json', made: 'format.making.json' } as const

/** The file that says what a folder is. */
export function formatFile(path: string): string {
  return join(path, names.now)
}

/** What the folder is; `missing` where there is none, else why it is refused, for the operator. Throws when its file can not be read. */
export function readFormat(path: string): Result<FolderFormat, 'missing' | { readonly reason: string }> {
  const format = parsed(formatFile(path))
  if (format === 'missing') return err(format)
  if (format === 'damaged') return err({ reason: `${formatFile(path)} is damaged: restore it from a backup` })
  return 'otherVersion' in format ? err({ reason: otherFormat(path, format.otherVersion) }) : ok(format)
}

/** That something was written in a format which this program does not read, and what to do. */
export function otherFormat(what: string, version: number, by = 'the version of Rigel that wrote it'): string {
  return `${what} has format ${version}, this program reads format ${formatVersion}: use ${by}`
}

/** What the folder was to become when it was last opened, and is not yet; nothing that another version has begun. */
export function readNextFormat(path: string): FolderFormat | undefined {
  const format = parsed(join(path, names.made))
  return typeof format === 'object' && 'folder' in format ? format : undefined
}

/** What stands in the file that says what a folder is. */
export function formatText({ partitions, folder }: FolderFormat): string {
  return `${JSON.stringify({ format: formatVersion, partitions, folder })}\n`
}

/** Notes durably what a folder is to become, before anything of it is done. */
export function noteNextFormat(path: string, next: FolderFormat): void {
  replaceFile(join(path, names.made), formatText(next))
}

/** The folder is now what it was to become: all of that is on disk. */
export function enterNextFormat(path: string): void {
  syncFolder(path)
  renameSync(join(path, names.made), join(path, names.now))
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

function checked(raw: unknown): FolderFormat | { readonly otherVersion: number } | undefined {
  if (typeof raw !== 'object' || raw === null || !('format' in raw) || typeof raw.format !== 'number') return undefined
  if (raw.format !== formatVersion) return { otherVersion: raw.format }
  if (!('partitions' in raw) || !('folder' in raw)) return undefined
  const { partitions, folder } = raw
  if (typeof partitions !== 'number' || !Number.isInteger(partitions) || partitions < 1) return undefined
  return typeof folder === 'string' ? { partitions, folder } : undefined
}
