/** Does one thing after the other: each begins when everything before it has ended, whether it succeeded or failed. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve()
  #open = 0

  /** Whether nothing is under way or waits. */
  get isIdle(): boolean {
    return this.#open === 0
  }

  /** Resolves or fails as the work does. */
  async run<Done>(work: () => Promise<Done>): Promise<Done> {
    const done = this.#last.then(work, work)
    this.#last = done
    this.#open += 1
    try {
      return await done
    } finally {
      this.#open -= 1
    }
  }

  /** Resolves when everything has ended that was begun until now; never fails. */
  async ended(): Promise<void> {
    await this.#last.catch(() => {}) // Whoever began it hears of it.
  }
}
