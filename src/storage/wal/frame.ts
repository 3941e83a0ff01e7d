import { crc32 } from 'node:zlib'
import type { FileBytes } from './file-bytes.js'
import type { LogFile } from './log-folder.js'
import type { LogSequence } from './record-log.js'

/**
 * A record in a file of the log. Part of the format on disk: all numbers are unsigned and little-endian, and behind the
 * payload stand as many zeros as make the length of the frame a multiple of 8.
 *
 * | offset | bytes | what |
 * |---|---|---|
 * | 0 | 4 | `RIGL` |
 * | 4 | 4 | length of the payload |
 * | 8 | 4 | CRC-32 of everything that follows, up to the end of the payload |
 * | 12 | 4 | the CRC-32 in the frame of the record before: a frame that was left behind by another history does not fit |
 * | 16 | 6 | sequence |
 * | 22 | 2 | version of this format |
 * | 24 | 4 | by how much the sequence of the last record that was known to be on disk, when this one was written, is lower |
 * | 28 | 4 | how many blocks of 4096 bytes the file was known to have on disk; zero where that was not known, or not noted yet |
 * | 32 | | payload |
 */
export interface Frame {
  readonly sequence: LogSequence
  /** CRC-32 of this frame. */
  readonly crc: number
  /** CRC-32 of the frame before. */
  readonly previous: number
  /** The last record that was known to be on disk when this one was written. */
  readonly flushed: LogSequence
  /** The length of its file that was known to be on disk when this frame was written, rounded down to blocks; 0 if unknown. */
  readonly file_bytes: number
  readonly payload: Buffer
  readonly size_bytes: number
}

export const head_bytes = 32

/** Frames begin at multiples of this. */
const alignment_bytes = 8

/** The unit in which frames note sizes of files. */
const block_bytes = 4096

const magic = 0x4c474952
const version = 1

/** The bytes that a frame with a payload of this length takes in its file. */
export function frameSize(payload_bytes: number): number {
  return alignedUp(head_bytes + payload_bytes)
}

/** Writes a frame to the beginning of a buffer, which must be long enough; returns its CRC. */
export function writeFrame(
  into: Buffer,
  {
    sequence,
    previous,
    flushed,
    file_bytes,
    payload,
  }: Pick<Frame, 'sequence' | 'previous' | 'flushed' | 'file_bytes'> & { payload: Uint8Array },
): number {
  const end = head_bytes + payload.length
  into.writeUInt32LE(magic, 0)
  into.writeUInt32LE(payload.length, 4)
  into.writeUInt32LE(previous, 12)
  into.writeUIntLE(sequence, 16, 6)
  into.writeUInt16LE(version, 22)
  into.writeUInt32LE(sequence - flushed, 24)
  into.writeUInt32LE(Math.floor(file_bytes / block_bytes), 28)
  into.set(payload, head_bytes)
  into.fill(0, end, frameSize(payload.length))
  const crc = crc32(into.subarray(12, end))
  into.writeUInt32LE(crc, 8)
  return crc
}

/** The frame at an offset; undefined unless it is whole and its CRC is right. */
export function frameAt(bytes: Buffer, offset: number): Frame | undefined {
  const length = claimedLength(bytes, offset)
  if (length === undefined) return undefined
  const end = offset + head_bytes + length
  if (end > bytes.length || bytes.readUInt16LE(offset + 22) !== version) return undefined
  const crc = bytes.readUInt32LE(offset + 8)
  if (crc32(bytes.subarray(offset + 12, end)) !== crc) return undefined
  const sequence = sequenceAt(bytes, offset)
  return {
    sequence,
    crc,
    previous: bytes.readUInt32LE(offset + 12),
    flushed: (sequence - bytes.readUInt32LE(offset + 24)) as LogSequence,
    file_bytes: bytes.readUInt32LE(offset + 28) * block_bytes,
    payload: bytes.subarray(offset + head_bytes, end),
    size_bytes: frameSize(length),
  }
}

