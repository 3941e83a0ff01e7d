/** Limits the bytes of held responses: of one request of a client, or of all of them together. */
export class ResponseBudget {
  readonly #within: ResponseBudget | undefined
  #left: number
  #taken = 0

  /** What is taken from this budget is taken from `within` as well. */
  constructor(limit_bytes: number, within?: ResponseBudget) {
    this.#left = limit_bytes
    this.#within = within
  }

  /** False when not enough is left. */
  take(bytes: number): boolean {
    if (bytes > this.#left || this.#within?.take(bytes) === false) return false
    this.#left -= bytes
    this.#taken += bytes
    return true
  }

  /** Gives everything back; nothing more can be taken. */
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
