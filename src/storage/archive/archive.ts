import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { Header } from 'tar/header'
import type { Milliseconds } from '../../time.js'
import { versionFacts } from '../../version.js'
import { formatText } from '../folder/folder-format.js'
import type { PinnedFile } from '../records/store.js'
import { type BackedUpFile, backedUpNames, type Manifest, manifestName, manifestText } from './manifest.js'

/** The data of the broker at one moment: what was answered before it, and nothing that was sent after it. */
export interface BackupPoint {
  /** Identifies the backup. */
  readonly number: number
  /** Id and format of the data folder. */
  readonly folder: string
  readonly format: number
  readonly time: Milliseconds
  /** In the order of the partitions' numbers. */
  readonly partitions: readonly PinnedFile[]
  readonly metadata: PinnedFile
}

/** A file of an archive: a text, or a pinned file. */
export interface ArchivedFile {
  readonly name: string
  readonly content: string | PinnedFile
}

export interface ArchiveParts {
  readonly about: Omit<Manifest, 'files'>
  readonly files: readonly ArchivedFile[]
  /** Called after each piece with the number of bytes read so far; the archive goes on when it resolves. */
  readonly readOn: (bytes: number) => Promise<void>
  /** Called when all files are read. Only then the manifest follows, which completes the archive. */
  readonly allRead: (bytes: number) => Promise<void>
}

/** The size of a piece. */
const piece_bytes = 2 ** 18
/** The block size of tar. */
const block_bytes = 512

/** The contents of a backup of a moment. */
export function backupContents(point: Omit<BackupPoint, 'number'>): Pick<ArchiveParts, 'about' | 'files'> {
  const { folder, format, time, partitions, metadata } = point
  const contents = [formatText({ partitions: partitions.length, folder }), ...partitions, metadata]
  const names = backedUpNames(partitions.length)
  return {
    about: {
      rigel: versionFacts.version,
      format,
      folder,
      partitions: partitions.length,
      point: new Date(time).toISOString(),
    },
    files: contents.map((content, at) => ({ name: names[at] ?? '', content })),
  }
}

/** The exact size of an archive, in bytes. */
export function archive_bytes({ about, files }: Pick<ArchiveParts, 'about' | 'files'>): number {
  const ends = 2 * block_bytes
  const sizes = [
    ...files.map(({ content }) => contentSize(content)),
    Buffer.byteLength(manifestText(withoutSums(about, files))),
  ]
  return sizes.reduce((sum, size) => sum + block_bytes + size + padding(size), ends)
}

/**
 * The pieces of an archive in tar format: the files, then a manifest with their checksums. Throws errors of the file system and
 * of `readOn` and `allRead`.
 */
export async function* archived({ about, files, readOn, allRead }: ArchiveParts): AsyncGenerator<Uint8Array, void> {
  const listed: BackedUpFile[] = []
  let read = 0
  for (const { name, content } of files) {
    const bytes = contentSize(content)
    yield header(name, bytes, about.point)
    const hash = createHash('sha256')
    for await (const piece of piecesOf(content)) {
      hash.update(piece)
      read += piece.length
      yield piece
      await readOn(read)
    }
    if (padding(bytes) > 0) yield Buffer.alloc(padding(bytes))
    listed.push({ name, bytes, sha256: hash.digest('hex') })
  }
  await allRead(read)
  const manifest = Buffer.from(manifestText({ ...about, files: listed }))
  yield header(manifestName, manifest.length, about.point)
  yield manifest
  yield Buffer.alloc(padding(manifest.length) + 2 * block_bytes)
}

function withoutSums(about: Omit<Manifest, 'files'>, files: readonly ArchivedFile[]): Manifest {
  const sha256 = '0'.repeat(64)
  return { ...about, files: files.map(({ name, content }) => ({ name, bytes: contentSize(content), sha256 })) }
}

function contentSize(content: ArchivedFile['content']): number {
  return typeof content === 'string' ? Buffer.byteLength(content) : content.bytes
}

function padding(bytes: number): number {
  return (block_bytes - (bytes % block_bytes)) % block_bytes
}

