/** A number of things that may be under way at one time, over all threads that share the memory. */
export class SharedLimit {
  readonly #limit: number
  readonly #taken: Int32Array

  /** The memory of a limit of which nothing is taken. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(limit: number, memory: SharedArrayBuffer = SharedLimit.memory()) {
    this.#limit = limit
    this.#taken = new Int32Array(memory)
  }

  /** Takes one, which has to be given back; says no when as many are taken as may be. */
  take(): boolean {
    if (Atomics.add(this.#taken, 0, 1) < this.#limit) return true
    this.release()
    return false
  }

  release(): void {
    Atomics.sub(this.#taken, 0, 1)
  }
}
