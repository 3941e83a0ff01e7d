const number = 0
const isDue = 1
const cells_bytes = 2 * Int32Array.BYTES_PER_ELEMENT

/** What trace levels go back to that are on for a while only: the same for all threads, whichever has set them. */
export class TraceReturn {
  readonly #cells: Int32Array
  readonly #before: Uint8Array

  static memory(levels: number): SharedArrayBuffer {
    return new SharedArrayBuffer(cells_bytes + levels)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory, 0, 2)
    this.#before = new Uint8Array(memory, cells_bytes)
  }

  /**
   * The levels are about to be others for a while; gives the number of this while. One that begins before the end of another
   * takes its place, and goes back to what was before both.
   */
  begin(levels: Uint8Array): number {
    if (Atomics.exchange(this.#cells, isDue, 1) === 0) this.#before.set(levels)
    return Atomics.add(this.#cells, number, 1) + 1
  }

  /** The levels stay as they are put now: nothing goes back. */
  cancel(): void {
    Atomics.add(this.#cells, number, 1)
    Atomics.store(this.#cells, isDue, 0)
  }

  /** What the levels go back to at the end of a while; nothing when it has been cancelled, or another one goes on. */
  end(begun: number): Uint8Array | undefined {
    if (Atomics.compareExchange(this.#cells, number, begun, begun + 1) !== begun) return undefined
    Atomics.store(this.#cells, isDue, 0)
    return this.#before.slice()
  }
}
