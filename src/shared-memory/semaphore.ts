const nextTicket = 0
const granted = 1
const waiters = 2

/** The position of a request in the order in which permits are given. */
export type Ticket = number

/**
 * A semaphore of tickets in shared memory: whoever draws a ticket below the number granted has a permit; everybody else gets
 * one in the order of the tickets, whichever thread they wait in.
 */
export class SharedSemaphore {
  readonly #cells: Int32Array

  /** What a semaphore takes of its memory. */
  static readonly size_bytes = 3 * Int32Array.BYTES_PER_ELEMENT

  /** The memory of a semaphore with this many permits, and room for something else behind it. */
  static memory(permits: number, behind_bytes = 0): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(SharedSemaphore.size_bytes + behind_bytes)
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

  /** Takes the next ticket; the permit that comes with it, now or later, has to be given back. */
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

  /**
   * Gives back what a thread that has ended had: the permits of the tickets that it drew, and its waits.
   * Whoever waits may have a permit early for a ticket before it that nobody has any more; that evens out when its turn comes.
   */
  abandon(drawn: number, waiting: number): void {
    Atomics.sub(this.#cells, waiters, waiting)
    Atomics.add(this.#cells, granted, drawn)
    Atomics.notify(this.#cells, granted)
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