function header(path: string, size: number, point: string): Buffer {
  const bytes = Buffer.alloc(block_bytes)
  new Header({ path, size, type: 'File', mode: 0o600, uid: 0, gid: 0, mtime: new Date(point) }).encode(bytes)
  return bytes
}

async function* piecesOf(content: ArchivedFile['content']): AsyncGenerator<Buffer, void> {
  if (typeof content === 'string') {
    yield Buffer.from(content)
    return
  }
  yield* pinnedPieces(content)
}

/** The bytes of a pinned file, in pieces. Throws errors of the file system, and when the file is shorter than the snapshot. */
export async function* pinnedPieces(content: PinnedFile): AsyncGenerator<Buffer, void> {
  const handle = await open(content.file, 'r')
  try {
    for (let at = 0; at < content.bytes; at += piece_bytes) yield await patchedPiece(handle, content, at)
  } finally {
    await handle.close()
  }
}

/** The file holds the bytes of the snapshot except for the patches: everything else written since lies elsewhere. */
async function patchedPiece(handle: FileHandle, { file, bytes, patches }: PinnedFile, at: number): Promise<Buffer> {
  const piece = Buffer.allocUnsafe(Math.min(piece_bytes, bytes - at))
  for (let filled = 0; filled < piece.length; ) {
    const { bytesRead } = await handle.read(piece, filled, piece.length - filled, at + filled)
    if (bytesRead === 0) throw new Error(`${file} ends at byte ${at + filled} of ${bytes}`)
    filled += bytesRead
  }
  for (const patch of patches) {
    const offset = patch.at - at
    // Meta pages lie at the beginning of a file, within the first piece.
    if (offset >= 0 && offset < piece.length) piece.set(patch.bytes, offset)
  }
  return piece
}

/** The archive is damaged or not a backup. */
export class WrongArchive extends Error {
  override readonly name = 'WrongArchive'
}

/** Receives the files of an archive. */
export interface ArchiveTaker {
  /** Begins a file; throws when it does not belong to a backup. */
  begin(name: string, bytes: number): Promise<void>
  /** Takes the next bytes of the current file. */
  take(bytes: Uint8Array): Promise<void>
  end(): Promise<void>
}

/**
 * Passes the files of an archive on as its pieces arrive, in bounded memory. Throws `WrongArchive` when the archive is incomplete
 * or contains anything but files, and the errors of its source and the taker.
 */
export async function readArchive(pieces: AsyncIterable<Uint8Array>, taker: ArchiveTaker): Promise<void> {
  const blocks = new Blocks(pieces)
  for (;;) {
    const head = await blocks.next(block_bytes)
    if (head.every((byte) => byte === 0)) return
    const { path, size, type, cksumValid } = new Header(head)
    if (!cksumValid || path === undefined || size === undefined || type !== 'File') {
      throw new WrongArchive('what came is no backup: a file was expected where something else stands')
    }
    await taker.begin(path, size)
    let left = size
    while (left > 0) {
      const bytes = await blocks.atMost(left)
      left -= bytes.length
      await taker.take(bytes)
    }
    await blocks.next((block_bytes - (size % block_bytes)) % block_bytes)
    await taker.end()
  }
}

/** Re-cuts pieces of any length. */
class Blocks {
  readonly #pieces: AsyncIterator<Uint8Array>
  #held: Uint8Array = new Uint8Array()

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Exactly `bytes` bytes, copied: for heads and padding only. */
  async next(bytes: number): Promise<Buffer> {
    const block = Buffer.alloc(bytes)
    for (let filled = 0; filled < bytes; ) {
      const part = await this.atMost(bytes - filled)
      block.set(part, filled)
      filled += part.length
    }
    return block
  }

  /** What is available: at least one byte and at most `bytes`. */
  async atMost(bytes: number): Promise<Uint8Array> {
    while (this.#held.length === 0) {
      const next = await this.#pieces.next()
      if (next.done) throw new WrongArchive('the backup is not whole: it ended too early')
      this.#held = next.value
    }
    const part = this.#held.subarray(0, bytes)
    this.#held = this.#held.subarray(part.length)
    return part
  }
}