/** The frame at an offset of a file. Its payload is valid until the next read. */
export function frameIn(bytes: FileBytes, offset: number): Frame | undefined {
  const length = claimedLength(bytes.from(offset, head_bytes), 0)
  if (length === undefined || offset + head_bytes + length > bytes.length) return undefined
  return frameAt(bytes.from(offset, head_bytes + length), 0)
}

/** The unit that disks write atomically. */
const sector_bytes = 512

/** Whether the head of a frame at an offset would lie in one sector. */
function isInOneSector(offset: number): boolean {
  return (offset % sector_bytes) + head_bytes <= sector_bytes
}

/** The head of the record behind `before`, as far as that is known before it is written; zeros stand for the rest. */
function followingHead({ sequence, crc }: Pick<Frame, 'sequence' | 'crc'>): Buffer {
  const head = Buffer.alloc(head_bytes)
  head.writeUInt32LE(magic, 0)
  head.writeUInt32LE(crc, 12)
  head.writeUIntLE(sequence + 1, 16, 6)
  head.writeUInt16LE(version, 22)
  return head
}

/** Whether a part of the head of the record behind `before` stands at an offset, and otherwise zeros. */
function isPartOfHead(bytes: FileBytes, offset: number, before: Pick<Frame, 'sequence' | 'crc'>): boolean {
  const head = bytes.from(offset, head_bytes)
  const isWritten = (at: number): boolean => at < 4 || (at >= 12 && at < 24)
  return followingHead(before).every((byte, at) => !isWritten(at) || head[at] === byte || head[at] === 0)
}

/** Whether a part of the head of an opening stands at the beginning of a segment: it has the sequence of `before`, and follows it. */
function isPartOfOpening(
  bytes: FileBytes,
  offset: number,
  { sequence, crc }: Pick<Frame, 'sequence' | 'crc'>,
): boolean {
  return offset === 0 && isPartOfHead(bytes, offset, { sequence: (sequence - 1) as LogSequence, crc })
}

/**
 * The length on disk that is noted in a frame which goes on behind the end of its file; 0 unless the frame certainly follows `before`.
 */
export function fileSizeInHead(bytes: FileBytes, offset: number, before: Pick<Frame, 'sequence' | 'crc'>): number {
  const head = bytes.from(offset, head_bytes)
  const length = claimedLength(head, 0)
  if (length === undefined || !isInOneSector(offset) || offset + frameSize(length) <= bytes.length) return 0
  const follows = sequenceAt(head, 0) === before.sequence + 1 && head.readUInt32LE(12) === before.crc
  return follows && head.readUInt16LE(22) === version ? head.readUInt32LE(28) * block_bytes : 0
}

/**
 * Whether what stands behind the last frame of a file can be left by a write that was interrupted. A frame is written with a zeroed head
 * behind it, and never up to the end of the file; `zeroEnd` keeps that where there was no space for all of it. So behind a frame that was
 * flushed with that head stands a part of the next frame, or zeros; and behind any frame there are zeros somewhere.
 */
export function canBeTorn(
  bytes: FileBytes,
  offset: number,
  before: Pick<Frame, 'sequence' | 'crc'>,
  isFlushed: boolean,
): boolean {
  if (offset + head_bytes > bytes.length) return true
  if (isFlushed && !isPartOfHead(bytes, offset, before) && !isPartOfOpening(bytes, offset, before)) return false
  let end = offset
  while (end + head_bytes <= bytes.length) {
    const length = claimedLength(bytes.from(end, head_bytes), 0)
    // A file that has become longer than is known may end within a frame, of whose head another sector may be missing.
    if (length === undefined) return !isInOneSector(end) || zerosFrom(bytes, end) < bytes.length
    end += frameSize(length)
  }
  return true
}

