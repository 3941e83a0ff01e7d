import { join } from 'node:path'
import { type DiskFault, diskFault } from '../../faults.js'
import { err, ok, type Result } from '../../result.js'
import { frameSize, head_bytes, writeFrame, zeroEnd, zeroHead } from './frame.js'
import type { LogFolder } from './log-folder.js'
import { type LogDamage, recoverLog } from './log-recovery.js'
import { type LogPosition, LogScan, positionText, type ScannedRecord } from './log-scan.js'
import type { Appended, FlushTime, LogRecord, LogSequence, NotedLog } from './record-log.js'
import { defaultSegment_bytes, isOutOfSpace, nameOf, Segments } from './segments.js'

export interface LocalLogSettings {
  /**
   * Whether an append returns only when the record is on disk. Otherwise it is flushed soon after, and a loss of power takes the last
   * records.
   */
  readonly durable: boolean
  /** Called when a flush in the background fails. */
  readonly failed: (fault: unknown) => void
  /** How large a segment becomes; 64 MiB by default. */
  readonly segment_bytes?: number
}

export interface OpenedLog {
  readonly log: LocalLog
  /** The length of the incomplete record at its end, which was cut. */
  readonly cut_bytes: number
  /** Whether the file is empty, so that nothing says how many records there were. */
  readonly isEmpty: boolean
}

/** What is read of a log has to fit into one text, half of the longest that there can be: a longer record would never be applied. */
const recordMost_bytes = 2 ** 28

/** How long records wait that are flushed soon. */
const soon_ms = 50

/** Frames up to this size are built in a buffer that is reused. */
const scratch_bytes = 2 ** 22

/** A log in files of a folder on this machine. */
export class LocalLog implements NotedLog {
  readonly #folder: LogFolder
  readonly #settings: LocalLogSettings
  readonly #segments: Segments
  /** The position at which the log was opened. */
  #from: LogPosition
  #end: LogPosition
  /** The end before the last record, in the segment of that record, while it may be retracted. */
  #before: LogPosition | undefined
  #flushed: LogSequence
  /** The length of the current segment that is known to be on disk. */
  #onDisk_bytes = 0
  #scratch = Buffer.allocUnsafe(2 ** 16)
  /** Set until the flush that it starts has ended. */
  #timer: NodeJS.Timeout | undefined
  #retracted = 0
  /** The fault that has ended the log: the system reports a failed flush to one caller only, and a later success proves nothing. */
  #fault: DiskFault | undefined

  /** Begins a log behind a sequence, in a folder without one. */
  static begin(folder: LogFolder, after: LogSequence, settings: LocalLogSettings): LocalLog {
    const first = (after + 1) as LogSequence
    const end = { sequence: after, segment: first, offset: 0, crc: 0 }
    const log = new LocalLog(folder, settings, end, end)
    log.#writeOpening()
    return log
  }

