/** What leaves at the end of a turn. It deals with its own faults: whatever throws here would take the process with it. */
export interface PendingResponse {
  depart(): void
}

/**
 * Hands answers to their sockets together, at the end of the turn of the event loop in which they were ready. Each write
 * to an idle reader wakes it up, which costs more than the write itself: in one go they wake it once.
 */
export class ResponseBatch {
  #waiting: PendingResponse[] = []

  /** The answer leaves when the event loop has taken in all that had arrived. */
  leave(answer: PendingResponse): void {
    this.#waiting.push(answer)
    if (this.#waiting.length === 1) setImmediate(() => this.depart())
  }

  /** All that is ready leaves now. */
  depart(): void {
    const leaving = this.#waiting
    this.#waiting = []
    for (const answer of leaving) answer.depart()
  }
}
