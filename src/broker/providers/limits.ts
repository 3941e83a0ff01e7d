/**
 * Limits the concurrent requests to providers, per origin and in all. Without a free permit, callers wait in the order of their
 * calls. A slow provider uses up its own permits first, so that it delays only requests to itself.
 */
export class ProviderPermits {
  readonly #perOrigin: number
  readonly #all: Permits
  readonly #origins = new Map<string, Permits>()

  constructor(perOrigin: number, total: number) {
    this.#perOrigin = perOrigin
    this.#all = new Permits(total)
  }

  /** Calls `use` with a permit for an origin; rejects with the signal's reason when that comes first. */
  async with<Outcome>(origin: string, signal: AbortSignal, use: () => Promise<Outcome>): Promise<Outcome> {
    signal.throwIfAborted()
    const own = this.#origins.get(origin) ?? new Permits(this.#perOrigin)
    this.#origins.set(origin, own)
    await own.take(signal)
    try {
      await this.#all.take(signal)
      try {
        return await use()
      } finally {
        this.#all.release()
      }
    } finally {
      own.release()
      if (own.unused) this.#origins.delete(origin)
    }
  }
}

class Permits {
  #free: number
  readonly #limit: number
  readonly #waiting = new Set<() => void>()

  constructor(limit: number) {
    this.#limit = limit
    this.#free = limit
  }

  get unused(): boolean {
    return this.#free === this.#limit
  }

  take(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#free > 0) {
      this.#free -= 1
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        this.#waiting.delete(enter)
        reject(signal.reason)
      }
      this.#waiting.add(enter)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Gives a permit back; the first in the queue gets it. */
  release(): void {
    for (const enter of this.#waiting) {
      this.#waiting.delete(enter)
      enter()
      return
    }
    this.#free += 1
  }
}

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
