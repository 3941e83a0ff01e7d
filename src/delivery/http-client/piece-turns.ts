/** The pieces of bodies that are taken in a turn of the event loop: a response that is whole has one, or a few. */
const most = 512

/**
 * Shares the turns of the event loop among the bodies of responses. A body that comes in chunks of one byte has ten thousand pieces in
 * one read of its connection, and many such connections would let everybody else wait.
 */
export class PieceTurns {
  #taken = 0
  #paused: (() => void)[] = []

  /** A piece was taken. Says whether more of this body may come at once; otherwise `resume` is called in a later turn. */
  goesOn(resume: () => void): boolean {
    if (this.#taken === 0) setImmediate(this.#next)
    this.#taken += 1
    if (this.#taken < most) return true
    this.#paused.push(resume)
    return false
  }

  readonly #next = (): void => {
    this.#taken = 0
    for (const resume of this.#paused.splice(0)) resume()
  }
}
