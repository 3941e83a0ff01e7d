/** What clients look at as long as they like. */
const kinds = ['live', 'log'] as const
type ViewerKind = (typeof kinds)[number]

/** What is shown to each costs memory and time of the main thread. */
export const mostViewers = 16

/** How many clients look at something at the same time, over all front ends: more than 16 are refused. */
export class ViewerLimit {
  readonly #cells: Int32Array
  readonly #cell: number

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(kinds.length * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer, kind: ViewerKind) {
    this.#cells = new Int32Array(memory)
    this.#cell = kinds.indexOf(kind)
  }

  get isReached(): boolean {
    return Atomics.load(this.#cells, this.#cell) >= mostViewers
  }

  /** Counts one more, which has to be released; false when there are as many as may be. */
  take(): boolean {
    if (Atomics.add(this.#cells, this.#cell, 1) < mostViewers) return true
    this.release()
    return false
  }

  release(): void {
    Atomics.sub(this.#cells, this.#cell, 1)
  }
}
