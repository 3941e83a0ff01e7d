/**
 * Hands answers to their sockets together, at the end of the turn of the event loop in which they were ready. Each write
 * to an idle reader wakes it up, which costs more than the write itself: in one go they wake it once.
 */
export class Departures {
  #waiting: (() => void)[] = []

  /** The answer leaves when the event loop has taken in all that had arrived. */
  leave(write: () => void): void {
    this.#waiting.push(write)
    if (this.#waiting.length === 1) setImmediate(() => this.#depart())
  }

  #depart(): void {
    const leaving = this.#waiting
    this.#waiting = []
    for (const write of leaving) write()
  }
}
