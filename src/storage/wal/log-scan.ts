import { type Frame, frameAt, framesFrom } from './frame.js'
import type { LogFolder } from './log-folder.js'
import type { LogSequence } from './record-log.js'
import { nameOf, segmentsIn } from './segments.js'

/** The position in the files of a log at which a record ends and the next one begins. Plain data: checkpoints keep it. */
export interface LogPosition {
  /** The sequence of the record that ends here. */
  readonly sequence: LogSequence
  /** The first sequence of the segment. */
  readonly segment: LogSequence
  readonly offset: number
  /** The CRC of that record's frame. */
  readonly crc: number
}

/** The text of a position, which `parsePosition` reads. */
export function positionText({ sequence, segment, offset, crc }: LogPosition): string {
  return JSON.stringify([sequence, segment, offset, crc])
}

/** Parses the text of a position; undefined if it is malformed. */
export function parsePosition(text: string): LogPosition | undefined {
  if (!/^\[\d+,\d+,\d+,\d+\]$/.test(text)) return undefined
  const [sequence = 0, segment = 0, offset = 0, crc = 0] = text.slice(1, -1).split(',').map(Number)
  return { sequence: sequence as LogSequence, segment: segment as LogSequence, offset, crc }
}

/** A record that was found in a log, with the position behind it. */
export interface ScannedRecord {
  readonly frame: Frame
  readonly after: LogPosition
}

/** A sound record that does not follow the others. */
export interface LaterRecord {
  readonly segment: LogSequence
  readonly offset: number
  /** The last record that was known to be on disk when this one was written. */
  readonly flushed: LogSequence
}

/** Reads the files of a log without trusting them. */
export class LogScan {
  readonly #folder: LogFolder
  readonly #firsts: readonly LogSequence[]
  /** The segment that was read last. */
  #read: { readonly segment: LogSequence; readonly bytes: Buffer } | undefined

  constructor(folder: LogFolder) {
    this.#folder = folder
    this.#firsts = segmentsIn(folder)
  }

  has(segment: LogSequence): boolean {
    return this.#firsts.includes(segment)
  }

  /** Whether no segment begins with a record. */
  get isEmpty(): boolean {
    return this.#firsts.every((first) => {
      const bytes = this.bytesOf(first)
      const frame = frameAt(bytes, 0)
      const isOpening = frame !== undefined && frame.sequence === first - 1
      return frameAt(bytes, isOpening ? frame.size_bytes : 0) === undefined
    })
  }

  /** At the beginning of a segment, the position behind its opening frame; otherwise the position itself. */
  opened(at: LogPosition): LogPosition {
    const { sequence, segment, offset, crc } = at
    if (offset !== 0 || !this.has(segment)) return at
    const opening = frameAt(this.bytesOf(segment), 0)
    if (opening === undefined || opening.sequence !== sequence || opening.previous !== crc) return at
    return { sequence, segment, offset: opening.size_bytes, crc: opening.crc }
  }

  /** The records behind a position that follow each other without a gap, each with the position behind it. */
  *records(from: LogPosition): Generator<ScannedRecord> {
    for (let next = this.#next(from); next; next = this.#next(next.after)) yield next
  }

  /** All bytes of a segment. */
  bytesOf(segment: LogSequence): Buffer {
    if (this.#read?.segment === segment) return this.#read.bytes
    const file = this.#folder.open(nameOf(segment))
    try {
      const bytes = file.read(0, file.size_bytes)
      this.#read = { segment, bytes }
      return bytes
    } finally {
      file.close()
    }
  }

  /** The sound records of higher sequences behind a position, wherever they stand: the log ends before them. */
  *laterThan({ segment, offset, sequence }: LogPosition): Generator<LaterRecord> {
    for (const each of this.#firsts.filter((first) => first === segment || first > sequence)) {
      for (const { offset: at, frame } of framesFrom(this.bytesOf(each), each === segment ? offset : 0, sequence)) {
        yield { segment: each, offset: at, flushed: frame.flushed }
      }
    }
  }

  #next(at: LogPosition): ScannedRecord | undefined {
    const next = (at.sequence + 1) as LogSequence
    return this.#nextAt(this.opened(at)) ?? this.#nextAt(this.opened({ ...at, segment: next, offset: 0 }))
  }

  #nextAt({ segment, offset, sequence, crc }: LogPosition): ScannedRecord | undefined {
    if (!this.has(segment)) return undefined
    const frame = frameAt(this.bytesOf(segment), offset)
    if (frame === undefined || frame.sequence !== sequence + 1 || frame.previous !== crc) return undefined
    const after = { sequence: frame.sequence, segment, offset: offset + frame.size_bytes, crc: frame.crc }
    return { frame, after }
  }
}
