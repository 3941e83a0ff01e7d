import { join } from 'node:path'
import { diskFault } from '../faults.js'
import { err, ok, type Result } from '../result.js'
import { blankHead, fileSizeInHead, frameBefore, torn_bytes } from './frame.js'
import type { LogFolder } from './log-folder.js'
import { type LogPosition, LogScan } from './log-scan.js'
import type { LogSequence } from './record-log.js'
import { nameOf, smallest_bytes } from './segments.js'

/** Where a log ends that was found on disk. */
export interface RecoveredLog {
  /** The position that was given, or behind the opening of the segment that begins there. */
  readonly from: LogPosition
  readonly end: LogPosition
  /** The bytes at its end that were begun and are no whole record, and were cut. */
  readonly cut_bytes: number
  /** Whether nothing says how many records there were: there is none, and the file is empty. */
  readonly isBlank: boolean
}

/** Why a log can not be opened: what was on disk is not there any more as it was. */
export interface LogDamage {
  readonly file: string
  readonly offset: number
  /** What is wrong, in words for the operator. */
  readonly what: string
}

/**
 * Finds where a log ends whose records up to a position are needed no more. What was begun behind that is cut; what stands
 * before it is on disk when this returns. Throws a `DiskFault` when the disk fails.
 *
 * What is not there any more may never have been flushed, or was lost. It was lost when a record behind it is there that was written
 * later; when the file is shorter than the last record that begins there knew it to be on disk; and when the segment behind the last
 * record is shorter than any that is begun. Zeros that take the place of all records from one on cannot be told from those that are
 * written ahead of records.
 */
export function recoverLog(
  folder: LogFolder,
  given: LogPosition,
  segment_bytes: number,
): Result<RecoveredLog, LogDamage> {
  const scan = new LogScan(folder)
  const damage = ({ segment, offset }: LogPosition, what: string): Result<never, LogDamage> =>
    err({ file: join(folder.path, nameOf(segment)), offset, what })
  if (!scan.has(given.segment)) return damage(given, 'it is missing')
  const from = scan.opened(given)
  if (scan.bytesOf(from.segment).length < from.offset) return damage(from, 'it is shorter than it was')
  const { end, doubtful, file_bytes } = endOf(scan, from)
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
    return damage(end, `record ${end.sequence + 1} is damaged, and later ones are sound`)
  }
  const cut_bytes = torn_bytes(bytes, end.offset)
  const cuts = later.flatMap(({ segment, offset }) => (segment === end.segment ? [offset] : []))
  const file = folder.open(nameOf(end.segment))
  try {
    for (const offset of new Set([end.offset, ...cuts])) blankHead(file, offset)
    // Of a record that was extending the file, only zeros behind the payload may be missing: it is whole.
    if (bytes.length < end.offset) file.write(bytes.length, Buffer.alloc(end.offset - bytes.length))
    // A flush that failed has dropped what it did not bring to disk, and reading shows it all the same.
    file.write(doubtful, bytes.subarray(doubtful, end.offset))
    file.flush()
    return ok({ from, end, cut_bytes, isBlank: end.offset === 0 && bytes.length === 0 })
  } catch (fault) {
    throw diskFault(join(folder.path, nameOf(end.segment)), fault)
  } finally {
    file.close()
  }
}

/**
 * The position behind the last record; where in its segment the first one begins that was not known to be on disk when the last
 * one was written; and what the file of that was known to have on disk.
 */
function endOf(
  scan: LogScan,
  from: LogPosition,
): { readonly end: LogPosition; readonly doubtful: number; readonly file_bytes: number } {
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
  return { end, doubtful: begins[0]?.offset ?? end.offset, file_bytes }
}
