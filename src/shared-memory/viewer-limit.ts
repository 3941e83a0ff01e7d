/** How many clients look at something at the same time, over all front ends: more are refused. */
export class ViewerLimit {
  readonly #cells: Int32Array
  readonly #most: number

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer, most = mostViewers) {
    this.#cells = new Int32Array(memory)
    this.#most = most
  }

  get isReached(): boolean {
    return Atomics.load(this.#cells, 0) >= this.#most
  }

  /** Counts one more, which has to be released; false when there are as many as may be. */
  take(): boolean {
    if (Atomics.add(this.#cells, 0, 1) < this.#most) return true
    this.release()
    return false
  }

  release(): void {
    Atomics.sub(this.#cells, 0, 1)
  }
}

/** What is shown to each costs memory and time of the main thread. */
export const mostViewers = 16