/** The frame with this CRC that ends at an offset of a file of frames; undefined if the frames before the offset do not lead to one. */
export function frameBefore(bytes: FileBytes, offset: number, crc: number): Frame | undefined {
  for (let at = 0; at < offset; ) {
    const length = claimedLength(bytes.from(at, head_bytes), 0)
    if (length === undefined) return undefined
    const next = at + frameSize(length)
    if (next < offset) {
      at = next
      continue
    }
    const frame = next === offset ? frameIn(bytes, at) : undefined
    return frame?.crc === crc ? frame : undefined
  }
  return undefined
}

/** The length of the payload by the head of the frame at an offset; undefined where no frame begins. */
function claimedLength(bytes: Buffer, offset: number): number | undefined {
  if (offset + head_bytes > bytes.length || bytes.readUInt32LE(offset) !== magic) return undefined
  return bytes.readUInt32LE(offset + 4)
}

function sequenceAt(bytes: Buffer, offset: number): LogSequence {
  return bytes.readUIntLE(offset + 16, 6) as LogSequence
}

/** Whether there are zeros, or the end of the file, where the head of a frame would be. */
function isZeroed(bytes: FileBytes, offset: number): boolean {
  return bytes
    .from(offset, head_bytes)
    .subarray(0, head_bytes)
    .every((byte) => byte === 0)
}

/** Overwrites the head of the frame at an offset, as far as the file goes, so that it is not found again. */
export function zeroHead(file: LogFile, offset: number): void {
  const length = Math.min(head_bytes, file.size_bytes - offset)
  if (length > 0) file.write(offset, Buffer.alloc(length))
}

/**
 * Overwrites the end of a file behind an offset with zeros. A record for which there was no space may have extended the file up to where
 * its bytes end: what is then written before that has zeros behind it all the same.
 */
export function zeroEnd(file: LogFile, offset: number): void {
  const { size_bytes } = file
  const begin = Math.max(offset, alignedUp(size_bytes - head_bytes))
  if (begin >= size_bytes) return
  const end = Buffer.alloc(size_bytes - begin)
  file.read(begin, end)
  if (end.some((byte) => byte !== 0)) file.write(begin, end.fill(0))
}

/**
 * The length of an incomplete frame at an offset: that which its head announces, or else the bytes up to the next zeros in the place
 * of a head.
 */
export function torn_bytes(bytes: FileBytes, offset: number): number {
  if (isZeroed(bytes, offset)) return 0
  const length = claimedLength(bytes.from(offset, head_bytes), 0)
  const rest = bytes.length - offset
  if (length !== undefined && frameSize(length) <= rest) return frameSize(length)
  return zerosFrom(bytes, offset + alignment_bytes) - offset
}

/** Where the next zeroed head begins, or the file ends. */
function zerosFrom(bytes: FileBytes, offset: number): number {
  for (let at = offset; at < bytes.length; at += alignment_bytes) if (isZeroed(bytes, at)) return at
  return bytes.length
}

/**
 * The frames at and after an offset whose CRC is right, wherever they begin, with sequences above one: older frames, which a reused
 * segment still holds, are passed over without reading them.
 */
export function* framesFrom(
  bytes: FileBytes,
  offset: number,
  above: LogSequence,
): Generator<{ readonly offset: number; readonly frame: Frame }> {
  const begin = Buffer.alloc(4)
  begin.writeUInt32LE(magic)
  for (let at = alignedUp(offset); at + head_bytes <= bytes.length; ) {
    const piece = bytes.from(at, head_bytes)
    const found = piece.indexOf(begin)
    if (found === -1) at = alignedDown(at + piece.length)
    else if (found % alignment_bytes !== 0) at = alignedUp(at + found)
    else {
      at += found
      const isOfThem = at + head_bytes <= bytes.length && sequenceAt(bytes.from(at, head_bytes), 0) > above
      const frame = isOfThem ? frameIn(bytes, at) : undefined
      if (frame) yield { offset: at, frame }
      at += frame?.size_bytes ?? alignment_bytes
    }
  }
}

function alignedDown(offset: number): number {
  return Math.floor(offset / alignment_bytes) * alignment_bytes
}

function alignedUp(offset: number): number {
  return Math.ceil(offset / alignment_bytes) * alignment_bytes
}
