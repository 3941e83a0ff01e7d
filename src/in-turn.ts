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

/**
 * Work in turn that all share who ask for it before it begins, so that what it gives is never older than their question. Who asks
 * while it is under way waits for the next one.
 */
export class SharedTurns<Done> {
  readonly #turns = new InTurn()
  readonly #work: () => Promise<Done>
  #next: Promise<Done> | undefined

  constructor(work: () => Promise<Done>) {
    this.#work = work
  }

  /** Resolves or fails as the work does that begins after this call. */
  shared(): Promise<Done> {
    if (this.#next !== undefined) return this.#next
    const next = this.#turns.run(() => {
      if (this.#next === next) this.#next = undefined
      return this.#work()
    })
    this.#next = next
    return next
  }

  /** Does other work in turn, after all that was asked for before; who asks from now on shares nothing that begins before it. */
  alone<Other>(work: () => Promise<Other>): Promise<Other> {
    this.#next = undefined
    return this.#turns.run(work)
  }
}
