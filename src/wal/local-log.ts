import { join } from 'node:path'
import { err, ok, type Result } from '../result.js'
import { DiskFault } from '../storage-fault.js'
import { frameSize, head_bytes, torn_bytes, writeFrame } from './frame.js'
import type { LogFolder } from './log-folder.js'
import { type LogPosition, LogScan, type ScannedRecord } from './log-scan.js'
import type { Appended, LogRecord, LogSequence, SynchronousRecordLog } from './record-log.js'
import { isOutOfSpace, nameOf, Segments, segmentsIn } from './segments.js'

export interface LocalLogSettings {
  /** Whether a record is on disk when it is appended; else that follows soon, and a loss of power takes the last records. */
  readonly durable: boolean
  /** Called when a flush has failed that nobody waits for. */
  readonly failed: (fault: unknown) => void
  /** How large a segment becomes; 64 MiB by default. */
  readonly segment_bytes?: number
}

export interface OpenedLog {
  readonly log: LocalLog
  /** The bytes at its end that were begun and are no whole record, and were cut. */
  readonly cut_bytes: number
}

/** Why a log can not be opened: what was on disk is not there any more as it was. */
export interface LogDamage {
  readonly file: string
  readonly offset: number
  /** What is wrong, in words for the operator. */
  readonly what: string
}

const defaultSegment_bytes = 2 ** 26

/** How long records that are not durable when they are appended wait for being flushed. */
const later_ms = 50

/** Frames up to this size are built in memory that is used again. */
const scratch_bytes = 2 ** 22

/** A log in files of a folder on this machine. */
export class LocalLog implements SynchronousRecordLog {
  readonly #folder: LogFolder
  readonly #settings: LocalLogSettings
  readonly #segments: Segments
  /** Where the log was opened from. */
  readonly #from: LogPosition
  #end: LogPosition
  /** The end before the last record, while that may be retracted. */
  #before: LogPosition | undefined
  #flushed: LogSequence
  #scratch = Buffer.allocUnsafe(2 ** 16)
  #timer: NodeJS.Timeout | undefined

  /** Begins a log behind a sequence, in a folder that holds none. */
  static begin(folder: LogFolder, after: LogSequence, settings: LocalLogSettings): LocalLog {
    const first = (after + 1) as LogSequence
    const end = { sequence: after, segment: first, offset: 0, crc: 0 }
    return new LocalLog(folder, settings, end, end)
  }

  /**
   * Opens a log whose records up to a position are needed no more. A record at its end that is not whole was not
   * acknowledged, and is cut; one that is not whole and had been flushed is damage.
   */
  static open(folder: LogFolder, from: LogPosition, settings: LocalLogSettings): Result<OpenedLog, LogDamage> {
    const fileOf = ({ segment }: LogPosition): string => join(folder.path, nameOf(segment))
    if (!segmentsIn(folder).includes(from.segment)) {
      return err({ file: fileOf(from), offset: from.offset, what: 'it is missing' })
    }
    const scan = new LogScan(folder)
    const end = scan.endFrom(from)
    const bytes = scan.bytesOf(end.segment)
    const damage = (what: string) => err({ file: fileOf(end), offset: end.offset, what })
    if (bytes.length < end.offset) return damage('it is shorter than it was')
    if (scan.hasFlushedBehind(end)) return damage(`record ${end.sequence + 1} is damaged, and later ones are sound`)
    const log = new LocalLog(folder, settings, from, end)
    const cut_bytes = torn_bytes(bytes, end.offset)
    if (cut_bytes > 0) log.#orFault(() => log.#blank(end.offset))
    // What was read may not be on disk yet: from here on it counts as flushed.
    log.flush()
    return ok({ log, cut_bytes })
  }

  private constructor(folder: LogFolder, settings: LocalLogSettings, from: LogPosition, end: LogPosition) {
    this.#folder = folder
    this.#settings = settings
    this.#from = from
    this.#end = end
    this.#flushed = end.sequence
    this.#segments = new Segments(folder, settings.segment_bytes ?? defaultSegment_bytes, end.segment)
  }

  get last(): LogSequence {
    return this.#end.sequence
  }

  /** The end of the last record. */
  get position(): LogPosition {
    return this.#end
  }

