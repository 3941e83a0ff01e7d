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