  /**
   * Opens a log whose records up to a position are needed no more. A record at its end that is not whole is cut, as one
   * that was being written; one that certainly had been flushed is damage.
   */
  static open(folder: LogFolder, from: LogPosition, settings: LocalLogSettings): Result<OpenedLog, LogDamage> {
    const recovered = recoverLog(folder, from, settings.segment_bytes ?? defaultSegment_bytes)
    if (!recovered.ok) return recovered
    const { from: opened, end, cut_bytes, isEmpty } = recovered.value
    const log = new LocalLog(folder, settings, opened, end)
    log.#onDisk_bytes = log.#segments.size_bytes
    if (end.offset === 0) log.#writeOpening()
    return ok({ log, cut_bytes, isEmpty })
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

  /** The position behind the last record. */
  get position(): LogPosition {
    return this.#end
  }

  get note(): string {
    return positionText(this.#end)
  }

  async append(expected: LogSequence, bytes: Uint8Array): Promise<Appended> {
    const written = this.#written(expected, bytes)
    if (!written.ok) return written
    if (this.#settings.durable) await this.#flushInPool()
    else this.#flushSoon()
    return written
  }

  appendSync(expected: LogSequence, bytes: Uint8Array, flush: FlushTime = 'now'): Appended {
    const written = this.#written(expected, bytes)
    if (!written.ok) return written
    if (this.#settings.durable && flush === 'now') this.#flushFile()
    else this.#flushSoon()
    return written
  }

  retract(sequence: LogSequence): void {
    if (this.#before === undefined || sequence !== this.last) throw new Error(`record ${sequence} can not be retracted`)
    this.#end = this.#before
    this.#before = undefined
    this.#retracted += 1
    this.#orFault(() => zeroHead(this.#segments.file, this.#end.offset))
    this.#flushFile()
  }

  /** Records behind the position at which the log was opened. Only to be used right after opening. */
  *records(after: LogSequence): Generator<LogRecord> {
    for (const { frame } of this.#scanned()) {
      if (frame.sequence > after) yield { sequence: frame.sequence, bytes: frame.payload }
    }
  }

  /**
   * The position behind a record that follows the one at which the log was opened, or that position itself; undefined for other
   * records.
   */
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

  flush(): void {
    if (this.#flushed < this.last) this.#flushFile()
  }

  #flushFile(): void {
    const { last } = this
    const { size_bytes } = this.#segments
    this.#orFault(() => this.#segments.file.flush())
    this.#flushed = last
    this.#onDisk_bytes = size_bytes
  }

  /** No-op: a local log has no heartbeat records and no replicas. */
  covered(): void {}

  close(): void {
    clearTimeout(this.#timer)
    try {
      this.#flushFile()
    } finally {
      this.#segments.close()
    }
  }

  #written(expected: LogSequence, bytes: Uint8Array): Appended {
    if (bytes.length > recordMost_bytes) return err({ kind: 'tooLarge', limit_bytes: recordMost_bytes })
    if (expected !== this.last) return err({ kind: 'fenced', last: this.last })
    const sequence = (expected + 1) as LogSequence
    if (!this.#write(sequence, bytes)) return err({ kind: 'diskFull' })
    return ok(sequence)
  }

  /** Returns false when there was no space for the record. */
  #write(sequence: LogSequence, payload: Uint8Array): boolean {
    const size = frameSize(payload.length)
    const needed = size + head_bytes // Nothing stands behind the last record, whatever the segment held before.
    return this.#orFault(() => {
      try {
        // The first record of a segment goes into it however long it is.
        if (sequence !== this.#end.segment && !this.#segments.fits(this.#end.offset, needed))
          this.#nextSegment(sequence)
        const { offset } = this.#end
        // The length on disk, which the frame names, is enlarged first: a file that was cut within the frame is then told from one that was only
        // written that far.
        if (this.#segments.reserve(offset + needed) && this.#settings.durable) this.#flushFile()
        const frame = this.#frameOf(needed)
        const known = { flushed: this.#flushed, file_bytes: this.#onDisk_bytes }
        const crc = writeFrame(frame, { sequence, previous: this.#end.crc, ...known, payload })
        frame.fill(0, size)
        this.#segments.file.write(offset, frame)
        this.#before = this.#end
        this.#end = { ...this.#end, sequence, offset: offset + size, crc }
        return true
      } catch (fault) {
        if (!isOutOfSpace(fault)) throw fault
        this.#refuse()
        return false
      }
    })
  }

  /**
   * Begins an empty segment with a frame that is no record, under the sequence of the record before. A position is behind it then, and
   * the frame tells how long the file was: a file that is cut before its first checkpoint is known to be. Without space for it the
   * segment begins with its first record.
   */
  #writeOpening(): void {
    const { sequence, crc: previous } = this.#end
    const size = frameSize(0)
    this.#orFault(() => {
      try {
        this.#segments.reserve(size + head_bytes)
        this.#flushFile()
        const frame = Buffer.alloc(size + head_bytes)
        const known = { flushed: sequence, file_bytes: this.#onDisk_bytes }
        const crc = writeFrame(frame, { sequence, previous, ...known, payload: Buffer.alloc(0) })
        this.#segments.file.write(0, frame)
        this.#flushFile()
        this.#end = { ...this.#end, offset: size, crc }
        this.#from = this.#end
      } catch (fault) {
        if (!isOutOfSpace(fault)) throw fault
      }
    })
  }

  /**
   * A write that ran out of space may have left a head, or a part of one: it is overwritten, so that no record is found that was refused.
   * A part is enough for that, since the next record may write the other sector of the same head.
   */
  #refuse(): void {
    const { file } = this.#segments
    const { offset } = this.#end
    const head = Buffer.alloc(head_bytes)
    file.read(offset, head)
    if (head.every((byte) => byte === 0)) return
    zeroHead(file, offset)
    zeroEnd(file, offset)
    this.#flushFile()
  }

  #frameOf(size: number): Buffer {
    if (size > scratch_bytes) return Buffer.allocUnsafe(size)
    if (size > this.#scratch.length) this.#scratch = Buffer.allocUnsafe(Math.min(2 * size, scratch_bytes))
    return this.#scratch.subarray(0, size)
  }

  #nextSegment(first: LogSequence): void {
    this.#flushFile()
    if (!this.#segments.next(first)) return
    this.#onDisk_bytes = this.#segments.size_bytes
    this.#end = { ...this.#end, segment: first, offset: 0 }
    this.#before = undefined
  }

  async #flushInPool(): Promise<void> {
    const { last } = this
    const { file, size_bytes } = this.#segments
    const retracted = this.#retracted
    try {
      await file.flushInPool()
    } catch (fault) {
      throw this.#faultOf(fault)
    }
    if (this.#fault) throw this.#fault
    if (file === this.#segments.file) this.#onDisk_bytes = Math.max(this.#onDisk_bytes, size_bytes)
    // A segment that was left meanwhile has been flushed before. A sequence that was retracted meanwhile may be another record's.
    if (retracted === this.#retracted) this.#flushed = Math.max(this.#flushed, last) as LogSequence
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => void this.#flushUnflushed().catch(this.#settings.failed), soon_ms)
  }

  async #flushUnflushed(): Promise<void> {
    // A durable record behind them may have taken them along.
    if (this.#flushed < this.last) await this.#flushInPool()
    this.#timer = undefined
    if (this.#flushed < this.last) this.#flushSoon()
  }

  #orFault<T>(act: () => T): T {
    if (this.#fault) throw this.#fault
    try {
      return act()
    } catch (fault) {
      throw this.#faultOf(fault)
    }
  }

  #faultOf(fault: unknown): DiskFault {
    this.#fault ??= diskFault(join(this.#folder.path, nameOf(this.#segments.current)), fault)
    return this.#fault
  }
}
