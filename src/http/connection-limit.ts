/** The places for connections, which all front ends share: the operating system hands out connections as it likes [management 11.8]. */
export class ConnectionLimit {
  readonly #limit: number
  readonly #open: Int32Array

  /** The memory of a process in which no connection is open. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(limit: number, memory: SharedArrayBuffer) {
    this.#limit = limit
    this.#open = new Int32Array(memory)
  }

  /** Takes a place, which has to be given back; says no when as many are open as may be. */
  take(): boolean {
    if (Atomics.add(this.#open, 0, 1) < this.#limit) return true
    this.release()
    return false
  }

  release(): void {
    Atomics.sub(this.#open, 0, 1)
  }
}
