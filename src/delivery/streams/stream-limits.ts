/** How many streams there may be, and what is kept of each for clients that come back. */
export interface StreamLimits {
  readonly listeners: number
  /** For how long a notice that was sent is kept; and the most of them, by number and by bytes. */
  readonly kept_ms: number
  readonly kept: number
  readonly kept_bytes: number
}

/** What may be on the way to one client. A single notice may be larger, if there is room for it. */
export const onTheWay = { notices: 256, bytes: 64 * 1024 } as const

/** Notices that are larger than what may be on the way to each client share this room, over all clients. */
export class LargeNotices {
  readonly #limit_bytes: number
  #held_bytes = 0
  #isShort = false

  constructor(limit_bytes: number) {
    this.#limit_bytes = limit_bytes
  }

  /** Whether a notice waits for room. */
  get isShort(): boolean {
    return this.#isShort
  }

  /** Takes room for a notice; one that is larger than all the room there is goes alone. */
  take(bytes: number): boolean {
    if (bytes <= onTheWay.bytes) return true
    if (this.#held_bytes > 0 && this.#held_bytes + bytes > this.#limit_bytes) {
      this.#isShort = true
      return false
    }
    this.#held_bytes += bytes
    return true
  }

  /** Gives back what was taken; says whether others may have waited for it. */
  give(bytes: number): boolean {
    if (bytes <= onTheWay.bytes) return false
    this.#held_bytes -= bytes
    // Those that wait try again.
    this.#isShort = false
    return true
  }
}
