import { join } from 'node:path'
import { diskFault } from '../../faults.js'
import { err, ok, type Result } from '../../result.js'
import { canBeTorn, fileSizeInHead, frameBefore, torn_bytes, zeroEnd, zeroHead } from './frame.js'
import type { LogFolder } from './log-folder.js'
import { type LogPosition, LogScan } from './log-scan.js'
import type { LogSequence } from './record-log.js'
import { defaultSegment_bytes, nameOf, smallest_bytes } from './segments.js'

/** The end of a log that was found on disk. */
export interface RecoveredLog {
  /** The position that was given, or the one behind the opening frame of the segment that begins there. */
  readonly from: LogPosition
  readonly end: LogPosition
  /** The length of the incomplete record at its end, which was cut. */
  readonly cut_bytes: number
  /** Whether the file is empty, so that nothing says how many records there were. */
  readonly isEmpty: boolean
}

/** Why a log can not be opened: what was on disk is not there any more as it was. */
export interface LogDamage {
  readonly file: string
  readonly offset: number
  /** A sentence for the operator. */
  readonly what: string
}

/** The sentence about damage, without a way out. */
export function damageText({ file, offset, what }: LogDamage): string {
  return `${file} is damaged at byte ${offset} (${what})`
}

/** What bytes are that are cut off the end of a log. */
export const cutRecord =
  'a record whose writing was interrupted; it may have been acknowledged if the broker ran with -writeConcern 0, or if the disk has changed it since'

/**
 * Finds the end of a log whose records up to a position are not needed any more. An incomplete record behind the end is cut; everything
 * before the end is on disk when this returns. Refuses what `foundLog` refuses. Throws a `DiskFault` when the disk fails.
 */
export function recoverLog(
  folder: LogFolder,
  given: LogPosition,
  segment_bytes: number,
): Result<RecoveredLog, LogDamage> {
  const scan = new LogScan(folder, segment_bytes)
  const found = foundLog(scan, folder.path, given, segment_bytes)
  if (!found.ok) return found
  const { from, end, unflushed, cuts, cut_bytes, isEmpty } = found.value
  const bytes = scan.bytesOf(end.segment)
  const file = folder.open(nameOf(end.segment))
  try {
    for (const offset of cuts) zeroHead(file, offset)
    // What was cut may have been a record for which there was no space.
    zeroEnd(file, end.offset)
    // Of a record that was extending the file, only zeros behind the payload may be missing: it is whole.
    if (bytes.length < end.offset) file.write(bytes.length, Buffer.alloc(end.offset - bytes.length))
    // A flush that failed has dropped what it did not bring to disk, and reading shows it all the same.
    for (let offset = unflushed; offset < Math.min(end.offset, bytes.length); ) {
      const piece = bytes.from(offset, 1).subarray(0, end.offset - offset)
      file.write(offset, piece)
      offset += piece.length
    }
    file.flush()
    return ok({ from, end, cut_bytes, isEmpty })
  } catch (fault) {
    throw diskFault(join(folder.path, nameOf(end.segment)), fault)
  } finally {
    file.close()
  }
}

/** A log as it is on disk. */
interface FoundLog extends RecoveredLog {
  /** The offset in the last segment of the first record that was not known to be on disk. */
  readonly unflushed: number
  /** The offsets in the last segment at which no record may be found any more. */
  readonly cuts: ReadonlySet<number>
}

/**
 * Finds the end of a log, and changes nothing.
 *
 * A missing record was either never flushed or lost. It was lost if a record that was written after its flush is there, if a later
 * segment is there, which begins only after a flush, if the file is shorter than the length on disk that its last record notes, if the
 * segment behind the last record is shorter than a new one, or if something stands in its place that no interrupted write leaves. If
 * zeros take the place of all records from some record on, they cannot be told from zeros that are written ahead of records.
 */
export function foundLog(
  scan: LogScan,
  path: string,
  given: LogPosition,
  segment_bytes = defaultSegment_bytes,
): Result<FoundLog, LogDamage> {
  const damage = ({ segment, offset }: LogPosition, what: string): Result<never, LogDamage> =>
    err({ file: join(path, nameOf(segment)), offset, what })
  if (!scan.has(given.segment)) return damage(given, 'it is missing')
  const from = scan.opened(given)
  if (scan.bytesOf(from.segment).length < from.offset) return damage(from, 'it is shorter than it was')
  const { end, unflushed, file_bytes } = endOf(scan, from)
  const bytes = scan.bytesOf(end.segment)
  if (bytes.length < Math.max(file_bytes, fileSizeInHead(bytes, end.offset, end))) {
    return damage({ ...end, offset: bytes.length }, 'it is shorter than it was')
  }
  const next = (end.sequence + 1) as LogSequence
  if (file_bytes > 0 && next !== end.segment && scan.has(next)) {
    const { length } = scan.bytesOf(next)
    if (length < smallest_bytes(segment_bytes)) {
      return damage({ ...end, segment: next, offset: length }, 'it is shorter than it was')
    }
  }
  const later = [...scan.laterThan(end)]
  // Without a record that was written after the missing one was on disk, the missing one may have been on its way there.
  if (later.some(({ flushed }) => flushed > end.sequence)) {
    return damage(end, `record ${next} is damaged, and later ones are sound`)
  }
  const after = scan.segmentAfter(next)
  if (after !== undefined)
    return damage(end, `record ${next} is missing or damaged, and ${nameOf(after)} was begun later`)
  if (end === from && from.offset > 0 && frameBefore(scan.bytesOf(from.segment), from.offset, from.crc) === undefined) {
    return damage(from, `record ${from.sequence} before it, which the checkpoint names, is damaged`)
  }
  // The record that a checkpoint names was flushed before it.
  if (!canBeTorn(bytes, end.offset, end, end === from)) {
    return damage(end, `what follows record ${end.sequence} is no record that was being written`)
  }
  const cuts = later.flatMap(({ segment, offset }) => (segment === end.segment ? [offset] : []))
  return ok({
    ...{ from, end, unflushed },
    cuts: new Set([end.offset, ...cuts]),
    cut_bytes: torn_bytes(bytes, end.offset),
    isEmpty: end.offset === 0 && bytes.length === 0,
  })
}

/**
 * The position behind the last record, the offset in its segment of the first record that was not known to be on disk when the last
 * one was written, and the length of that file that was known to be on disk.
 */
function endOf(
  scan: LogScan,
  from: LogPosition,
): { readonly end: LogPosition; readonly unflushed: number; readonly file_bytes: number } {
  let end = from
  let file_bytes = frameBefore(scan.bytesOf(from.segment), from.offset, from.crc)?.file_bytes ?? 0
  const begins: { readonly sequence: number; readonly offset: number }[] = []
  for (const { frame, after } of scan.records(from)) {
    if (after.segment !== end.segment) begins.length = 0
    file_bytes = frame.file_bytes
    begins.push({ sequence: frame.sequence, offset: after.offset - frame.size_bytes })
    while (begins[0] && begins[0].sequence <= frame.flushed) begins.shift()
    end = after
  }
  return { end, unflushed: begins[0]?.offset ?? end.offset, file_bytes }
}
