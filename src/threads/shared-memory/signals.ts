import { err, ok, type Result } from '../../result.js'

/**
 * Tells the courier that there are new durable notices: a counter in shared memory. Ringing costs no message, however often it
 * happens, and a ring without a waiter is not lost.
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

  /** Resolves when the bell was rung since the last time that this resolved; for a single waiter, in a thread that lives on. */
  async rung(): Promise<void> {
    const waiting = Atomics.waitAsync(this.#rings, 0, this.#seen)
    if (waiting.async) await waiting.value
    this.#seen = Atomics.load(this.#rings, 0)
  }
}

const state = { closed: 0, open: 1, givenUp: 2 } as const
const stateCell = 0
/** The cell that counts the waiting threads. */
const comersCell = 1
const cells = 2

/**
 * A barrier for the threads of a process between two turns, so that all of them stand still at one moment. When one of them waits
 * for too long, the barrier fails for all: no thread is held up by one that does not come.
 */
export class PinGate {
  readonly memory: SharedArrayBuffer
  readonly #cells: Int32Array

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#cells = new Int32Array(memory)
  }

  /** Blocks the thread until the gate is opened, or until the limit. */
  wait(limit_ms: number): void {
    Atomics.add(this.#cells, comersCell, 1)
    Atomics.notify(this.#cells, comersCell)
    if (Atomics.wait(this.#cells, stateCell, state.closed, limit_ms) !== 'timed-out') return
    Atomics.compareExchange(this.#cells, stateCell, state.closed, state.givenUp)
    Atomics.notify(this.#cells, stateCell)
  }

  /** Resolves when this many threads wait; refuses at the limit. */
  async haveCome(threads: number, limit_ms: number): Promise<Result<undefined, 'notTogether'>> {
    const end_ms = performance.now() + limit_ms
    for (;;) {
      const come = Atomics.load(this.#cells, comersCell)
      const left_ms = end_ms - performance.now()
      if (come >= threads) return ok(undefined)
      if (left_ms <= 0) return err('notTogether')
      await Atomics.waitAsync(this.#cells, comersCell, come, left_ms).value
    }
  }

  /** Lets all go on; says whether all of them were still waiting. */
  open(): boolean {
    const before = Atomics.compareExchange(this.#cells, stateCell, state.closed, state.open)
    Atomics.notify(this.#cells, stateCell)
    return before === state.closed
  }
}
