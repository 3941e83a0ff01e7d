import { GivenUp } from '../http-client/faults.js'

/** Limits the bytes of responses that are held, of one request of a client or of all of them together. */
export class ResponseBudget {
  readonly #within: ResponseBudget | undefined
  #left: number
  #taken = 0

  /** What is taken from a budget within a larger one is taken from both. */
  constructor(limit_bytes: number, within?: ResponseBudget) {
    this.#left = limit_bytes
    this.#within = within
  }

  /** False when there is not as much left. */
  take(bytes: number): boolean {
    if (bytes > this.#left || this.#within?.take(bytes) === false) return false
    this.#left -= bytes
    this.#taken += bytes
    return true
  }

  /** Nothing that was taken here is held any more, and nothing more is taken. */
  end(): void {
    this.#within?.giveBack(this.#taken)
    this.#taken = 0
    this.#left = 0
  }

  giveBack(bytes: number): void {
    this.#left += bytes
    this.#taken -= bytes
  }
}

const first_bytes = 4096
const tooLong = new GivenUp('answer too long')

/** Gathers the body of a response in one buffer: as a list of pieces, a body that comes byte by byte takes much more memory. */
export class ResponseBody {
  readonly #budget: ResponseBudget
  #buffer = Buffer.alloc(0)
  #length = 0

  constructor(budget: ResponseBudget) {
    this.#budget = budget
  }

  /** Adds a piece, or gives the fault that the budget does not allow it. */
  take(piece: Uint8Array): Error | undefined {
    const length = this.#length + piece.length
    if (!this.#budget.take(piece.length)) return tooLong
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(first_bytes, 2 * this.#buffer.length, length))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    this.#buffer.set(piece, this.#length)
    this.#length = length
    return undefined
  }

  get text(): string {
    return new TextDecoder().decode(this.#buffer.subarray(0, this.#length))
  }
}
