const nextPosition = 0
const granted = 1
const waiters = 2

/** The position of a request in the queue for permits, counted from the first request on. */
export type QueuePosition = number

/**
 * A fair semaphore in shared memory: permits go to requests in the order in which they were queued, whichever thread waits. A request
 * has its permit when its position in the queue is below the number of permits that were granted so far.
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
    const left = (Atomics.load(this.#cells, granted) - Atomics.load(this.#cells, nextPosition)) | 0
    return Math.max(0, left)
  }

  /** The number of requests that wait for a permit. */
  get queued(): number {
    const left = (Atomics.load(this.#cells, granted) - Atomics.load(this.#cells, nextPosition)) | 0
    return Math.max(0, -left)
  }

  /** Queues a request for a permit, which has to be given back, whether the request gets it now or later. */
  enqueue(): QueuePosition {
    return Atomics.add(this.#cells, nextPosition, 1)
  }

  /** The difference is taken modulo 2^32, so that positions may wrap around. */
  hasPermit(position: QueuePosition): boolean {
    return ((position - Atomics.load(this.#cells, granted)) | 0) < 0
  }

  /** Gives a permit back. Waking a thread takes a lock of the whole process, so it is done only if a thread waits. */
  release(): void {
    Atomics.add(this.#cells, granted, 1)
    if (Atomics.load(this.#cells, waiters) > 0) Atomics.notify(this.#cells, granted)
  }

  /**
   * Gives back what an ended thread had: the permits of its requests, and its waits. A waiter may get its permit before the turn
   * of an earlier, abandoned request; the count is right again when that request's turn comes.
   */
  abandon(queued: number, waiting: number): void {
    Atomics.sub(this.#cells, waiters, waiting)
    Atomics.add(this.#cells, granted, queued)
    Atomics.notify(this.#cells, granted)
  }

  /** Resolves when the request at a position may have its permit: check again. */
  async mayHavePermit(position: QueuePosition): Promise<void> {
    // Counted before the check, so that a release after the check sees the waiter.
    Atomics.add(this.#cells, waiters, 1)
    const seen = Atomics.load(this.#cells, granted)
    if (((position - seen) | 0) >= 0) await Atomics.waitAsync(this.#cells, granted, seen).value
    Atomics.sub(this.#cells, waiters, 1)
  }
}

/**
 * Behind the cells of the semaphore each thread has a row: the permits that it asked for and did not give back, and how often it
 * waits.
 */
const ledgerStart = waiters + 1
const cellsPerRow = 2
const queued = 0
const waiting = 1

/**
 * A semaphore that records what each thread has of it, so that others can give that back when the thread has ended. Each thread
 * writes only its own row.
 */
export class LedgerSemaphore {
  readonly #semaphore: SharedSemaphore
  readonly #cells: Int32Array
  readonly #row: number

  /** The memory of a semaphore with this many permits, for threads of the rows from 0 on. */
  static memory(permits: number, rows = 1): SharedArrayBuffer {
    return semaphoreMemory(permits, rows * cellsPerRow)
  }

  constructor(memory: SharedArrayBuffer, row: number) {
    this.#semaphore = new SharedSemaphore(memory)
    this.#cells = new Int32Array(memory)
    this.#row = row
  }

  /** The number of free permits. */
  get free(): number {
    return this.#semaphore.free
  }

  /** Takes a permit: undefined when one is free, otherwise a promise that resolves when this thread has it. */
  take(): Promise<void> | undefined {
    this.#note(queued, 1)
    const position = this.#semaphore.enqueue()
    return this.#semaphore.hasPermit(position) ? undefined : this.#turnOf(position)
  }

  release(): void {
    this.#semaphore.release()
    this.#note(queued, -1)
  }

  /** Gives back what the ended thread of a row had. No other thread may use the row meanwhile. */
  giveBackOf(row: number): void {
    const take = (column: number): number => Atomics.exchange(this.#cells, cellOf(row, column), 0)
    const [held, waits] = [take(queued), take(waiting)]
    if (held > 0 || waits > 0) this.#semaphore.abandon(held, waits)
  }

  /** Only the thread of the row writes there while it lives. */
  #note(column: number, by: number): void {
    const cell = cellOf(this.#row, column)
    Atomics.store(this.#cells, cell, (this.#cells[cell] ?? 0) + by)
  }

  async #turnOf(position: QueuePosition): Promise<void> {
    this.#note(waiting, 1)
    while (!this.#semaphore.hasPermit(position)) await this.#semaphore.mayHavePermit(position)
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
