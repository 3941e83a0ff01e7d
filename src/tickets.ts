const nextTicket = 0
const granted = 1
const waiters = 2

/** A place in the order in which permits are given. */
export type Ticket = number

/**
 * A semaphore of tickets in shared memory: whoever draws a ticket below the number granted has a permit; everybody else gets
 * one in the order of the tickets, whichever thread they wait in.
 */
export class Tickets {
  readonly #cells: Int32Array

  /** The memory of a semaphore with this many permits. */
  static memory(permits: number): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT)
    new Int32Array(memory)[granted] = permits
    return memory
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  /** Permits that nobody has. */
  get free(): number {
    const left = (Atomics.load(this.#cells, granted) - Atomics.load(this.#cells, nextTicket)) | 0
    return Math.max(0, left)
  }

  /** Takes the next place; the permit that comes with it, now or later, has to be given back. */
  draw(): Ticket {
    return Atomics.add(this.#cells, nextTicket, 1)
  }

  /** The difference is taken modulo 2^32, so that tickets may run around. */
  isGranted(ticket: Ticket): boolean {
    return ((ticket - Atomics.load(this.#cells, granted)) | 0) < 0
  }

  /** Gives a permit back. To wake somebody takes a lock of the whole process, so nobody is woken where nobody waits. */
  release(): void {
    Atomics.add(this.#cells, granted, 1)
    if (Atomics.load(this.#cells, waiters) > 0) Atomics.notify(this.#cells, granted)
  }

  /** Resolves when a ticket that was not granted may be by now: look again. */
  async mayBeGranted(ticket: Ticket): Promise<void> {
    // Counted before it looks: whoever gives a permit back after that look sees that somebody waits.
    Atomics.add(this.#cells, waiters, 1)
    const seen = Atomics.load(this.#cells, granted)
    if (((ticket - seen) | 0) >= 0) await Atomics.waitAsync(this.#cells, granted, seen).value
    Atomics.sub(this.#cells, waiters, 1)
  }
}
