import { diskFault, isOutOfDescriptors } from '../../faults.js'
import type { LogFile, LogFolder } from './log-folder.js'
import type { LogSequence } from './record-log.js'

/** How large a segment becomes, unless something else is asked for. */
export const defaultSegment_bytes = 2 ** 26

/** A segment is extended by its own length at a time, within these limits and by at most a sixteenth of what the disk has left. */
const growthMin_bytes = 2 ** 18
const growthMax_bytes = 2 ** 22

/** The number of empty segments that are kept for reuse, which spares the disk writes of metadata. */
const sparesMax = 1

/**
 * The files that a log lies in, each named after the sequence of its first record. Records are written to the last one,
 * which is extended with zeros ahead of them: overwriting what the file has already, `fdatasync` has no metadata to write.
 */
export class Segments {
  readonly #folder: LogFolder
  readonly #segment_bytes: number
  /** The first sequences of the segments that hold records, ascending; the last one is written to. */
  #firsts: LogSequence[]
  #spares: string[]
  #file: LogFile
  #size_bytes: number

  /**
   * Goes on in a segment. Those before it are kept until they are truncated; what the folder holds behind it was cut off the
   * log, and goes.
   */
  constructor(folder: LogFolder, segment_bytes: number, first: LogSequence) {
    this.#folder = folder
    this.#segment_bytes = segment_bytes
    const firsts = segmentsIn(folder)
    for (const cut of firsts.filter((other) => other > first)) folder.remove(nameOf(cut))
    this.#firsts = [...firsts.filter((other) => other < first), first]
    this.#spares = folder.names().filter((name) => name.startsWith(sparePrefix))
    this.#file = folder.open(nameOf(first))
    this.#size_bytes = this.#file.size_bytes
    folder.flush()
  }

  /** The first sequence of the segment that is written to. */
  get current(): LogSequence {
    return this.#firsts.at(-1) ?? (0 as LogSequence)
  }

  get file(): LogFile {
    return this.#file
  }

  /** Whether this many bytes still go into the current segment at an offset. */
  fits(offset: number, bytes: number): boolean {
    return offset + bytes <= this.#segment_bytes
  }

  /** The least length of the current segment. */
  get size_bytes(): number {
    return this.#size_bytes
  }

  /**
   * Goes on in a new segment, which is on disk with its smallest size before it has its name: one that is shorter was cut.
   * Everything in the one before has been flushed. Without a descriptor for the new one it goes on in the one before, however long
   * that becomes, and returns false.
   */
  next(first: LogSequence): boolean {
    const name = nameOf(first)
    const spare = this.#spares.at(-1) ?? `${sparePrefix}${name}`
    const file = this.#opened(spare)
    if (file === undefined) return false
    if (this.#spares.length === 0) this.#spares.push(spare)
    try {
      this.#lengthen(file, spare)
      this.#folder.rename(spare, name)
      this.#spares.pop()
      this.#flushNames(name)
    } catch (fault) {
      file.close()
      throw fault
    }
    this.#file.close()
    this.#file = file
    this.#size_bytes = file.size_bytes
    this.#firsts.push(first)
    return true
  }

  #opened(name: string): LogFile | undefined {
    try {
      return this.#folder.open(name)
    } catch (fault) {
      if (isOutOfDescriptors(fault)) return undefined
      throw fault
    }
  }

  /** Extends a file that is to become a segment to its smallest size, on disk. */
  #lengthen(file: LogFile, name: string): void {
    const { size_bytes } = file
    const missing_bytes = smallest_bytes(this.#segment_bytes) - size_bytes
    if (missing_bytes > 0) file.write(size_bytes, Buffer.alloc(missing_bytes))
    flushed(file, name) // Also what was written when there was not enough space for all of it.
  }

  #flushNames(name: string): void {
    try {
      this.#folder.flush()
    } catch (fault) {
      throw diskFault(name, fault) // Whatever the reason: it may be on disk or not.
    }
  }

  /**
   * Extends the current segment so that it has this many bytes, or as many as there is space for: whoever writes finds out
   * whether that is enough. Says whether it has become longer by all that was wanted.
   */
  reserve(bytes: number): boolean {
    if (bytes <= this.#size_bytes) return false
    // If there was no space to extend the file ahead of a record, writing the record may have extended it.
    this.#size_bytes = this.#file.size_bytes
    if (bytes <= this.#size_bytes) return false
    const most_bytes = Math.min(growthMax_bytes, Math.floor(this.#folder.free_bytes / 16))
    const step = Math.min(Math.max(this.#size_bytes, growthMin_bytes), most_bytes)
    const target = Math.max(bytes, Math.min(this.#size_bytes + step, this.#segment_bytes))
    try {
      this.#file.write(this.#size_bytes, Buffer.alloc(target - this.#size_bytes))
      this.#size_bytes = target
      return true
    } catch (fault) {
      if (!isOutOfSpace(fault)) throw fault
      return false
    }
  }

  /**
   * Gives up the segments whose records are all before a sequence, whose own position is to stay. What a disk without space
   * does not let go of is given up the next time.
   */
  truncate(upTo: LogSequence): void {
    try {
      while ((this.#firsts[1] ?? Number.POSITIVE_INFINITY) <= upTo) {
        this.#giveUp(nameOf(this.#firsts[0] ?? upTo))
        this.#firsts.shift()
      }
    } catch (fault) {
      if (!isOutOfSpace(fault)) throw fault
    }
  }

  #giveUp(name: string): void {
    if (this.#spares.length >= sparesMax) {
      this.#folder.remove(name)
      return
    }
    const spare = `${sparePrefix}${name}`
    this.#folder.rename(name, spare)
    this.#spares.push(spare)
  }

  close(): void {
    this.#file.close()
    this.#folder.close()
  }
}

/** The initial size of a segment, by the size that segments may reach. */
export function smallest_bytes(segment_bytes: number): number {
  return Math.min(growthMin_bytes, segment_bytes)
}

/** A flush that fails is a fault whatever the reason: part of it may be on disk. */
function flushed(file: LogFile, name: string): void {
  try {
    file.flush()
  } catch (fault) {
    throw diskFault(name, fault)
  }
}

const sparePrefix = 'spare-'
const nameLength = 16

/** The name of the file whose first record has this sequence. */
export function nameOf(first: LogSequence): string {
  return `${String(first).padStart(nameLength, '0')}.log`
}

/** The first sequences of the segments in a folder, ascending. */
export function segmentsIn(folder: LogFolder): LogSequence[] {
  const firsts = folder.names().flatMap((name) => (/^\d{16}\.log$/.test(name) ? [Number.parseInt(name, 10)] : []))
  return firsts.sort((a, b) => a - b).map((first) => first as LogSequence)
}

/** Whether a write failed because there was no space: on the disk, in the quota, under the limit of a file's size. */
export function isOutOfSpace(fault: unknown): boolean {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
}
