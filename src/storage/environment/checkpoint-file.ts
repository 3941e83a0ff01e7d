import { closeSync, fdatasync, fdatasyncSync, openSync, readSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { pathExists, syncFolder } from '../../folder.js'
import { err, ok, type Result } from '../../result.js'
import { openOwnFile } from '../../text-file.js'
import { folderWayOut } from '../records/damage.js'
import { integerAt, isMeta, meta, pageSizeOf } from './page-layout.js'

/** The two meta pages of an environment, as far as LMDB uses them: number 0, number 1. */
export type MetaPages = readonly [Buffer, Buffer]

/** A checkpoint without its meta pages. */
export interface Checkpoint {
  /** The note of the caller: the position at which its log continues. */
  readonly note: string
  /** Grows by one with each checkpoint of an environment; the first is 1. */
  readonly number: number
  /** The transaction of LMDB whose state it is. */
  readonly transaction: number
}

/** A checkpoint with the meta pages that restore the environment. */
export interface KeptCheckpoint extends Checkpoint {
  readonly metas: MetaPages
}

/** Why a checkpoint that should exist cannot be read, for the operator. */
export interface NoCheckpoint {
  readonly reason: string
}

/** The longest note, in bytes of UTF-8: it shares a block of the disk with the meta pages. */
export const noteMax_bytes = 3728

/** A slot is one block of the disk, so that a write to one leaves the other intact. */
const slot_bytes = 4096

/** Offsets in a slot. The checksum is of all that follows it; the numbers are little-endian. */
const slot = { magic: 0, crc: 8, version: 12, number: 16, length: 24, metas: 32, note: 32 + 2 * meta.bytes } as const
const magic = Buffer.from('RGLCHKPT')
const version = 1

/** Where the checkpoints of an environment are kept: two slots, written in turn, so that a torn write leaves the other. */
export function checkpointFile(path: string): string {
  return join(path, 'checkpoint')
}

/**
 * The file of the checkpoints of an environment. It is made whole with its first checkpoint, and never grows. Whatever fails
 * is thrown as the system says it.
 */
export class CheckpointFile {
  readonly #path: string
  #descriptor: number | undefined

  constructor(path: string) {
    this.#path = path
    const file = checkpointFile(path)
    if (!pathExists(file)) return
    this.#descriptor = openOwnFile(file, 'r+', folderWayOut)
    // The last checkpoint is about to be relied on, and a killed process may not have flushed it.
    fdatasyncSync(this.#descriptor)
  }

  /** Writes a checkpoint over the older one of the two; it is durable after a flush. */
  put(checkpoint: KeptCheckpoint): void {
    const bytes = encoded(checkpoint)
    if (this.#descriptor === undefined) this.#descriptor = made(this.#path, bytes, checkpoint.number)
    else written(this.#descriptor, bytes, (checkpoint.number % 2) * slot_bytes)
  }

  async flush(): Promise<void> {
    if (this.#descriptor !== undefined) await promisify(fdatasync)(this.#descriptor)
  }

  flushSync(): void {
    if (this.#descriptor !== undefined) fdatasyncSync(this.#descriptor)
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}

/** Makes the last written checkpoint durable. */
export function flushCheckpoints(path: string): void {
  new CheckpointFile(path).close()
}

/**
 * The last checkpoint in the folder of an environment; nothing when none was ever taken there. It touches nothing. Refuses
 * when neither slot is sound, or when another version of the broker wrote one.
 */
export function keptCheckpoint(path: string): Result<KeptCheckpoint | undefined, NoCheckpoint> {
  const file = checkpointFile(path)
  if (!pathExists(file)) return ok(undefined)
  let last: KeptCheckpoint | undefined
  for (const index of [0, 1]) {
    const bytes = slotOf(file, index)
    if (!isWhole(bytes)) continue
    if (bytes.readUInt32LE(slot.version) !== version) {
      return err({ reason: `${file} was written by another version of the broker` })
    }
    const kept = decoded(bytes, index)
    if (kept && kept.number > (last?.number ?? 0)) last = kept
  }
  return last ? ok(last) : err({ reason: `${file} is damaged (neither of its slots is sound)` })
}

/** Reads the meta pages of a data file; undefined when they are malformed or do not belong together. */
export function metasOf(descriptor: number): MetaPages | undefined {
  const first = read(descriptor, 0, meta.bytes)
  const pageSize = isMeta(first, 0) ? pageSizeOf(first) : undefined
  if (pageSize === undefined) return undefined
  const second = read(descriptor, pageSize, meta.bytes)
  return isMeta(second, 1) && pageSizeOf(second) === pageSize ? [first, second] : undefined
}

/** The last transaction by the meta pages. */
export function transactionOf([first, second]: MetaPages): number {
  return Math.max(integerAt(first, meta.transaction), integerAt(second, meta.transaction))
}

/** Writes all bytes at an offset of a file. */
export function written(descriptor: number, bytes: Buffer, at: number): void {
  const count = writeSync(descriptor, bytes, 0, bytes.length, at)
  if (count < bytes.length) throw new Error(`only ${count} of ${bytes.length} bytes were written`)
}

/** Creates the file with its first checkpoint, so that a file always has one; returns its descriptor. */
function made(path: string, bytes: Buffer, number: number): number {
  const file = checkpointFile(path)
  const draft = `${file}.new`
  const descriptor = openSync(draft, 'w+')
  try {
    written(descriptor, Buffer.alloc(2 * slot_bytes), 0)
    written(descriptor, bytes, (number % 2) * slot_bytes)
    fdatasyncSync(descriptor)
    renameSync(draft, file)
    syncFolder(path)
    return descriptor
  } catch (fault) {
    closeSync(descriptor)
    throw fault
  }
}

function encoded({ note, number, metas }: KeptCheckpoint): Buffer {
  const text = Buffer.from(note)
  const bytes = Buffer.alloc(slot_bytes)
  magic.copy(bytes, slot.magic)
  bytes.writeUInt32LE(version, slot.version)
  bytes.writeBigUInt64LE(BigInt(number), slot.number)
  bytes.writeUInt32LE(text.length, slot.length)
  metas[0].copy(bytes, slot.metas)
  metas[1].copy(bytes, slot.metas + meta.bytes)
  text.copy(bytes, slot.note)
  bytes.writeUInt32LE(crc32(bytes.subarray(slot.version)), slot.crc)
  return bytes
}

function isWhole(bytes: Buffer): boolean {
  const isMagic = bytes.subarray(slot.magic, slot.magic + magic.length).equals(magic)
  return isMagic && bytes.readUInt32LE(slot.crc) === crc32(bytes.subarray(slot.version))
}

function decoded(bytes: Buffer, index: number): KeptCheckpoint | undefined {
  const number = integerAt(bytes, slot.number)
  const length = bytes.readUInt32LE(slot.length)
  const metas: MetaPages = [
    bytes.subarray(slot.metas, slot.metas + meta.bytes),
    bytes.subarray(slot.metas + meta.bytes, slot.note),
  ]
  const isSound = number % 2 === index && length <= noteMax_bytes && isMeta(metas[0], 0) && isMeta(metas[1], 1)
  if (!isSound) return undefined
  const note = bytes.toString('utf8', slot.note, slot.note + length)
  return { note, number, metas, transaction: transactionOf(metas) }
}

/** The bytes of a slot, with zeros behind the end of the file. */
function slotOf(file: string, index: number): Buffer {
  const descriptor = openOwnFile(file, 'r', folderWayOut)
  try {
    return read(descriptor, index * slot_bytes, slot_bytes)
  } finally {
    closeSync(descriptor)
  }
}

function read(descriptor: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  readSync(descriptor, bytes, 0, length, at)
  return bytes
}
