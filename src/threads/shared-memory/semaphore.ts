const nextTicket = 0
const granted = 1
const waiters = 2

/** The position of a request in the order of permits. */
export type Ticket = number

/**
 * A semaphore of tickets in shared memory. A ticket below the number of granted ones has a permit; the others get one in the
 * order of the tickets, whichever thread waits.
 */
export class SharedSemaphore {
  readonly #cells: Int32Array

  /** The memory of a semaphore with this many permits. */
  static memory(permits: number): SharedArrayBuffer {
    return semaphoreMemory(permits, 0)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  /** The number of free permits. */
  get free(): number {
    const left = (Atomics.load(this.#cells, granted) - Atomics.load(this.#cells, nextTicket)) | 0
    return Math.max(0, left)
  }

  /** Takes the next ticket; the permit that comes with it, now or later, has to be given back. */
  draw(): Ticket {
    return Atomics.add(this.#cells, nextTicket, 1)
  }

  /** The difference is taken modulo 2^32, so that tickets may wrap around. */
  isGranted(ticket: Ticket): boolean {
    return ((ticket - Atomics.load(this.#cells, granted)) | 0) < 0
  }

  /** Gives a permit back. Waking a thread takes a lock of the whole process, so it is done only if a thread waits. */
  release(): void {
    Atomics.add(this.#cells, granted, 1)
    if (Atomics.load(this.#cells, waiters) > 0) Atomics.notify(this.#cells, granted)
  }

  /**
   * Gives back what an ended thread had: the permits of its tickets, and its waits. A waiter may get its permit before the turn
   * of an earlier, abandoned ticket; the count is right again when that ticket's turn comes.
   */
  abandon(drawn: number, waiting: number): void {
    Atomics.sub(this.#cells, waiters, waiting)
    Atomics.add(this.#cells, granted, drawn)
    Atomics.notify(this.#cells, granted)
  }

  /** Resolves when a ticket may have been granted: check again. */
  async mayBeGranted(ticket: Ticket): Promise<void> {
    // Counted before the check, so that a release after the check sees the waiter.
    Atomics.add(this.#cells, waiters, 1)
    const seen = Atomics.load(this.#cells, granted)
    if (((ticket - seen) | 0) >= 0) await Atomics.waitAsync(this.#cells, granted, seen).value
    Atomics.sub(this.#cells, waiters, 1)
  }
}

/**
 * Behind the cells of the semaphore each thread has a row: the tickets that it drew and did not give back, and how often it
 * waits.
 */
const ledgerStart = waiters + 1
const cellsPerRow = 2
const drawn = 0
const waiting = 1

/**
 * A semaphore that records what each thread has of it, so that others can give that back when the thread has ended. Each thread
 * writes only its own row.
 */
export class LedgerSemaphore {
  readonly #tickets: SharedSemaphore
  readonly #cells: Int32Array
  readonly #row: number

  /** The memory of a semaphore with this many permits, for threads of the rows from 0 on. */
  static memory(permits: number, rows = 1): SharedArrayBuffer {
    return semaphoreMemory(permits, rows * cellsPerRow)
  }

  constructor(memory: SharedArrayBuffer, row: number) {
    this.#tickets = new SharedSemaphore(memory)
    this.#cells = new Int32Array(memory)
    this.#row = row
  }

  /** The number of free permits. */
  get free(): number {
    return this.#tickets.free
  }

  /** Takes a permit: undefined when one is free, otherwise a promise that resolves when this thread has it. */
  take(): Promise<void> | undefined {
    this.#note(drawn, 1)
    const ticket = this.#tickets.draw()
    return this.#tickets.isGranted(ticket) ? undefined : this.#turnOf(ticket)
  }

  release(): void {
    this.#tickets.release()
    this.#note(drawn, -1)
  }

  /** Gives back what the ended thread of a row had. No other thread may use the row meanwhile. */
  giveBackOf(row: number): void {
    const take = (column: number): number => Atomics.exchange(this.#cells, cellOf(row, column), 0)
    const [held, waits] = [take(drawn), take(waiting)]
    if (held > 0 || waits > 0) this.#tickets.abandon(held, waits)
  }

  /** Only the thread of the row writes there while it lives. */
  #note(column: number, by: number): void {
    const cell = cellOf(this.#row, column)
    Atomics.store(this.#cells, cell, (this.#cells[cell] ?? 0) + by)
  }

  async #turnOf(ticket: Ticket): Promise<void> {
    this.#note(waiting, 1)
    while (!this.#tickets.isGranted(ticket)) await this.#tickets.mayBeGranted(ticket)
    this.#note(waiting, -1)
  }
}

function cellOf(row: number, column: number): number {
  return ledgerStart + row * cellsPerRow + column
}

function semaphoreMemory(permits: number, moreCells: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((waiters + 1 + moreCells) * Int32Array.BYTES_PER_ELEMENT)
  new Int32Array(memory)[granted] = permits
  return memory
}
