const open = 0
const limit = 1

/**
 * The number of open connections, limited over all front ends: the operating system gives a connection to any of them
 * [management 11.8].
 */
export class ConnectionLimit {
  readonly #cells: Int32Array

  /** The memory of a process in which no connection is open. */
  static memory(maxConnections: number): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
    new Int32Array(memory)[limit] = maxConnections
    return memory
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  get limit(): number {
    return Atomics.load(this.#cells, limit)
  }

  /** How many connections are open beyond the limit. */
  get excess(): number {
    return Math.max(0, Atomics.load(this.#cells, open) - this.limit)
  }

  /** The process cannot have as many as it was told. */
  lower(to: number): void {
    Atomics.store(this.#cells, limit, to)
  }

  /** Counts a connection, which has to be released; false when the limit and `beyond` more are open already. */
  take(beyond = 0): boolean {
    if (Atomics.add(this.#cells, open, 1) < this.limit + beyond) return true
    this.release()
    return false
  }

  release(): void {
    Atomics.sub(this.#cells, open, 1)
  }
}
