import { type FileBytes, PieceReader } from './file-bytes.js'
import { type Frame, frameIn, framesFrom } from './frame.js'
import type { LogFile, LogFolder } from './log-folder.js'
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

/** The bytes of a segment that are in memory at a time, unless one record has more. */
const piece_bytes = 2 ** 20

/** Reads the files of a log without trusting them. */
export class LogScan {
  readonly #folder: LogFolder
  readonly #piece_bytes: number
  readonly #firsts: readonly LogSequence[]
  /** The segment that was read last. */
  #read: { readonly segment: LogSequence; readonly bytes: FileBytes } | undefined

  /** @param segment_bytes the size of segments, of which pieces are a small part */
  constructor(folder: LogFolder, segment_bytes = Number.POSITIVE_INFINITY) {
    this.#folder = folder
    this.#piece_bytes = Math.min(piece_bytes, Math.ceil(segment_bytes / 16))
    this.#firsts = segmentsIn(folder)
  }

  has(segment: LogSequence): boolean {
    return this.#firsts.includes(segment)
  }

  /** The first segment that begins behind a record; undefined when there is none. */
  segmentAfter(sequence: LogSequence): LogSequence | undefined {
    return this.#firsts.find((first) => first > sequence)
  }

  /** Whether no segment begins with a record. */
  get isEmpty(): boolean {
    return this.#firsts.every((first) => {
      const bytes = this.bytesOf(first)
      const frame = frameIn(bytes, 0)
      const isOpening = frame !== undefined && frame.sequence === first - 1
      return frameIn(bytes, isOpening ? frame.size_bytes : 0) === undefined
    })
  }

  /** At the beginning of a segment, the position behind its opening frame; otherwise the position itself. */
  opened(at: LogPosition): LogPosition {
    const { sequence, segment, offset, crc } = at
    if (offset !== 0 || !this.has(segment)) return at
    const opening = frameIn(this.bytesOf(segment), 0)
    if (opening === undefined || opening.sequence !== sequence || opening.previous !== crc) return at
    return { sequence, segment, offset: opening.size_bytes, crc: opening.crc }
  }

  /** The records behind a position that follow each other without a gap, each with the position behind it. */
  *records(from: LogPosition): Generator<ScannedRecord> {
    for (let next = this.#next(from); next; next = this.#next(next.after)) yield next
  }

  /** The bytes of a segment. */
  bytesOf(segment: LogSequence): FileBytes {
    if (this.#read?.segment === segment) return this.#read.bytes
    const length = this.#inFile(segment, ({ size_bytes }) => size_bytes)
    const bytes = new PieceReader(length, this.#piece_bytes, (offset, into) =>
      this.#inFile(segment, (file) => file.read(offset, into)),
    )
    this.#read = { segment, bytes }
    return bytes
  }

  #inFile<What>(segment: LogSequence, use: (file: LogFile) => What): What {
    const file = this.#folder.open(nameOf(segment))
    try {
      return use(file)
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
    const found = frameIn(this.bytesOf(segment), offset)
    if (found === undefined || found.sequence !== sequence + 1 || found.previous !== crc) return undefined
    const frame = { ...found, payload: Buffer.from(found.payload) }
    const after = { sequence: frame.sequence, segment, offset: offset + frame.size_bytes, crc: frame.crc }
    return { frame, after }
  }
}
