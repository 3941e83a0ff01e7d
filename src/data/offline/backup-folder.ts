import { createHash, type Hash } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { makeFolder, pathExists, privateMode, syncFolder } from '../../folder.js'
import { readArchive } from '../../storage/archive/archive.js'
import { type BackedUpFile, type Manifest, manifestName, parseManifest } from '../../storage/archive/manifest.js'
import { noRoomFor } from '../../storage/environment/disk-room.js'
import { syncTree } from '../../storage/folder/folder-swap.js'
import { readOwnText } from '../../text-file.js'
import { CommandFailure } from './command.js'

/** Where a backup is written until it is complete: beside its folder, on the same file system. */
function draftOf(folder: string): string {
  return join(dirname(resolve(folder)), `${basename(resolve(folder))}.draft`)
}

/** Throws when a backup cannot go to a folder: it exists, or is a mount point, which cannot be replaced. */
export function checkIsFree(folder: string): void {
  if (!pathExists(folder)) return
  if (!statSync(folder).isDirectory()) throw new CommandFailure(`${folder} is no folder`)
  if (readdirSync(folder).length > 0) {
    throw new CommandFailure(`${folder} is not empty: name a folder that is not there yet, each backup has its own`)
  }
  if (statSync(folder).dev !== statSync(dirname(resolve(folder))).dev) {
    throw new CommandFailure(`${folder} is a mount point: name a folder in it, each backup has its own`)
  }
}

/**
 * Writes the files of an archive to a folder: beside it first, durably, and under its name only when all checksums are those of
 * the manifest. Killed before that, it leaves a folder whose name ends with `.draft`, which the next one removes. Throws, in
 * words, when the disk has no room for the bytes that are announced. The folder is for its owner alone.
 */
export async function receiveBackup(
  { pieces, bytes }: { readonly pieces: AsyncIterable<Uint8Array>; readonly bytes: number | undefined },
  folder: string,
  taken: (bytes: number) => void,
): Promise<Manifest> {
  const draft = draftOf(folder)
  makeFolder(dirname(draft))
  if (pathExists(draft) && !readdirSync(draft).every(isBackedUp)) {
    throw new CommandFailure(`${draft} is in the way, and holds what is no part of a backup: remove it`)
  }
  rmSync(draft, { recursive: true, force: true })
  const short = noRoomFor(dirname(draft), bytes ?? 0, 'the backup')
  if (short !== undefined) throw new CommandFailure(short)
  mkdirSync(draft, privateMode)
  const received = new ReceivedFiles(draft, taken)
  try {
    await readArchive(pieces, received)
    const manifest = matching(draft, received.files)
    syncTree(draft)
    renameSync(draft, folder)
    syncFolder(dirname(draft))
    return manifest
  } catch (fault) {
    await received.close()
    rmSync(draft, { recursive: true, force: true })
    throw fault
  }
}

/** The longest backup file that is read as a whole: a damaged backup may hold anything. */
const textMax_bytes = 2 ** 22

/**
 * The manifest of a backup. Throws `CommandFailure` when there is none or the files beside it are not those that it names, and what
 * the system says when it cannot be read.
 */
export function readManifest(folder: string): Manifest {
  const file = join(folder, manifestName)
  if (!pathExists(file)) {
    throw new CommandFailure(`${folder} is not a complete backup: it has no ${manifestName}`)
  }
  if (statSync(file).size > textMax_bytes) throw new CommandFailure(`${file} is too long for a manifest`)
  const manifest = parseManifest(readOwnText(file, 'take another backup'))
  if (!manifest.ok) throw new CommandFailure(`${folder}: ${manifest.error}`)
  for (const { name, bytes } of manifest.value.files) {
    const size = statSync(join(folder, name), { throwIfNoEntry: false })?.size
    if (size === undefined) throw new CommandFailure(`${join(folder, name)} is missing: the backup is damaged`)
    if (size !== bytes) {
      throw new CommandFailure(`${join(folder, name)} has ${size} bytes instead of ${bytes}: the backup is damaged`)
    }
  }
  return manifest.value
}

