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

/**
 * Notices that are larger than what may be on the way to each client share this room, over all clients. A client that finds too little of
 * it waits, and gets it before those that come later.
 */
export class LargeNotices<Client extends object> {
  readonly #limit_bytes: number
  readonly #waiting = new Set<Client>()
  #held_bytes = 0

  constructor(limit_bytes: number) {
    this.#limit_bytes = limit_bytes
  }

  /** The clients that wait for room, in their order. */
  get waiting(): ReadonlySet<Client> {
    return this.#waiting
  }

  /** Takes room for a notice, or has its client wait; a notice that is larger than all the room there is goes alone. */
  take(client: Client, bytes: number): boolean {
    if (bytes <= onTheWay.bytes) return true
    const [first = client] = this.#waiting
    if (first !== client || (this.#held_bytes > 0 && this.#held_bytes + bytes > this.#limit_bytes)) {
      this.#waiting.add(client)
      return false
    }
    this.#waiting.delete(client)
    this.#held_bytes += bytes
    return true
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    if (bytes > onTheWay.bytes) this.#held_bytes -= bytes
  }

  /** A client waits no longer. */
  leave(client: Client): void {
    this.#waiting.delete(client)
  }
}
