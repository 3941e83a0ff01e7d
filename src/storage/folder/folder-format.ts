import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { pathExists, replaceFile, syncFolder } from '../../folder.js'
import { numberOf } from '../../number-of.js'
import { err, ok, type Result } from '../../result.js'
import { readOwnText } from '../../text-file.js'

/** The format that this program writes, and the only one that it reads. */
export const formatVersion = 6

/** The identity of a data folder. */
export interface FolderFormat {
  /** Fixed when the folder was made. */
  readonly partitions: number
  /** Random, given once; all files of the folder carry it. */
  readonly folder: string
}

/** The content of a format file; `damaged` when it exists and cannot be read. */
type FormatRead = FolderFormat | { readonly otherVersion: number } | 'missing' | 'damaged'

/** The files of the format, and of the intended format while a folder is being created: until then it is empty and may be created again. */
const names = { now: 'format.json', made: 'format.making.json' } as const

/** The path of the format file. */
export function formatFile(path: string): string {
  return join(path, names.now)
}

/**
 * The format of a folder; refuses with `missing`, or with a reason for the operator, also when the folder has more partitions than it
 * says. Throws when its file cannot be read.
 */
export function readFormat(path: string): Result<FolderFormat, 'missing' | { readonly reason: string }> {
  const format = parsed(formatFile(path))
  if (format === 'missing') return err(format)
  if (format === 'damaged') return err({ reason: `${formatFile(path)} is damaged: restore it from a backup` })
  if ('otherVersion' in format) return err({ reason: otherFormat(path, format.otherVersion) })
  const reason = partitionBeyond(path, format.partitions)
  return reason === undefined ? ok(format) : err({ reason })
}

/** Why a folder cannot have this number of partitions: there is a later one, whose entities would be missing. */
export function partitionBeyond(path: string, partitions: number): string | undefined {
  const beyond = readdirSync(path).find((name) => /^partition-\d+$/.test(name) && partitionNumber(name) >= partitions)
  return (
    beyond &&
    `${formatFile(path)} says ${numberOf(partitions, 'partition')}, but there is ${join(path, beyond)}: restore the folder from a backup, or move ${beyond} elsewhere if it does not belong to it`
  )
}

function partitionNumber(name: string): number {
  return Number(name.slice('partition-'.length))
}

/** The sentence that something was written in a format which this program does not read, and what to do. */
export function otherFormat(what: string, version: number, by = 'the version of Rigel that wrote it'): string {
  return `${what} has format ${version}, this program reads format ${formatVersion}: use ${by}`
}

/** The format of an interrupted creation; undefined if there is none or another version has begun it. */
export function readNextFormat(path: string): FolderFormat | undefined {
  const format = parsed(join(path, names.made))
  return typeof format === 'object' && 'folder' in format ? format : undefined
}

/** The text of the format file. */
export function formatText(format: FolderFormat): string {
  return `${JSON.stringify({ ...membersOf(format), crc: checksumOf(format) })}\n`
}

function membersOf({ partitions, folder }: FolderFormat): FolderFormat & { readonly format: number } {
  return { format: formatVersion, partitions, folder }
}

/** The CRC-32 of what a format file holds beside it. Part of the format on disk; files of earlier versions have none. */
function checksumOf(format: FolderFormat): number {
  return crc32(JSON.stringify(membersOf(format)))
}

/** Notes the intended format durably, before the folder is created. */
export function noteNextFormat(path: string, next: FolderFormat): void {
  replaceFile(join(path, names.made), formatText(next))
}

/** Enters the intended format, once everything of the folder is on disk. */
export function enterNextFormat(path: string): void {
  syncFolder(path)
  renameSync(join(path, names.made), join(path, names.now))
  syncFolder(path)
}

function parsed(file: string): FormatRead {
  if (!pathExists(file)) return 'missing'
  const text = readOwnText(file, 'restore it from a backup')
  try {
    return checked(JSON.parse(text)) ?? 'damaged'
  } catch {
    return 'damaged' // No JSON: the caller reports it like other damage.
  }
}

function checked(raw: unknown): FolderFormat | { readonly otherVersion: number } | undefined {
  if (typeof raw !== 'object' || raw === null || !('format' in raw) || typeof raw.format !== 'number') return undefined
  if (raw.format !== formatVersion) return { otherVersion: raw.format }
  if (!('partitions' in raw) || !('folder' in raw)) return undefined
  const { partitions, folder } = raw
  if (typeof partitions !== 'number' || !Number.isInteger(partitions) || partitions < 1) return undefined
  if (typeof folder !== 'string') return undefined
  const isAsWritten = !('crc' in raw) || raw.crc === checksumOf({ partitions, folder })
  return isAsWritten ? { partitions, folder } : undefined
}
