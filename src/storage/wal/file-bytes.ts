/** The bytes of a file that is read in pieces: a segment may have 64 MiB, of which one is needed at a time. */
export interface FileBytes {
  /** The length of the file. */
  readonly length: number
  /**
   * The bytes from an offset on: at least as many as asked for, if the file has them, and all that are at hand. Valid until the next
   * call. Throws when the file is shorter by now than its length says.
   */
  from(offset: number, least: number): Buffer
}

/** Reads a file in pieces, with a function that fills a buffer with the bytes from an offset on and gives how many there were. */
export class PieceReader implements FileBytes {
  readonly length: number
  readonly #read: (offset: number, into: Buffer) => number
  #memory: Buffer
  #begin = 0
  #end = 0

  constructor(length: number, piece_bytes: number, read: (offset: number, into: Buffer) => number) {
    this.length = length
    this.#read = read
    this.#memory = Buffer.allocUnsafe(Math.min(piece_bytes, length))
  }

  from(offset: number, least: number): Buffer {
    const needed = Math.max(0, Math.min(least, this.length - offset))
    if (offset < this.#begin || offset + needed > this.#end) this.#fill(offset, needed)
    return this.#memory.subarray(offset - this.#begin, this.#end - this.#begin)
  }

  #fill(offset: number, needed: number): void {
    if (needed > this.#memory.length) this.#memory = Buffer.allocUnsafe(needed)
    this.#begin = offset
    this.#end = offset + this.#read(offset, this.#memory)
    if (this.#end < offset + needed) throw new Error('the file has become shorter while it was read')
  }
}
