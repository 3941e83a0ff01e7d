/** A number of places, each for one at a time; who finds none waits in the order of coming. */
export class Semaphore {
  readonly #limit: number
  readonly #waiting = new Set<() => void>()
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Whether nobody has a place and nobody waits for one. */
  get idle(): boolean {
    return this.#taken === 0 && this.#waiting.size === 0
  }

  /** Resolves when there is a place; fails with the signal's reason when that comes first. */
  take(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#taken < this.#limit) {
      this.#taken += 1
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

  /** Gives a place back: to who has waited longest, or to the free ones. */
  leave(): void {
    for (const enter of this.#waiting) {
      this.#waiting.delete(enter)
      enter()
      return
    }
    this.#taken -= 1
  }
}
