/**
 * Tells the courier that there are new notices on disk: a counter in memory that everyone shares who makes notices. It
 * costs its ringers no message, however often they ring, and what was rung while nobody waited is not lost.
 */
export class Bell {
  readonly memory: SharedArrayBuffer
  readonly #rings: Int32Array
  #seen = 0

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#rings = new Int32Array(memory)
  }

  ring(): void {
    Atomics.add(this.#rings, 0, 1)
    Atomics.notify(this.#rings, 0)
  }

  /** Resolves when it was rung since the last time that this resolved; for one that waits, in a thread that lives on. */
  async rung(): Promise<void> {
    const waiting = Atomics.waitAsync(this.#rings, 0, this.#seen)
    if (waiting.async) await waiting.value
    this.#seen = Atomics.load(this.#rings, 0)
  }
}
