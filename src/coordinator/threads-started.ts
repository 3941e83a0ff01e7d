const numberCell = 0
const loadedCell = 1

/** How long a thread may take to load its program before nobody waits for it any more. */
const limit_ms = 10_000

/** The start of the threads of a pool, which all are handed the same data, in memory that they share. */
export class ThreadsStarted {
  readonly #cells: Int32Array

  /** The memory of a pool of which no thread has started. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  /** Numbers the threads of the pool as they start, from 0. */
  nextNumber(): number {
    return Atomics.add(this.#cells, numberCell, 1)
  }

  /** The calling thread has loaded its program. */
  loaded(): void {
    Atomics.add(this.#cells, loadedCell, 1)
    Atomics.notify(this.#cells, loadedCell)
  }

  /** Resolves when so many threads have loaded their program, or when the limit has passed. */
  async all(threads: number): Promise<void> {
    const until = performance.now() + limit_ms
    for (;;) {
      const loaded = Atomics.load(this.#cells, loadedCell)
      const left_ms = until - performance.now()
      if (loaded >= threads || left_ms <= 0) return
      await Atomics.waitAsync(this.#cells, loadedCell, loaded, left_ms).value
    }
  }
}
