const state = { closed: 0, open: 1, givenUp: 2 } as const

/**
 * Where the threads of a process wait for each other between two turns, so that all of them stand still at one moment. Whoever
 * waits too long gives the moment up for all: nobody is held up by a thread that does not come.
 */
export class PinGate {
  readonly memory: SharedArrayBuffer
  readonly #state: Int32Array

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#state = new Int32Array(memory)
  }

  /** Blocks the thread until the gate is opened, or until this thread has waited for so long. */
  wait(limit_ms: number): void {
    if (Atomics.wait(this.#state, 0, state.closed, limit_ms) !== 'timed-out') return
    Atomics.compareExchange(this.#state, 0, state.closed, state.givenUp)
    Atomics.notify(this.#state, 0)
  }

  /** Lets all go on; says whether all of them were still waiting. */
  open(): boolean {
    const before = Atomics.compareExchange(this.#state, 0, state.closed, state.open)
    Atomics.notify(this.#state, 0)
    return before === state.closed
  }
}
