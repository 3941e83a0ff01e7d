/**
 * Tells the courier that there are new notices on disk: a counter in memory that everyone shares who makes notices. It
 * costs its ringers no message, however often they ring, and what was rung while nobody listened is not lost.
 */
export class Bell {
  readonly memory: SharedArrayBuffer
  readonly #rung: Int32Array
  #heard = 0

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#rung = new Int32Array(memory)
  }

  ring(): void {
    Atomics.add(this.#rung, 0, 1)
    Atomics.notify(this.#rung, 0)
  }

  /** Resolves when it was rung since the last time that this resolved; for one listener, in a thread that lives on. */
  async heard(): Promise<void> {
    const waiting = Atomics.waitAsync(this.#rung, 0, this.#heard)
    if (waiting.async) await waiting.value
    this.#heard = Atomics.load(this.#rung, 0)
  }
}
