import { isUtf8 } from 'node:buffer'

const firstCapacity_bytes = 8192

/**
 * A body that arrives in pieces. The first piece is kept as it came, because most bodies have no other. Further pieces are copied into one
 * buffer: in a list, a piece of one byte would take a hundred.
 */
export class BodyBuffer {
  readonly #most: number
  #buffer: Buffer = empty
  #length = 0

  /** At most `most` bytes will come: the buffer gets no larger. */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  /** By how many bytes the buffer grows if a piece of this length is added. */
  growth_bytes(piece_bytes: number): number {
    return this.#capacityFor(this.#length + piece_bytes) - this.#buffer.length
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length
    if (this.#length === 0) this.#buffer = piece
    else {
      this.#growTo(this.#capacityFor(length))
      piece.copy(this.#buffer, this.#length)
    }
    this.#length = length
  }

  /** What has come, in which U+FFFD stands for what is not UTF-8. */
  get text(): string {
    return this.#buffer.toString('utf8', 0, this.#length)
  }

  /** The text; undefined if part of it is not UTF-8. */
  get strictText(): string | undefined {
    const { text } = this
    // A text may have the character itself.
    if (!text.includes(replacement) || isUtf8(this.#buffer.subarray(0, this.#length))) return text
    return undefined
  }

  /** Lets go of what has come. */
  drop(): void {
    this.#buffer = empty
    this.#length = 0
  }

  #capacityFor(length: number): number {
    if (this.#length === 0 || length <= this.#buffer.length) return Math.max(length, this.#buffer.length)
    return Math.max(length, Math.min(this.#most, Math.max(firstCapacity_bytes, 2 * length)))
  }

  #growTo(capacity: number): void {
    if (capacity === this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(capacity)
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}

const empty = Buffer.alloc(0)

/** What Node writes in place of bytes that are not UTF-8. */
const replacement = '\ufffd'
