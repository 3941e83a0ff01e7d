/** Of each number: the id of the thread that has it, 0 when nobody has, and whether that thread has loaded its program. */
const ownerCell = 0
const loadedCell = 1
const cellsPerNumber = 2
/** Counts up with every change, for those who wait for one. */
const changesCell = 0
const firstNumber = 1

/** How long threads may take to load their programs before nobody waits for them any more. */
const limit_ms = 10_000

/**
 * The threads of a pool, which all are handed the same data, in memory that they share. Each takes a number that it has
 * for as long as it lives, so that what is kept by number has one writer; the number of a thread that has ended goes to
 * the one that replaces it.
 */
export class PoolThreads {
  readonly #cells: Int32Array
  readonly #leave_ms: number

  /** The memory of a pool of this many threads, none of which has started. */
  static memory(threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer((firstNumber + threads * cellsPerNumber) * Int32Array.BYTES_PER_ELEMENT)
  }

  /** For so long a thread waits for the end of the one that it replaces. */
  constructor(memory: SharedArrayBuffer, leave_ms = 60_000) {
    this.#cells = new Int32Array(memory)
    this.#leave_ms = leave_ms
  }

  /** Gives the calling thread its number, from 0; waits for the end of the one that it replaces. Throws when that does not end. */
  enter(threadId: number): number {
    for (;;) {
      const changes = Atomics.load(this.#cells, changesCell)
      for (let number = 0; number < this.#threads; number += 1) {
        if (Atomics.compareExchange(this.#cells, this.#cell(number, ownerCell), 0, threadId) === 0) return number
      }
      if (Atomics.wait(this.#cells, changesCell, changes, this.#leave_ms) === 'timed-out')
        throw new Error(
          `the thread of a pool that another one replaces has not ended within ${this.#leave_ms / 1000} s`,
        )
    }
  }

  /** The calling thread has loaded its program. */
  loaded(number: number): void {
    Atomics.store(this.#cells, this.#cell(number, loadedCell), 1)
    this.#tell()
  }

  /** The number of a thread, if it has taken one. */
  numberOf(threadId: number): number | undefined {
    for (let number = 0; number < this.#threads; number += 1) {
      if (Atomics.load(this.#cells, this.#cell(number, ownerCell)) === threadId) return number
    }
    return undefined
  }

  /** The thread of a number has ended, and what it held was given back: the number is another one's to take. */
  leave(number: number): void {
    Atomics.store(this.#cells, this.#cell(number, loadedCell), 0)
    Atomics.store(this.#cells, this.#cell(number, ownerCell), 0)
    this.#tell()
  }

  /** Resolves when all threads have loaded their programs, or when the limit has passed. */
  async allLoaded(): Promise<void> {
    const until = performance.now() + limit_ms
    for (;;) {
      const changes = Atomics.load(this.#cells, changesCell)
      const left_ms = until - performance.now()
      if (this.#areLoaded() || left_ms <= 0) return
      await Atomics.waitAsync(this.#cells, changesCell, changes, left_ms).value
    }
  }

  get #threads(): number {
    return (this.#cells.length - firstNumber) / cellsPerNumber
  }

  #areLoaded(): boolean {
    for (let number = 0; number < this.#threads; number += 1) {
      if (Atomics.load(this.#cells, this.#cell(number, loadedCell)) === 0) return false
    }
    return true
  }

  #cell(number: number, cell: number): number {
    return firstNumber + number * cellsPerNumber + cell
  }

  #tell(): void {
    Atomics.add(this.#cells, changesCell, 1)
    Atomics.notify(this.#cells, changesCell)
  }
}