  async append(expected: LogSequence, bytes: Uint8Array): Promise<Appended> {
    const written = this.#written(expected, bytes)
    if (written.ok && this.#settings.durable) await this.#flushInPool()
    return written
  }

  appendSync(expected: LogSequence, bytes: Uint8Array): Appended {
    const written = this.#written(expected, bytes)
    if (written.ok && this.#settings.durable) this.flush()
    return written
  }

  retract(sequence: LogSequence): void {
    if (this.#before === undefined || sequence !== this.last) throw new Error(`record ${sequence} can not be retracted`)
    const { segment, offset } = this.#end
    // The record may be the first one of its segment, in which the next one begins then.
    this.#end = this.#before.segment === segment ? this.#before : { ...this.#before, segment, offset: 0 }
    this.#before = undefined
    this.#flushed = Math.min(this.#flushed, this.last) as LogSequence
    this.#orFault(() => this.#blank(Math.min(this.#end.offset, offset)))
    this.flush()
  }

  /** Those from the position on that the log was opened from: it is for what follows the opening. */
  *records(after: LogSequence): Generator<LogRecord> {
    for (const { frame } of this.#scanned()) {
      if (frame.sequence > after) yield { sequence: frame.sequence, bytes: frame.payload }
    }
  }

  /** Where a record ends that follows the position that the log was opened from, or that position; nothing for others. */
  positionOf(sequence: LogSequence): LogPosition | undefined {
    if (sequence === this.#from.sequence) return this.#from
    for (const { after } of this.#scanned()) if (after.sequence === sequence) return after
    return undefined
  }

  *#scanned(): Generator<ScannedRecord> {
    for (const scanned of new LogScan(this.#folder).records(this.#from)) {
      if (scanned.frame.sequence > this.last) return
      yield scanned
    }
  }

  truncate(upTo: LogSequence): void {
    this.#orFault(() => this.#segments.truncate(upTo))
  }

  /** Returns when everything that was appended is on disk. */
  flush(): void {
    const { last } = this
    this.#orFault(() => this.#segments.file.flush())
    this.#flushed = last
  }

  close(): void {
    clearTimeout(this.#timer)
    this.flush()
    this.#segments.close()
  }

  #written(expected: LogSequence, bytes: Uint8Array): Appended {
    if (expected !== this.last) return err({ kind: 'fenced', last: this.last })
    const sequence = (expected + 1) as LogSequence
    if (!this.#write(sequence, bytes)) return err({ kind: 'full' })
    if (!this.#settings.durable) this.#flushLater()
    return ok(sequence)
  }

  /** Whether there was space for the record. What is left of one for which there was none is made unreadable. */
  #write(sequence: LogSequence, payload: Uint8Array): boolean {
    const size = frameSize(payload.length)
    const needed = size + head_bytes // Nothing stands behind the last record, whatever the segment held before.
    return this.#orFault(() => {
      try {
        if (!this.#segments.fits(this.#end.offset, needed)) this.#nextSegment(sequence)
        const { offset } = this.#end
        this.#segments.reserve(offset + needed)
        const frame = this.#frameOf(needed)
        const crc = writeFrame(frame, { sequence, previous: this.#end.crc, flushed: this.#flushed, payload })
        frame.fill(0, size)
        this.#segments.file.write(offset, frame)
        this.#before = this.#end
        this.#end = { ...this.#end, sequence, offset: offset + size, crc }
        return true
      } catch (fault) {
        if (!isOutOfSpace(fault)) throw fault
        this.#blank(this.#end.offset)
        return false
      }
    })
  }

  #frameOf(size: number): Buffer {
    if (size > scratch_bytes) return Buffer.allocUnsafe(size)
    if (size > this.#scratch.length) this.#scratch = Buffer.allocUnsafe(Math.min(2 * size, scratch_bytes))
    return this.#scratch.subarray(0, size)
  }

  #nextSegment(first: LogSequence): void {
    this.flush()
    this.#segments.next(first)
    this.#end = { ...this.#end, segment: first, offset: 0 }
  }

  /** Makes unreadable what stands at an offset, as far as the file goes. */
  #blank(offset: number): void {
    const { file } = this.#segments
    const length = Math.min(head_bytes, file.size_bytes - offset)
    if (length > 0) file.write(offset, Buffer.alloc(length))
  }

  async #flushInPool(): Promise<void> {
    const { last } = this
    const { file } = this.#segments
    try {
      await file.flushInPool()
    } catch (fault) {
      throw this.#faultOf(fault)
    }
    // A segment that was left meanwhile has been flushed before.
    this.#flushed = Math.max(this.#flushed, Math.min(last, this.last)) as LogSequence
  }

  #flushLater(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#flushInPool().catch(this.#settings.failed)
    }, later_ms)
  }

  #orFault<T>(act: () => T): T {
    try {
      return act()
    } catch (fault) {
      throw this.#faultOf(fault)
    }
  }

  /** After a write or a flush that has failed, nobody knows what is on disk. */
  #faultOf(fault: unknown): DiskFault {
    if (fault instanceof DiskFault) return fault
    const file = join(this.#folder.path, nameOf(this.#segments.current))
    const reason = fault instanceof Error ? fault.message : String(fault)
    return new DiskFault(`${file} cannot be used any more: ${reason}`, { cause: fault })
  }
}
