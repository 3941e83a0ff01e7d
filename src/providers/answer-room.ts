/** Room for the bytes of what providers answer, of one request of a client or of all of them together. */
export class AnswerRoom {
  readonly #within: AnswerRoom | undefined
  #left: number
  #taken = 0

  /** Room within a larger one takes from both. */
  constructor(limit_bytes: number, within?: AnswerRoom) {
    this.#left = limit_bytes
    this.#within = within
  }

  /** Whether there was room. */
  take(bytes: number): boolean {
    if (bytes > this.#left || this.#within?.take(bytes) === false) return false
    this.#left -= bytes
    this.#taken += bytes
    return true
  }

  /** Nobody holds what was taken here any more: the larger one has its room back. */
  end(): void {
    this.#within?.leave(this.#taken)
    this.#taken = 0
    this.#left = 0
  }

  /** So much of what was taken is free again. */
  leave(bytes: number): void {
    this.#left += bytes
    this.#taken -= bytes
  }
}

const first_bytes = 4096

/** Gathers the body of an answer in one buffer, however small the pieces are that it comes in. */
export class AnswerBody {
  readonly #room: AnswerRoom
  #held = Buffer.alloc(0)
  #length = 0

  constructor(room: AnswerRoom) {
    this.#room = room
  }

  /** Adds a piece; false when there is no room for it. */
  add(piece: Uint8Array): boolean {
    const length = this.#length + piece.length
    if (!this.#room.take(piece.length)) return false
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(first_bytes, 2 * this.#held.length, length))
      this.#held.copy(larger, 0, 0, this.#length)
      this.#held = larger
    }
    this.#held.set(piece, this.#length)
    this.#length = length
    return true
  }

  get text(): string {
    return new TextDecoder().decode(this.#held.subarray(0, this.#length))
  }
}