/** The number of bytes that are read and written at once. */
const piece_bytes = 2 ** 20

/** Reads a file of a backup, and copies it if `target` names a file; throws when its checksum is not that of the manifest. */
export async function readBackedUp(
  folder: string,
  { name, sha256 }: BackedUpFile,
  taken: (bytes: number) => void,
  target?: string,
): Promise<void> {
  const hash = createHash('sha256')
  const source = await open(join(folder, name), 'r')
  const copy = target === undefined ? undefined : await open(target, 'wx', 0o600)
  const buffer = Buffer.allocUnsafe(piece_bytes)
  try {
    for (;;) {
      const { bytesRead } = await source.read(buffer, 0, buffer.length)
      if (bytesRead === 0) break
      const piece = buffer.subarray(0, bytesRead)
      hash.update(piece)
      if (copy !== undefined) await writeAll(copy, piece)
      taken(bytesRead)
    }
    await copy?.sync()
  } finally {
    await source.close()
    await copy?.close()
  }
  if (hash.digest('hex') !== sha256) {
    throw new CommandFailure(`${join(folder, name)} is not as it was backed up: its checksum is another one`)
  }
}

/** Writes the files as they arrive, and computes their checksums. */
class ReceivedFiles {
  readonly files: BackedUpFile[] = []
  readonly #folder: string
  readonly #taken: (bytes: number) => void
  #open: { readonly name: string; readonly handle: FileHandle; readonly hash: Hash; bytes: number } | undefined

  constructor(folder: string, taken: (bytes: number) => void) {
    this.#folder = folder
    this.#taken = taken
  }

  async begin(name: string, bytes: number): Promise<void> {
    if (!/^(format\.json|manifest\.json|partition-\d{1,4}\/data\.mdb|control\/data\.mdb)$/.test(name)) {
      throw new CommandFailure(`what came is no backup of Rigel: it holds ${JSON.stringify(name)}`)
    }
    if (this.files.some((file) => file.name === name)) {
      throw new CommandFailure(`what came is no backup of Rigel: it holds ${name} twice`)
    }
    if (name.endsWith('.json') && bytes > textMax_bytes) {
      throw new CommandFailure(`what came is no backup of Rigel: its ${name} has ${bytes} bytes`)
    }
    const file = join(this.#folder, name)
    mkdirSync(dirname(file), { recursive: true })
    this.#open = { name, handle: await open(file, 'wx', 0o600), hash: createHash('sha256'), bytes: 0 }
  }

  async take(bytes: Uint8Array): Promise<void> {
    if (this.#open === undefined) throw new Error('no file has begun')
    this.#open.hash.update(bytes)
    this.#open.bytes += bytes.length
    await writeAll(this.#open.handle, bytes)
    this.#taken(bytes.length)
  }

  async end(): Promise<void> {
    if (this.#open === undefined) throw new Error('no file has begun')
    const { name, handle, hash, bytes } = this.#open
    this.#open = undefined
    await handle.close()
    this.files.push({ name, bytes, sha256: hash.digest('hex') })
  }

  /** The archive has ended. */
  async close(): Promise<void> {
    await this.#open?.handle.close()
  }
}

function isBackedUp(name: string): boolean {
  return /^(format\.json|manifest\.json|partition-\d+|control)$/.test(name)
}

/** The manifest of the received files; throws when they do not match it. */
function matching(folder: string, files: readonly BackedUpFile[]): Manifest {
  const manifest = readManifest(folder)
  const names = new Set([manifestName, ...manifest.files.map(({ name }) => name)])
  const more = files.find(({ name }) => !names.has(name))
  if (more !== undefined) throw new CommandFailure(`${more.name} came, and ${manifestName} does not name it`)
  for (const { name, sha256 } of manifest.files) {
    if (files.find((file) => file.name === name)?.sha256 !== sha256) {
      throw new CommandFailure(`${name} did not come as it was sent: its checksum is another one`)
    }
  }
  return manifest
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at, bytes.length - at)).bytesWritten
}
